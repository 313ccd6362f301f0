"""``python -m benchmarks.kolchinsky17 [--full]``: measure, print, write and draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.kolchinsky17.experiments import (
    FULL,
    QUICK,
    measure_changes,
    measure_ratios,
    measure_windows,
)
from benchmarks.kolchinsky17.plots import draw
from benchmarks.kolchinsky17.regions import PATTERNS, register
from benchmarks.timing import print_table, write_results

EXPERIMENTS = {"window": measure_windows, "ratio": measure_ratios, "change": measure_changes}
FIGURES = (
    "evaluation",
    "matches",
    "events_per_s",
    "gain",
    "tests_per_event",
    "operations_per_event",
    "instances_peak",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kolchinsky17", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all windows and ratios")
    parser.add_argument("--only", choices=tuple(EXPERIMENTS), help="one experiment")
    parser.add_argument("--windows", type=int, nargs="+", help="windows in minutes")
    parser.add_argument("--patterns", nargs="+", choices=tuple(PATTERNS), help="over windows")
    parser.add_argument("--rounds", type=int, help="how often each case is measured")
    parser.add_argument("--per-minute", type=float, help="events of a minute, over windows")
    parser.add_argument("--bars", help="a file with the columns ts, stock and price, over windows")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    given = parser.parse_args(arguments)
    settings = FULL if given.full else QUICK
    if given.rounds:
        settings = replace(settings, rounds=given.rounds)
    if given.windows:
        settings = replace(settings, windows=tuple(given.windows))
    if given.patterns:
        settings = replace(settings, patterns=tuple(given.patterns))
    if given.per_minute:
        settings = replace(settings, per_minute=given.per_minute)

    if given.bars:
        settings = replace(settings, bars=given.bars)
    register()
    rows = []
    for name, experiment in EXPERIMENTS.items():
        if given.only in (None, name):
            for row in experiment(settings):
                print(".", end="", flush=True)
                rows.append(row)
    print()
    of_windows = [row for row in rows if row["experiment"] == "window"]
    if of_windows:
        longest = [row for row in of_windows if row["window"] == max(settings.windows)]
        print_table(f"W = {max(settings.windows)} minutes", longest, ["pattern", *FIGURES])
    of_ratios = [row for row in rows if row["experiment"] == "ratio"]
    if of_ratios:
        print_table("Ratio 1 : r, SEQ3, W = 20 minutes", of_ratios, ["ratio", *FIGURES])
    of_changes = [row for row in rows if row["experiment"] == "change"]
    if of_changes:
        means = {}
        for row in of_changes:
            means.setdefault(row["evaluation"], []).append(row["tests_per_event"])
        table = [
            {"evaluation": name, "tests_per_event": sum(each) / len(each), "worst": max(each)}
            for name, each in means.items()
        ]
        print_table("The rarest type changes", table)
    name = f"kolchinsky17_{given.only}" if given.only else "kolchinsky17"
    write_results(given.output, name, rows, asdict(settings))
    drawn = draw(rows, given.output, given.format)
    print(f"\nResults are in {given.output}/{name}.csv and .json.")
    print(f"Figures: {', '.join(map(str, drawn))}" if drawn else "No figures without matplotlib.")


if __name__ == "__main__":
    main()
