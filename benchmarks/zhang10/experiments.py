"""The streams and queries of [Zhang10 §6, C], and what is measured of them.

An event comes at every unit of time, with a value that counts from 1 to 1000 and begins again,
and an interval of ± δ. A component takes the values that its number divides; by default W = 100,
three components, each with about a twentieth of all events, and δ = 10. Under
skip_till_next_match no event matches two components, as in the first case of §4.

With such divisors the last component is a little rarer than the first. Where the methods are
compared at equal selectivity, components take one remainder each of the same divisor.

Methods that take events run at millions of events a second, and differ by less than short runs
do from one another: they get long streams, in turn, and the medians of some rounds are taken.

The longer intervals are, the more matches there are. Where every component takes a hundredth of
the events these are few, and what is seen is the work for an event; where they are many, that
for a match.

The traces of a cluster are generated ones: tasks ± 0.5 s and loads ± 7.5 s, in units of 0.1 s.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import median_ratio, time_in_turn
from cepheid.samples import cluster_load

Row = dict[str, Any]

DIVISORS = (19, 23, 29, 31, 37)
EXCLUSIVE = (29, 37, 41)
"""No value up to 1000 is divided by two of these: an event matches at most one component."""
RARE = (97, 101, 103)
"""Few events match any component, and few combinations of them a query."""
EQUAL, REMAINDERS = 23, (0, 8, 16)
"""Every component takes exactly as many events as any other."""
SKEWS = ((19, 29), (9, 61), (5, 110), (3, 184))
"""Divisors of the first and the last component: ever more of the first, and less of the last."""

TRACE_QUERIES = {
    "Q1": "TaskStart a, CPU b, TaskFinish c, CPU d",
    "Q2": "TaskStart a, TaskFinish c, CPU b, CPU d",
    "Q3": "CPU b, TaskStart a, TaskFinish c, CPU d",
    "Q4": "CPU b, TaskStart a, CPU d",
}
"""Peaks of the load of a node during, after and before a task, and before it begins."""

CLUSTER = {
    "S1, any, selective": ("skip_till_any_match", "25%"),
    "S2, any": ("skip_till_any_match", "70%"),
    "S3, next, selective": ("skip_till_next_match", "25%"),
    "S4, next": ("skip_till_next_match", "70%"),
}
"""The strategies over the traces of a cluster, and how low the load is at the end."""

QUERY_ORDER = "query_order"
EVENT_BASED = ("any_state", QUERY_ORDER, "selectivity")
ANY, NEXT = "skip_till_any_match", "skip_till_next_match"
WINDOW, LENGTH, DELTA = 100, 3, 10


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured.

    The longer intervals are, the shorter streams: of ``events`` up to δ = 10, of a fifth at 50.
    The point-based method gets ``point_events`` for the longest, of which it looks at a hundred
    thousand points for each event, and one round.
    """

    events: int
    point_events: int
    deltas: tuple[int, ...]
    lengths: tuple[int, ...]
    rounds: int

    def stream_length(self, method: str, delta: int) -> int:
        """How many events a method gets."""
        if method != "point":
            return self.events * DELTA // max(delta, DELTA)
        return min(self.events, self.point_events * max(self.deltas) ** 3 // delta**3)


QUICK = Settings(200_000, 1_000, (1, 10, 30), (2, 3, 4), 5)
FULL = Settings(300_000, 500, (1, 10, 20, 30, 50), (2, 3, 4, 5), 9)


def stream(events: int) -> pa.Table:
    """So many events of the experiments."""
    times = np.arange(events)
    kind = pa.DictionaryArray.from_arrays(np.zeros(events, np.int32), ["E"])
    return pa.table({"ts": times, "type": kind, "value": times % 1_000 + 1})


def query(
    divisors: Sequence[int], strategy: str, remainders: Sequence[int] = ()
) -> cep.CompiledQuery:
    """The query with these components; remainders are 0 where none are given."""
    names = [f"e{number}" for number in range(1, len(divisors) + 1)]
    wanted = zip(names, divisors, remainders or [0] * len(divisors), strict=True)
    tests = [f"{name}.value % {by} = {left}" for name, by, left in wanted]
    pattern = ", ".join(f"E {name}" for name in names)
    where = " AND ".join([strategy, *tests])
    return cep.query(f"PATTERN SEQ({pattern}) WHERE {where} WITHIN {WINDOW}")


def measure(settings: Settings) -> Iterator[Row]:
    """A row for each experiment, case and method."""
    default = DIVISORS[:LENGTH]
    for delta in settings.deltas:
        for strategy in (ANY, NEXT):
            methods = ("point", *EVENT_BASED)
            case = {"experiment": f"delta, {strategy}", "case": delta}
            divisors = default if strategy == ANY else EXCLUSIVE
            yield from _measured(settings, case, divisors, strategy, delta, methods)
        case = {"experiment": "delta, few matches", "case": delta}
        yield from _measured(settings, case, RARE, ANY, delta, ("point", *EVENT_BASED))
        case = {"experiment": "delta, equal selectivity", "case": delta}
        events = dict.fromkeys(EVENT_BASED, stream(settings.stream_length("", delta)))
        equal = query([EQUAL] * LENGTH, ANY, REMAINDERS)
        yield from _timed(settings, case, equal, events, {"uncertainty": delta})
    for length in settings.lengths:
        case = {"experiment": "length", "case": length}
        yield from _measured(settings, case, DIVISORS[:length], ANY, DELTA, EVENT_BASED)
    yield from measure_skews(settings)
    case = {"experiment": "default query", "case": DELTA}
    yield from _measured(settings, case, default, ANY, DELTA, ("auto",))
    yield from measure_traces(settings)


def measure_skews(settings: Settings) -> Iterator[Row]:
    """Ever more events for the first component, and fewer for the last one."""
    for first, last in SKEWS:
        case = {"experiment": "skew", "case": f"1/{first} … 1/{last}"}
        divisors = (first, *DIVISORS[1 : LENGTH - 1], last)
        yield from _measured(settings, case, divisors, ANY, DELTA, EVENT_BASED)


def measure_traces(settings: Settings) -> Iterator[Row]:
    """Four queries over the traces of a cluster, by both strategies; the first is that of §3.1."""
    traces = cluster_load.generate(settings.events, seed=10)
    reading = {"uncertainty": cluster_load.UNCERTAINTY, "granularity": cluster_load.GRANULARITY}
    for number, pattern in TRACE_QUERIES.items():
        for name, (strategy, low) in CLUSTER.items():
            case = {"experiment": "cluster", "case": f"{number}, {name}"}
            events = dict.fromkeys(EVENT_BASED, traces)
            query_of_traces = trace_query(pattern, strategy, low)
            yield from _timed(settings, case, query_of_traces, events, reading)


def trace_query(pattern: str, strategy: str, low: str) -> cep.CompiledQuery:
    """A pattern of tasks and of the load of their node, which ends with a low load."""
    of_task = "AND a.task_id = c.task_id" if "TaskFinish" in pattern else ""
    return cep.query(f"""
        PATTERN SEQ({pattern})
        WHERE a.node_id = b.node_id AND a.node_id = d.node_id {of_task}
          AND b.value > 95% AND d.value <= {low} AND {strategy}
        WITHIN 15 seconds""")


def _measured(
    settings: Settings,
    case: Row,
    divisors: Sequence[int],
    strategy: str,
    delta: int,
    methods: Sequence[str],
) -> Iterator[Row]:
    events = {method: stream(settings.stream_length(method, delta)) for method in methods}
    yield from _timed(settings, case, query(divisors, strategy), events, {"uncertainty": delta})


def _timed(
    settings: Settings,
    case: Row,
    compiled: cep.CompiledQuery,
    events: Mapping[str, pa.Table],
    reading: Mapping[str, Any],
) -> Iterator[Row]:
    """The query over the events of each method."""
    contestants = {
        method: partial(compiled.match, events[method], options={"method": method}, **reading)
        for method in events
    }
    in_turn = {method: run for method, run in contestants.items() if method != "point"}
    seconds = time_in_turn(in_turn, settings.rounds)
    if "point" in contestants:
        seconds |= time_in_turn({"point": contestants["point"]}, 1)
    for method, run in contestants.items():
        matches = run()
        count, times = events[method].num_rows, seconds[method]
        median = statistics.median(times)
        ratio: float | str = ""
        if method in in_turn and QUERY_ORDER in in_turn:
            ratio = median_ratio(times, seconds[QUERY_ORDER])
        yield {
            **case,
            "method": method,
            "events": count,
            "events_per_s": count / median,
            "time_to_query_order": ratio,
            "spread": (max(times) - min(times)) / median,
            "matches_per_event": len(matches) / count,
            "us_per_match": 1e6 * median / max(len(matches), 1),
            "paths_per_event": matches.metrics.runs_created / count,
        }
