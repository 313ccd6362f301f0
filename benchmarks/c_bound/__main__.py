"""``python -m benchmarks.c_bound``: cepheid and C on the same events, and where time goes."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.c_bound.native import NativeStocks, has_compiler
from benchmarks.c_bound.profile import profile
from benchmarks.sessions import CompiledStocks, matches_of, sorted_matches
from benchmarks.stocks import QUERIES, StockStream, query_text
from benchmarks.timing import median_ratio, print_table, time_in_turn, write_results
from cepheid.events.events import Events

ALGORITHMS = ("basic", "merging")
WINDOW = 500
SEED = 8


def compare(name: str, native: NativeStocks, events: Events, rounds: int) -> dict[str, Any]:
    """Both algorithms of cepheid and C, enumerating and counting; the matches are the same."""
    stocks = CompiledStocks(query_text(name, WINDOW), WINDOW, events)
    expected = sorted_matches(*native.matches(name, WINDOW, events))
    for algorithm in ALGORITHMS:
        found = matches_of(stocks.session(algorithm), events)
        if not all(map(np.array_equal, found, expected)):
            raise AssertionError(f"{name}: the matches of {algorithm} are not those of C")
        counted = stocks.count(events, algorithm).metrics.matches
        if not counted == native.count(name, WINDOW, events) == len(expected[1]) - 1:
            raise AssertionError(f"{name}: {algorithm} counts {counted} matches and C others")

    row: dict[str, Any] = {"query": name, "matches": len(expected[1]) - 1}
    ways = {
        "enumerating": (stocks.enumerate, native.enumerate),
        "counting": (stocks.count, native.count),
    }
    for way, (ours, theirs) in ways.items():
        contestants = {
            "c": partial(theirs, name, WINDOW, events),
            **{algorithm: partial(ours, events, algorithm) for algorithm in ALGORITHMS},
        }
        seconds = time_in_turn(contestants, rounds)
        for contestant, each in seconds.items():
            row[f"{contestant}_{way}_M/s"] = len(events) / statistics.median(each) / 1e6
        row[f"{way}_cepheid/c"] = max(
            median_ratio(seconds["c"], seconds[algorithm]) for algorithm in ALGORITHMS
        )
        if way == "enumerating":
            row["merging/basic"] = median_ratio(seconds["basic"], seconds["merging"])
    # Counting is moving runs; what is left of enumerating is making the matches.
    enumerating, counting = row["c_enumerating_M/s"], row["c_counting_M/s"]
    row["c_without_runs/c"] = counting / (counting - enumerating)
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, profile, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.c_bound", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    if not has_compiler():
        sys.exit("this benchmark compiles C with gcc, which is not installed")
    events = StockStream(0.7, SEED).events(given.events)
    with tempfile.TemporaryDirectory() as folder:
        native = NativeStocks(Path(folder))
        rows = [compare(name, native, events, given.rounds) for name in QUERIES]
    profiles = []
    for name in QUERIES:
        stocks = CompiledStocks(query_text(name, WINDOW), WINDOW, events)
        for algorithm in ALGORITHMS:
            parts = profile(stocks, events, algorithm)
            profiles.append({"query": name, "algorithm": algorithm, **parts})

    for way in ("enumerating", "counting"):
        columns = ["c", *ALGORITHMS]
        print_table(
            f"{way}, million events/s, W = {WINDOW}",
            rows,
            ["query", "matches", *(f"{c}_{way}_M/s" for c in columns), f"{way}_cepheid/c"],
        )
        ratios = [row[f"{way}_cepheid/c"] for row in rows]
        print(f"\nmedian of the ratios: {statistics.median(ratios):.2f}")
    print_table(
        "enumerating, merging over basic, and C over C if moving runs took no time",
        rows,
        ["query", "merging/basic", "c_without_runs/c"],
    )
    print_table("enumerating, nanoseconds per event by part of the work", profiles)
    settings = {"events": given.events, "rounds": given.rounds, "window": WINDOW, "seed": SEED}
    write_results(given.output, "c_bound", rows, settings)
    write_results(given.output, "c_bound_profile", profiles, settings)


if __name__ == "__main__":
    main()
