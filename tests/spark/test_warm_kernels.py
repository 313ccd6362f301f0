"""Workers that start at once on one machine compile once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WORKER = """
import sys, time
from pathlib import Path
from cepheid.cache import first_time
with first_time(sys.argv[2]):
    log = Path(sys.argv[1])
    with log.open("a") as file:
        file.write("begin\\n")
    time.sleep(0.3)
    with log.open("a") as file:
        file.write("end\\n")
"""


def run_together(log: Path, cache: Path, task: str, count: int) -> list[str]:
    """What so many processes write down that start the same task at once."""
    log.unlink(missing_ok=True)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(log), task],
            env={"CEPHEID_CACHE_DIR": str(cache), "PYTHONPATH": ":".join(sys.path)},
        )
        for _ in range(count)
    ]
    assert [process.wait() for process in processes] == [0] * count
    return log.read_text().split()


def test_the_first_time_one_works_and_the_others_wait(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run_together(log, tmp_path / "cache", "a query", 2) == ["begin", "end"] * 2
    assert any((tmp_path / "cache").rglob("done_*"))
