"""``python -m benchmarks.agrawal08 [--full]``: measure, print, write and draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.agrawal08.experiments import (
    FULL,
    QUICK,
    measure,
    measure_aggregates,
    measure_buffer_updates,
)
from benchmarks.agrawal08.plots import MERGED, VARIED, draw
from benchmarks.timing import print_table, write_results

SOME = {"aggregates": measure_aggregates, "buffer_updates": measure_buffer_updates}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agrawal08", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all windows and probabilities")
    parser.add_argument("--windows-long", type=int, help="length of a stream, in windows")
    parser.add_argument("--rounds", type=int, help="how often each case is measured")
    parser.add_argument("--only", choices=tuple(SOME), help="this experiment alone")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    given = parser.parse_args(arguments)
    settings = FULL if given.full else QUICK
    if given.windows_long:
        settings = replace(settings, windows_long=given.windows_long)
    if given.rounds:
        settings = replace(settings, rounds=given.rounds)

    if given.only:
        rows = list(SOME[given.only](settings))
        print_table(given.only, rows)
        write_results(given.output, f"agrawal08_{given.only}", rows, asdict(settings))
        return
    rows = []
    for row in measure(settings):
        print(".", end="", flush=True)
        rows.append(row)
    print()
    smallest = min(settings.windows)
    for rises in settings.rises:
        here = [row for row in rows if row["rises"] == rises]
        one_window = [row for row in here if row["window"] == smallest]
        case = f"W = {smallest}, rises {rises}"
        print_table(
            f"Experiments 1 and 5, table 2: {case}",
            one_window,
            [
                "query",
                "basic_enumerating_events_per_s",
                "merging_enumerating_events_per_s",
                "gain_enumerating",
                "gain_in_runs",
                "match_length",
                "runs_per_event",
                "matching_cost_percent",
            ],
        )
        print_table(
            f"Experiment 2: rises {rises}",
            [row for row in here if row["query"] in VARIED],
            [
                "query",
                "window",
                "basic_enumerating_events_per_s",
                "cost_of_window_ms",
                "output_complexity",
            ],
        )
        print_table(
            f"Experiment 6, table 3: matching only, rises {rises}",
            [row for row in here if row["query"] in MERGED],
            [
                "query",
                "window",
                "basic_matching_events_per_s",
                "merging_matching_events_per_s",
                "gain_matching",
                "runs_merged_percent",
                "merging_buffer_nodes",
            ],
        )
    write_results(given.output, "agrawal08", rows, asdict(settings))
    figure = given.output / f"agrawal08.{given.format}"
    drawn = draw(rows, figure)
    print(f"\nResults are in {given.output}/agrawal08.csv and .json.")
    print(f"Figures are in {figure}." if drawn else "No figures: matplotlib is not installed.")


if __name__ == "__main__":
    main()
