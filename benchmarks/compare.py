"""``python -m benchmarks.compare BEFORE``: two checkouts, run in turn, as ratios.

Each benchmark is run by the code of both checkouts, one after the other, several times. The best
value of each figure counts, so that whatever else the machine does meets both. A ratio above 1
means that this checkout is faster than the one before.

    python -m benchmarks.compare ../before --run 'c_bound --events 200000' --run wu06 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

RATES = ("per_s", "/s", "/processor_s")
TIMES = ("seconds", "_s", " ms", "_ms")
OTHERS = ("c_", "nothing", "wall", "window", "cpu_median")
"""Figures that begin so are not cepheid's, not of the processor, or settings."""

Figures = dict[str, float]


def main() -> None:
    """Run, compare, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="the checkout to compare with")
    parser.add_argument("--run", action="append", required=True, help="a benchmark, with options")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args()
    rows = []
    for command in given.run:
        best: list[Figures] = [{}, {}]
        for _ in range(given.rounds):
            for which, checkout in enumerate((given.before, Path())):
                for name, value in _figures(checkout.resolve(), command):
                    better = max if name.endswith(RATES) else min
                    best[which][name] = better(value, best[which].get(name, value))
        ratios = dict(_ratios(*best))
        for name, ratio in ratios.items():
            row = {"run": command, "figure": name, "ratio": ratio}
            rows.append(row | {"before": best[0][name], "after": best[1][name]})
        print(f"{command}: geometric mean {_mean(list(ratios.values())):.3f}", flush=True)
        for name, ratio in sorted(ratios.items(), key=lambda item: item[1]):
            print(f"  {ratio:.3f}  {name}", flush=True)
    print(f"all: geometric mean {_mean([float(row['ratio']) for row in rows]):.3f}")
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "compare.json").write_text(json.dumps(rows, indent=1) + "\n")


def _figures(checkout: Path, command: str) -> Iterator[tuple[str, float]]:
    """Run a benchmark by the code of a checkout; yield the figures that it writes."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as folder:
        module, *options = command.split()
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", *options, "--output", folder],
            cwd=checkout,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for file in sorted(Path(folder).glob("*.json")):
            for number, row in enumerate(json.loads(file.read_text())["rows"]):
                labels = [str(value) for value in row.values() if isinstance(value, str)]
                label = " ".join([file.stem, str(number), *labels[:2]])
                for name, value in row.items():
                    is_measured = name.endswith(RATES + TIMES) and not name.startswith(OTHERS)
                    if is_measured and isinstance(value, float) and value > 0:
                        yield f"{label}: {name}", value


def _ratios(before: Figures, after: Figures) -> Iterator[tuple[str, float]]:
    for name in before.keys() & after.keys():
        ratio = after[name] / before[name]
        yield name, ratio if name.endswith(RATES) else 1 / ratio


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))


if __name__ == "__main__":
    main()
