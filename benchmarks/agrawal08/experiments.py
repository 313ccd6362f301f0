"""What is measured for one query, window and stream, and the tables that are made of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.sessions import CompiledStocks
from benchmarks.stocks import QUERIES, SYMBOLS, StockStream, query_text
from benchmarks.timing import median_ratio, time_in_turn
from cepheid.events.events import Events
from cepheid.matches.metrics import Metrics

ALGORITHMS = ("basic", "merging")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured: ``windows_long`` is the length of a stream in windows per symbol."""

    windows: tuple[int, ...]
    rises: tuple[float, ...]
    windows_long: int
    rounds: int
    seed: int


QUICK = Settings(windows=(500, 1000), rises=(0.7,), windows_long=200, rounds=3, seed=8)
FULL = Settings(
    windows=(500, 1000, 1500, 2000), rises=(0.7, 0.55), windows_long=200, rounds=7, seed=8
)


def measure(settings: Settings) -> Iterator[Row]:
    """A row for each query, window and probability of a rise."""
    for rises in settings.rises:
        for window in settings.windows:
            size = SYMBOLS * settings.windows_long * window
            events = StockStream(rises, settings.seed).events(size)
            for name in QUERIES:
                yield {
                    "query": name,
                    "rises": rises,
                    "window": window,
                    "events": size,
                    **measure_query(name, window, events, settings.rounds),
                }


def measure_query(name: str, window: int, events: Events, rounds: int) -> Row:
    """Both algorithms over the same events, enumerating all matches and matching only."""
    stocks = CompiledStocks(query_text(name, window), window, events)
    metrics: dict[tuple[str, str], Metrics] = {}
    in_runs: dict[str, list[float]] = {algorithm: [] for algorithm in ALGORITHMS}

    def run(way: str, algorithm: str) -> None:
        method = stocks.enumerate if way == "enumerating" else stocks.match_only
        found = metrics[way, algorithm] = method(events, algorithm).metrics
        if way == "enumerating":
            in_runs[algorithm].append(found.seconds_matching)

    contestants = {
        (way, algorithm): partial(run, way, algorithm)
        for way in ("enumerating", "matching")
        for algorithm in ALGORITHMS
    }
    seconds = time_in_turn(contestants, rounds)
    row: Row = {}
    for (way, algorithm), each in seconds.items():
        row[f"{algorithm}_{way}_events_per_s"] = len(events) / statistics.median(each)
    for way in ("enumerating", "matching"):
        row[f"gain_{way}"] = median_ratio(seconds[way, "basic"], seconds[way, "merging"])
    row["gain_in_runs"] = median_ratio(in_runs["basic"], in_runs["merging"])
    basic, merging = (metrics["enumerating", algorithm] for algorithm in ALGORITHMS)
    assert basic.matches == merging.matches
    row["matching_cost_percent"] = 100 * median_ratio(
        seconds["matching", "basic"], seconds["enumerating", "basic"]
    )
    completing = np.count_nonzero(events.table["volume"].to_numpy() < 150)
    row["matches"] = basic.matches
    row["match_length"] = basic.mean_match_length
    # Every run of the event's partition is completed by an event that can be b.
    row["runs_per_event"] = basic.matches / max(completing, 1)
    row["output_complexity"] = round(basic.matches * basic.mean_match_length)
    row["runs_merged_percent"] = 100 * merging.runs_merged / max(merging.runs_created, 1)
    row["basic_buffer_nodes"] = basic.buffer_nodes
    row["merging_buffer_nodes"] = merging.buffer_nodes
    row["cost_of_window_ms"] = 1_000 * window / row["basic_enumerating_events_per_s"]
    return row


def measure_aggregates(settings: Settings) -> Iterator[Row]:
    """The third predicate with other aggregates: which state a run has to keep."""
    for window in settings.windows:
        events = StockStream(settings.rises[0], settings.seed).events(
            SYMBOLS * settings.windows_long * window
        )
        for aggregate in ("", " max", " avg"):
            for strategy in ("s2", "s3"):
                name = f"p3{aggregate}{strategy}"
                case = {"query": name, "window": window, "events": len(events)}
                yield {**case, **measure_query(name, window, events, settings.rounds)}


def measure_buffer_updates(settings: Settings) -> Iterator[Row]:
    """Table 3: the share of merged runs, and what keeping the selected events costs.

    A run that only counts matches keeps no events, and no time is spent on them.
    """
    for window in settings.windows:
        events = StockStream(settings.rises[0], settings.seed).events(
            SYMBOLS * settings.windows_long * window
        )
        for name in ("p1s3", "p2s3", "p3s3"):
            stocks = CompiledStocks(query_text(name, window), window, events)
            row: Row = {"query": name, "window": window, "events": len(events)}
            for algorithm in ALGORITHMS:
                ways = {
                    "matching": partial(stocks.match_only, events, algorithm),
                    "counting": partial(stocks.count, events, algorithm),
                }
                seconds = time_in_turn(ways, settings.rounds)
                keeping, counting = (statistics.median(seconds[way]) for way in ways)
                row[f"{algorithm}_matching_s"] = keeping
                row[f"{algorithm}_buffer_s"] = keeping - counting
                found = stocks.match_only(events, algorithm).metrics
                row[f"{algorithm}_buffer_nodes"] = found.buffer_nodes
            row["runs_merged_percent"] = 100 * found.runs_merged / max(found.runs_created, 1)
            yield row
