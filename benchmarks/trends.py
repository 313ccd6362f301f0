"""``python -m benchmarks.trends``: aggregates over all matches of a Kleene query, beside listing.

The stream has one A and then B's with rising and falling prices, and a C, for each of some keys,
again and again. Under skip_till_any_match a query ``SEQ(A a, B+ b[], C c)`` has a match for each
non-empty subset of the B's in a window, so their number doubles with each event. The buffer that
the runs share does not: count, sum and avg are computed on it, for each key and each sliding
window. Listing is stopped at a number of matches; its time per match is then constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import print_table, write_results

SEED = 27
KEYS = 10
WINDOWS = 20
MOST_LISTED = 22
"""Windows with up to this many events have their matches listed."""


def events(in_window: int) -> pa.Table:
    """Windows of so many events of each key, one after the other."""
    random = np.random.default_rng(SEED)
    kinds = np.array(["A", *["B"] * (in_window - 2), "C"])
    count = KEYS * WINDOWS * in_window
    return pa.table(
        {
            "ts": np.arange(count),
            "type": np.tile(np.repeat(kinds, KEYS), WINDOWS),
            "k": np.tile(np.arange(KEYS), WINDOWS * in_window),
            "x": random.integers(0, 1_000, count),
        }
    )


def ways(in_window: int) -> dict[str, Callable[[], object]]:
    """What is computed, by its name."""
    table, extent = events(in_window), KEYS * in_window
    query = cep.query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE [k] WITHIN {extent}")
    assert isinstance(query, cep.CompiledQuery)
    every = max(extent // 4, 1)

    def aggregated(function: str, value: str, **more: Any) -> object:
        return query.match(table, output="compressed").aggregate(function, value, **more)

    found: dict[str, Callable[[], object]] = {
        "count": lambda: query.count(table),
        "sum": lambda: aggregated("sum", "b.x"),
        "avg per key": lambda: aggregated("avg", "b.x", by_partition=True),
        "avg per key and sliding window": lambda: aggregated(
            "avg", "b.x", by_partition=True, every=every
        ),
    }
    if in_window <= MOST_LISTED:
        found["listing"] = lambda: sum(
            int(np.sum(batch.num_rows)) for batch in query.match_stream(table).to_batches()
        )
    return found


def measure(in_window: int, rounds: int) -> list[dict[str, Any]]:
    """The fastest of some rounds of each way."""
    exact = cep.query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE [k] WITHIN {KEYS * in_window}").count(
        events(in_window)
    )
    rows = []
    for name, run in ways(in_window).items():
        seconds = []
        for _ in range(1 if name == "listing" else rounds):
            begun = process_time()
            run()
            seconds.append(process_time() - begun)
        rows.append(
            {
                "events_in_window": in_window,
                "events": KEYS * WINDOWS * in_window,
                "matches": float(exact),
                "way": name,
                "seconds": min(seconds),
                "us_per_event": min(seconds) / (KEYS * WINDOWS * in_window) * 1e6,
            }
        )
    return rows


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """The time of each way over the events of a window; False if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        places = [row["events_in_window"] for row in own]
        axes.plot(places, [row["us_per_event"] for row in own], marker="o", label=way)
    axes.set(
        xscale="log", yscale="log", xlabel="events of a key in a window",
        ylabel="microseconds of CPU time per event",
    )  # fmt: skip
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trends")
    sizes = [6, 10, 14, 18, 22, 50, 100, 200, 500, 1_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    for run in ways(6).values():
        run()  # loads compiled code
    rows = [row for size in given.sizes for row in measure(size, given.rounds)]
    shown = [{**row, "matches": f"{row['matches']:.3g}"} for row in rows]
    print_table("Aggregates over all matches, and listing them", shown)
    settings = {"seed": SEED, "keys": KEYS, "windows": WINDOWS, "rounds": given.rounds}
    write_results(given.output, "trends", rows, settings)
    drawn = draw(rows, given.output / "trends.svg")
    print(f"\nResults are in {given.output}/trends.csv and .json{' and .svg' if drawn else ''}.")


if __name__ == "__main__":
    main()
