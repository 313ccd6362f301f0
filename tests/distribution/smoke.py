"""What an installed wheel must do, where there is neither the repository nor git.

python tests/distribution/smoke.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import cepheid as cep
from cepheid.cache import FOLDER, SHIPPED

QUERY = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag] WITHIN 12 hours"
ROWS = """ts,type,tag
2024-03-01 09:00:00,Shelf,7
2024-03-01 09:03:00,Shelf,8
2024-03-01 09:09:00,Register,8
2024-03-01 09:12:00,Exit,7
2024-03-01 09:20:00,Exit,8
"""
CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY tag ORDER BY ts MEASURES LAST(B.ts) AS at
    PATTERN (A B) DEFINE A AS type = 'Shelf', B AS type = 'Exit')"""


def command(*arguments: str) -> str:
    """What the command prints."""
    program = Path(sys.executable).with_name("cepheid")
    done = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def main() -> None:
    """Run both languages, compiled code, the command line and the report page.

    A wheel for this platform must not have to compile a kernel.
    """
    assert "site-packages" in cep.__file__, f"{cep.__file__} is not an installed package"
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.csv"
        events.write_text(ROWS)
        wanted = [{"a": 0, "c": 3}]
        for evaluation in ("auto", "nfa_b", "instance_stacks", "lazy_chain"):
            assert cep.query(QUERY).match(events, evaluation=evaluation).bindings() == wanted
        assert len(cep.query(CLAUSE).match(events)) == 1
        assert command("match", "-q", QUERY, str(events), "--count").strip() == "1"
        page = Path(folder) / "report.html"
        command("report", "-q", QUERY, str(events), "-o", str(page))
        assert "<svg" in page.read_text() or "<canvas" in page.read_text()
    kernels = [*FOLDER.glob("kernels_*/*.nbc")]
    assert bool(kernels) != SHIPPED.is_dir(), f"{len(kernels)} kernels were compiled"
    how = "brings its compiled code" if SHIPPED.is_dir() else "compiles its code"
    print(command("--version").strip(), f"works, and {how}")


if __name__ == "__main__":
    main()
