"""``python -m benchmarks.non_overlapping``: one match where many overlap (Experiment 4).

Runs that read each event together, and end when one of them has found a match, against runs that
are searched one at a time; over queries that find a match soon, and over queries whose last
component seldom comes [Agrawal08 §6.2].
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.buffers import Settings
from benchmarks.sessions import CompiledStocks
from benchmarks.stocks import SYMBOLS, StockStream, query_text
from benchmarks.timing import median_ratio, print_table, time_in_turn, write_results
from cepheid.engines.base.options import Options
from cepheid.events.events import Events
from cepheid.matches.modes.rule import OutputRule
from cepheid.sessions.session import Session

QUERIES = ("p3s2", "p3s3", "p3*s2", "p3*s3")
WAYS = ("basic", "merging", "backtrack")


def text_of(name: str, window: int) -> str:
    """The query of a name; with a star it has one more component, which few events can be.

    >>> print(text_of("p3*s3", 500))
    PATTERN SEQ(stock+ a[], stock b, stock c)
    WHERE skip_till_next_match { [symbol] AND a[1].price % 500 = 0 \
AND a[i].price > min(a[..i-1].price) AND b.volume < 150 AND c.price > a[1].price \
AND c.price < a[a.LEN].price }
    WITHIN 500 EVENTS PER PARTITION
    """
    text = query_text(name.replace("*", ""), window)
    if "*" in name:
        text = text.replace("stock b)", "stock b, stock c)")
        rare = "AND c.price > a[1].price AND c.price < a[a.LEN].price }"
        text = text.replace("}", rare)
    return text


def measure(name: str, settings: Settings, events: Events) -> dict[str, Any]:
    """All ways over the same events."""
    stocks = CompiledStocks(text_of(name, settings.window), settings.window, events)

    def run(way: str) -> int:
        session = Session(
            stocks.query, settings.window, OutputRule("non_overlapping"), Options(way)
        )
        parts = range(0, len(events), settings.batch)
        found = [session.feed(events.slice(low, low + settings.batch)) for low in parts]
        return sum(map(len, found))

    counted = {run(way) for way in WAYS}
    assert len(counted) == 1, "all ways find the same"
    seconds = time_in_turn({way: partial(run, way) for way in WAYS}, settings.rounds)
    row: dict[str, Any] = {"query": name, "events": len(events), "matches": counted.pop()}
    for way, each in seconds.items():
        row[f"{way}_events_per_s"] = len(events) / statistics.median(each)
        row[f"{way}_ratio"] = median_ratio(each, seconds["basic"])
    return row


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """The speed of all ways as bars; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    width = 0.8 / len(WAYS)
    for number, way in enumerate(WAYS):
        places = [place + (number - 1) * width for place in range(len(rows))]
        axes.bar(places, [row[f"{way}_events_per_s"] for row in rows], width, label=way)
    axes.set(title="events/s, matches that do not overlap", yscale="log")
    axes.set_xticks(range(len(rows)), [row["query"] for row in rows])
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.non_overlapping")
    parser.add_argument("--windows-long", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    settings = Settings(windows_long=given.windows_long, rounds=given.rounds)
    size = SYMBOLS * settings.windows_long * settings.window
    events = StockStream(settings.rises, settings.seed).events(size)
    rows = [measure(name, settings, events) for name in QUERIES]
    print_table("Matches that do not overlap", rows)
    write_results(given.output, "non_overlapping", rows, asdict(settings))
    drawn = draw(rows, given.output / "non_overlapping.svg")
    print(f"\nResults are in {given.output}/non_overlapping.csv and .json.")
    print("The figure is beside them." if drawn else "No figure: matplotlib is not installed.")


if __name__ == "__main__":
    main()
