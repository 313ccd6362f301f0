"""What is measured: throughput, tests and instances over windows, ratios and changing streams."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.kolchinsky17.regions import (
    PATTERNS,
    changing_stream,
    eager_text,
    pattern_text,
    stream,
    stream_of_bars,
)
from benchmarks.timing import time_in_turn
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.events.events import Events, order_events
from cepheid.events.read_options import ReadOptions
from cepheid.language.parser import parse
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session

Row = dict[str, Any]
BATCH = 16_384
BOTH_METHODS = ("NEG-SEQ3", "NEG-AND3", "NEG-SEQ5")
SHORTER = {"ITER3": 0.4}
"""Every subset of the events that fit a list is a match: as in the paper, windows are shorter, up
to 12 minutes where others have 30."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured: streams are ``windows_long`` windows long."""

    windows: tuple[int, ...]
    ratios: tuple[int, ...]
    per_minute: float
    ratio_events: int
    windows_long: float
    switch: int
    rounds: int
    seed: int
    patterns: tuple[str, ...] = tuple(PATTERNS)
    bars: str | None = None
    """A file with prices of stocks, in place of generated ones."""


QUICK = Settings((5, 15, 30), (3, 10, 30, 100, 300, 700), 300, 30_000, 4, 20_000, 1, 17)
FULL = Settings((5, 10, 15, 20, 25, 30), (3, 10, 30, 100, 300, 700), 100, 30_000, 4, 50_000, 3, 17)


@dataclass(frozen=True, slots=True)
class Contestant:
    """An evaluation of a query with its options."""

    evaluation: str
    text: str
    options: Options = DEFAULT_OPTIONS

    def run(self, events: Events, window: int) -> Metrics:
        """Find all matches, and drop them."""
        session = self.session(events, window)
        for low in range(0, len(events), BATCH):
            session.feed(events.slice(low, min(low + BATCH, len(events))))
        session.advance()
        return session.metrics

    def session(self, events: Events, window: int) -> Session:
        """A session that has read nothing yet."""
        query = analyse(parse(self.text, "benchmark", {}), events.schema, self.text, "benchmark")
        return Session(query, window, EVERY_MATCH, self.options, evaluation=self.evaluation)


def measure_windows(settings: Settings) -> Iterator[Row]:
    """§8.1: all patterns over windows of several minutes."""
    for minutes in settings.windows:
        if settings.bars is not None:
            table = stream_of_bars(Path(settings.bars), settings.seed)
        else:
            table = stream(settings.windows_long * minutes, settings.per_minute, settings.seed)
        for name in settings.patterns:
            window = minutes * SHORTER.get(name, 1.0)
            for row in _measured(contestants_of(name, window), table, window, settings.rounds):
                case = {"pattern": name, "window": minutes, "minutes": window}
                yield {"experiment": "window", **case, **row}


def measure_ratios(settings: Settings) -> Iterator[Row]:
    """§8.2: sequences of three types, from the most to the least frequent one."""
    for ratio in settings.ratios:
        # As in the stream of regions, frequent types are those of many stocks.
        rare = 8 if ratio < 50 else 2
        stocks = {"A": rare * ratio, "B": rare * round(math.sqrt(ratio)), "C": rare}
        per_minute = sum(stocks.values())
        minutes = max(settings.ratio_events / per_minute, 30)
        table = stream(minutes, per_minute, settings.seed, stocks)
        text = pattern_text("SEQ(A a, B b, C c)", ["abc"], 20)
        contestants = {
            name: Contestant(name, text)
            for name in ("nfa_b", "instance_stacks", "lazy_chain", "lazy_tree")
        }
        for row in _measured(contestants, table, 20, settings.rounds):
            yield {"experiment": "ratio", "pattern": "SEQ3", "ratio": ratio, **row}


def measure_changes(settings: Settings) -> Iterator[Row]:
    """§8.3: tests per event while the rarest type changes, for all chains and the tree."""
    table = changing_stream(6 * settings.switch, 100, settings.switch, settings.seed)
    events = order_events(table)
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 300"
    contestants = {"tree": Contestant("lazy_tree", text)}
    for order in permutations("ABC"):
        known = {name: 10.0 ** (4 * place) for place, name in enumerate(order)}
        options = Options(statistics=known)
        contestants[f"chain {''.join(order)}"] = Contestant("lazy_chain", text, options)
    size = settings.switch // 5
    for name, contestant in contestants.items():
        session = contestant.session(events, 300)
        before = 0
        for low in range(0, len(events), size):
            session.feed(events.slice(low, low + size))
            tests = sum(session.metrics.evaluations.values())
            yield {
                "experiment": "change",
                "evaluation": name,
                "events": low + size,
                "tests_per_event": (tests - before) / size,
            }
            before = tests


def contestants_of(name: str, window: float) -> dict[str, Contestant]:
    """The evaluations that are compared for a pattern."""
    pattern, groups = PATTERNS[name]
    text = pattern_text(pattern, groups, window)
    contestants = {"nfa_b": Contestant("nfa_b", eager_text(name, window))}
    if "+" not in pattern and "AND" not in pattern:
        contestants["instance_stacks"] = Contestant("instance_stacks", text)
    if name in BOTH_METHODS:
        for short, method in (("FC", "first_chance"), ("PP", "post_processing")):
            options = Options(negation=method)
            contestants[f"lazy_chain {short}"] = Contestant("lazy_chain", text, options)
    contestants["lazy_chain"] = Contestant("lazy_chain", text)
    contestants["lazy_tree"] = Contestant("lazy_tree", text)
    return contestants


def _measured(
    contestants: Mapping[str, Contestant], table: pa.Table, minutes: float, rounds: int
) -> Iterator[Row]:
    events = order_events(table, ReadOptions(time_unit="s"))
    window = events.time_axis.window_ticks(minutes, "minutes")
    metrics: dict[str, Metrics] = {}

    def run(name: str) -> None:
        metrics[name] = contestants[name].run(events, window)

    seconds = time_in_turn({name: partial(run, name) for name in contestants}, rounds)
    eager = statistics.median(seconds["nfa_b"])
    for name, each in seconds.items():
        found, taken = metrics[name], statistics.median(each)
        tests = sum(found.evaluations.values())
        operations = found.runs_created + found.buffer_nodes
        yield {
            "evaluation": name,
            "events": len(events),
            "matches": found.matches,
            "events_per_s": len(events) / taken,
            "gain": eager / taken,
            "tests_per_event": tests / len(events),
            "operations_per_event": operations / len(events),
            "tests_per_match": tests / max(found.matches, 1),
            "instances_peak": found.runs_peak,
            "memory_KiB": found.memory / 1024,
        }
