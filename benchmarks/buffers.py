"""``python -m benchmarks.buffers``: the buffers and algorithms of [Agrawal08 §5] side by side.

Unions of chains against the paper's shared versioned buffer, in time and memory; and runs that
are searched one at a time against runs that read each event together (Experiment 3).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.sessions import CompiledStocks, engine_of
from benchmarks.stocks import QUERIES, SYMBOLS, StockStream, query_text
from benchmarks.timing import median_ratio, print_table, time_in_turn, write_results
from cepheid.engines.base.options import Options
from cepheid.engines.nfa_b.variants import versioned
from cepheid.events.events import Events
from cepheid.jit import drive
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session

WAYS = {
    "basic": Options("basic"),
    "basic_versioned": Options("basic", "versioned"),
    "merging": Options("merging"),
    "merging_versioned": Options("merging", "versioned"),
    "backtrack": Options("backtrack"),
}
ANY, ANY_WINDOW = "any", 100
ANY_QUERY = (
    "PATTERN SEQ(stock a, stock b, stock c)\n"
    "WHERE skip_till_any_match { [symbol] AND b.price > a.price AND c.price > b.price "
    "AND a.volume < 150 AND b.volume < 150 AND c.volume < 150 }\n"
    f"WITHIN {ANY_WINDOW} EVENTS PER PARTITION"
)
"""A query whose runs multiply: every rising triple of small trades is a match."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured: ``windows_long`` is the length of a stream in windows per symbol."""

    window: int = 500
    rises: float = 0.7
    windows_long: int = 200
    batch: int = 8_192
    rounds: int = 5
    seed: int = 8


def measure(name: str, settings: Settings, events: Events) -> dict[str, Any]:
    """All ways over the same events, making every match; then their buffers after each batch."""
    window = ANY_WINDOW if name == ANY else settings.window
    text = ANY_QUERY if name == ANY else query_text(name, window)
    stocks = CompiledStocks(text, window, events)

    def made(way: str) -> Session:
        return Session(stocks.query, window, EVERY_MATCH, WAYS[way])

    in_runs: dict[str, list[float]] = {way: [] for way in WAYS}

    def run(way: str) -> None:
        session = made(way)
        for low in range(0, len(events), settings.batch):
            session.feed(events.slice(low, min(low + settings.batch, len(events))))
        metrics = session.metrics
        in_runs[way].append(metrics.seconds_matching + metrics.seconds_construction)

    for module in (drive, versioned):
        module.perf_counter = process_time
    seconds = time_in_turn({way: partial(run, way) for way in WAYS}, settings.rounds)
    row: dict[str, Any] = {"query": name, "events": len(events)}
    for way, each in seconds.items():
        row[f"{way}_events_per_s"] = len(events) / statistics.median(each)
        row[f"{way}_ratio"] = median_ratio(each, seconds["basic"])
        # Without what is the same for all: tests of single events, partitions, results.
        row[f"{way}_runs_ns"] = 1e9 * statistics.median(in_runs[way][1:]) / len(events)
    matches = set()
    for way in WAYS:
        session, peak = made(way), 0
        for low in range(0, len(events), settings.batch):
            session.feed(events.slice(low, min(low + settings.batch, len(events))))
            peak = max(peak, buffer_bytes(session))
        metrics = session.metrics
        row[f"{way}_nodes"], row[f"{way}_bytes"] = metrics.buffer_nodes, peak
        matches.add((metrics.matches, metrics.mean_match_length))
        if way == "backtrack":
            row["reads_per_event"] = engine_of(session).events_read / len(events)
    assert len(matches) == 1, "all ways find the same"
    row["matches"], row["match_length"] = matches.pop()
    return row


def buffer_bytes(session: Session) -> int:
    """The memory of what runs have selected and can still need, after a batch."""
    engine = engine_of(session)
    engine._drop_nodes()
    if hasattr(engine, "buffer_bytes"):
        return int(engine.buffer_bytes)
    return int(engine.buffer.nodes.nbytes)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """Speed and memory of all ways as bars; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (speed, memory) = pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    places = range(len(rows))
    width = 0.8 / len(WAYS)
    for number, way in enumerate(WAYS):
        shifted = [place + (number - 2) * width for place in places]
        speed.bar(shifted, [row[f"{way}_events_per_s"] for row in rows], width, label=way)
        memory.bar(shifted, [row[f"{way}_bytes"] / 1024 for row in rows], width, label=way)
    for axes, title in ((speed, "events/s, all matches made"), (memory, "KiB of buffer in use")):
        axes.set_title(title)
        axes.set_xticks(list(places), [row["query"] for row in rows])
        axes.set_yscale("log")
    speed.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write and draw."""
    default = Settings()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.buffers", description=__doc__)
    parser.add_argument("--windows-long", type=int, default=default.windows_long)
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    given = parser.parse_args(arguments)
    settings = Settings(windows_long=given.windows_long, rounds=given.rounds)
    size = SYMBOLS * settings.windows_long * settings.window
    events = StockStream(settings.rises, settings.seed).events(size)
    rows = []
    for name in (*QUERIES, ANY):
        rows.append(measure(name, settings, events))
        print(".", end="", flush=True)
    print()
    print_table(
        "Events/s",
        rows,
        ["query", *(f"{way}_events_per_s" for way in WAYS), "reads_per_event", "match_length"],
    )
    print_table("Time, basic with unions = 1", rows, ["query", *(f"{way}_ratio" for way in WAYS)])
    print_table(
        "Nanoseconds per event in runs and retrieval",
        rows,
        ["query", *(f"{w}_runs_ns" for w in WAYS)],
    )
    print_table("Nodes made", rows, ["query", *(f"{way}_nodes" for way in WAYS)])
    print_table("Most bytes in use after a batch", rows, ["query", *(f"{w}_bytes" for w in WAYS)])
    write_results(given.output, "buffers", rows, asdict(settings))
    figure = given.output / f"buffers.{given.format}"
    drawn = draw(rows, figure)
    print(f"\nResults are in {given.output}/buffers.csv and .json.")
    print(f"Figures are in {figure}." if drawn else "No figures: matplotlib is not installed.")


if __name__ == "__main__":
    main()
