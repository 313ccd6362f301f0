"""``python -m benchmarks.wu06``: measure, print, write and draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.c_bound.native import has_compiler
from benchmarks.timing import print_table, write_results
from benchmarks.wu06 import experiments
from benchmarks.wu06.plots import draw


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wu06", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="only to see that everything runs")
    parser.add_argument("--events", type=int, help="events of a long stream")
    parser.add_argument("--rounds", type=int, help="how often each case is measured")
    parser.add_argument("--only", choices=("push_downs",), help="this experiment alone")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    settings = experiments.TINY if given.tiny else experiments.FULL
    if given.events:
        settings = replace(settings, events=given.events)
    if given.rounds:
        settings = replace(settings, rounds=given.rounds)

    if given.only:
        rows = list(experiments.push_downs(settings))
        for test in dict.fromkeys(row["test"] for row in rows):
            print_table(f"Where the {test} is made", [row for row in rows if row["test"] == test])
        write_results(given.output, f"wu06_{given.only}", rows, asdict(settings))
        return
    if has_compiler():
        row = experiments.compared_with_c(settings)
        print_table("SEQ(E1, E2, E3) WHERE [id], 10,000 ids, 20 types", [row])
        write_results(given.output, "wu06_c", [row], asdict(settings))
    rows = []
    for title, measured in (
        ("Experiments 1 and 2: AIS and basic", experiments.constructions(settings)),
        ("Experiment 3: two equivalence tests", experiments.equivalences(settings)),
        ("Experiment 4: more predicates", experiments.predicates(settings)),
        ("Experiment 5: lengths", experiments.lengths(settings)),
    ):
        found = list(measured)
        print_table(title, found)
        rows += found
    write_results(given.output, "wu06", rows, asdict(settings))
    if not draw(rows, given.output / "wu06.svg"):
        print("\nmatplotlib is not installed: no figure was drawn")


if __name__ == "__main__":
    main()
