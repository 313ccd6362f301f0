"""``python -m benchmarks.zhang10 [--full]``: measure, print, write and draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.timing import print_table, write_results
from benchmarks.zhang10.experiments import FULL, QUICK, measure, measure_skews, measure_traces
from benchmarks.zhang10.plots import draw

SOME = {"skew": measure_skews, "cluster": measure_traces}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zhang10", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all intervals and lengths")
    parser.add_argument("--events", type=int, help="events of a stream")
    parser.add_argument("--point-events", type=int, help="events for the point-based method")
    parser.add_argument("--rounds", type=int, help="how often each case is measured")
    parser.add_argument("--only", choices=tuple(SOME), help="figure 4d or 4f alone")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    given = parser.parse_args(arguments)
    settings = FULL if given.full else QUICK
    settings = replace(
        settings,
        events=given.events or settings.events,
        point_events=given.point_events or settings.point_events,
        rounds=given.rounds or settings.rounds,
    )
    rows = []
    for row in SOME.get(given.only, measure)(settings):
        print(".", end="", flush=True)
        rows.append(row)
    print()
    for experiment in dict.fromkeys(row["experiment"] for row in rows):
        print_table(experiment, [row for row in rows if row["experiment"] == experiment])
    name = f"zhang10_{given.only}" if given.only else "zhang10"
    write_results(given.output, name, rows, asdict(settings))
    figure = given.output / f"{name}.{given.format}"
    drawn = not given.only and draw(rows, figure)
    print(f"\nResults are in {given.output}/{name}.csv and .json.")
    if given.only:
        return
    print(f"Figures are in {figure}." if drawn else "No figures: matplotlib is not installed.")


if __name__ == "__main__":
    main()
