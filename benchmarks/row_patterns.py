"""``python -m benchmarks.row_patterns``: the engine of MATCH_RECOGNIZE.

The workloads are those of DuckDB's public benchmark directory, in words, and patterns that are hard
for backtracking. Timed are the search alone, the engine (the search, and the masks and columns of
rows before it), the engine with the measures of all rows of the result, and the whole call, which
also reads, sorts, and makes the result. Speeds are in
millions of rows a second of CPU time, on one core; ``seconds`` are those of the whole call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import print_table, write_results
from cepheid.errors import LimitError
from cepheid.row_patterns.columns import Binding
from cepheid.row_patterns.compiled.execution import Execution
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.compiled.row_order import sorted_rows
from cepheid.row_patterns.compiled.searching import Searching
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.parser import parse
from cepheid.schema import Schema

Row = dict[str, Any]

V_SHAPES = """MATCH_RECOGNIZE ({partition} ORDER BY t
  MEASURES FIRST(t) AS since, LAST(DOWN.price) AS bottom, LAST(UP.t) AS until
  PATTERN (S DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
QUANTIFIERS = """MATCH_RECOGNIZE (ORDER BY t
  MEASURES MATCH_NUMBER() AS number
  ALL ROWS PER MATCH
  PATTERN (LOW+ HIGH+ LOW+)
  DEFINE LOW AS price < 50, HIGH AS price >= 50)"""
COUNTS = """MATCH_RECOGNIZE (ORDER BY t
  MEASURES count(*) AS size, FIRST(t) AS since
  PATTERN (A{2,4} B{1,3}? C+)
  DEFINE A AS price < 40, B AS price BETWEEN 30 AND 70, C AS price > 60)"""
NAVIGATION = """MATCH_RECOGNIZE (ORDER BY t
  MEASURES FIRST(t) AS since
  PATTERN (A B+)
  DEFINE B AS price > LAST(A.price))"""
NAVIGATIONS = """MATCH_RECOGNIZE (ORDER BY t
  MEASURES FIRST(A.price) AS first, LAST(B.price, 1) AS before, PREV(LAST(B.price)) AS beside
  PATTERN (A B+ C)
  DEFINE B AS B.price > FIRST(A.price) AND B.price >= LAST(B.price, 1) OR count(B.*) = 1,
         C AS C.price < A.price AND C.price < PREV(C.price, 2))"""
FUNNEL = """MATCH_RECOGNIZE (PARTITION BY person ORDER BY t
  MEASURES V.t AS viewed, P.t AS paid
  PATTERN (V O* C O* P)
  DEFINE V AS action = 0, O AS action = 3, C AS action = 1, P AS action = 2)"""
SESSIONS = """MATCH_RECOGNIZE (PARTITION BY person ORDER BY t
  MEASURES FIRST(t) AS since, LAST(t) AS until, count(*) AS size
  PATTERN (A B*) DEFINE B AS t - PREV(t) < 1800)"""
ALL_SESSIONS = SESSIONS.replace("PATTERN", "ALL ROWS PER MATCH PATTERN").replace(
    "MEASURES", "MEASURES MATCH_NUMBER() AS number,"
)
REPORTS = """MATCH_RECOGNIZE (ORDER BY ts
  MEASURES R.id AS robbery, B.id AS battery, M.id AS theft
  PATTERN (R Z* B Z* M)
  DEFINE R AS kind = 'robbery',
    B AS kind = 'battery' AND abs(B.x - R.x) < 0.05 AND abs(B.y - R.y) < 0.05
      AND B.ts <= R.ts + INTERVAL '30' MINUTE,
    M AS kind = 'theft' AND abs(M.x - R.x) < 0.05 AND abs(M.y - R.y) < 0.05
      AND M.ts <= R.ts + INTERVAL '30' MINUTE)"""
NEVER = """MATCH_RECOGNIZE (ORDER BY t PATTERN ({}) DEFINE A AS price >= 0, B AS price < 0)"""
SUMS = """MATCH_RECOGNIZE (ORDER BY t PATTERN ((A | Z)* B)
  DEFINE A AS sum(A.price) >= 0, B AS price < 0 AND sum(A.price) = -1)"""


@dataclass(frozen=True, slots=True)
class Case:
    """A clause, and how its table is made for a number of rows."""

    name: str
    clause: str
    rows: int
    table: Callable[[int], pa.Table]


def prices(count: int, partitions: int = 1) -> pa.Table:
    """Random walks, one after another in each step."""
    random = np.random.default_rng(7)
    steps = random.integers(-3, 4, count)
    walk = np.abs(np.cumsum(steps) % 100)
    key = np.arange(count) % partitions
    return pa.table({"t": np.arange(count), "symbol": key, "price": walk.astype(np.int64)})


def levels(count: int) -> pa.Table:
    """Independent prices from 0 to 99."""
    random = np.random.default_rng(6)
    return pa.table({"t": np.arange(count), "price": random.integers(0, 100, count)})


def clicks(count: int) -> pa.Table:
    """Actions of people: a view, a cart, a payment, or another one."""
    random = np.random.default_rng(8)
    return pa.table(
        {
            "person": random.integers(0, max(count // 100, 1), count),
            "t": np.sort(random.integers(0, 90_000, count)),
            "action": random.choice(4, count, p=[0.2, 0.1, 0.05, 0.65]),
        }
    )


def city(count: int) -> pa.Table:
    """Reports over 100 days: where, when, and what."""
    random = np.random.default_rng(9)
    times = np.sort(random.integers(0, 100 * 86_400, count)).astype("datetime64[s]")
    kinds = np.array(["robbery", "battery", "theft", "noise"])
    return pa.table(
        {
            "id": np.arange(count),
            "ts": times,
            "kind": pa.array(kinds[random.choice(4, count, p=[0.1, 0.2, 0.3, 0.4])]),
            "x": random.random(count),
            "y": random.random(count),
        }
    )


def cases() -> Iterator[Case]:
    """All workloads."""
    many = V_SHAPES.format(partition="PARTITION BY symbol")
    yield Case("V-shapes, one partition", V_SHAPES.format(partition=""), 2_000_000, prices)
    yield Case("V-shapes, 20,000 partitions", many, 2_000_000, lambda n: prices(n, 20_000))
    yield Case("quantifiers, all rows", QUANTIFIERS, 500_000, prices)
    yield Case("quantifiers with counts", COUNTS, 500_000, levels)
    yield Case("navigation", NAVIGATION, 200_000, prices)
    yield Case("navigation, five ways", NAVIGATIONS, 200_000, prices)
    yield Case("three-step funnel", FUNNEL, 10_000_000, clicks)
    yield Case("sessions", SESSIONS, 10_000_000, clicks)
    yield Case("sessions, all rows", ALL_SESSIONS, 10_000_000, clicks)
    yield Case("city reports, 20,000", REPORTS, 20_000, city)
    yield Case("city reports, 1 million", REPORTS, 1_000_000, city)
    for count in (10_000, 100_000, 1_000_000):
        for pattern in PATTERNS:
            yield Case(f"{pattern}, {count:,}", NEVER.format(pattern), count, prices)
    yield Case("sums over chosen rows", SUMS, 100, prices)


def measure(case: Case, fraction: float, rounds: int) -> Row:
    """The least of some rounds."""
    table = case.table(max(int(case.rows * fraction), 100))
    query = cep.query(case.clause)
    row: Row = {"workload": case.name, "rows": table.num_rows}
    try:
        query.match(table.slice(0, 50))
        whole, found = _timed(lambda: query.match(table, evaluation="row_pattern"), rounds)
    except LimitError as error:
        return row | {"matches": str(error).partition(". ")[0]}
    clause = parse(case.clause)
    binding = Binding(clause, Schema.from_arrow(table.schema))
    plan = Plan(binding.clause, binding.kinds.kind)
    in_order = SortedTable(table, *sorted_rows(table, binding.clause))
    measures = [each.expression for each in binding.clause.measures]
    seconds, searches, measured = [], [], []
    for _ in range(rounds):
        begun = process_time()
        again = SortedTable(table, in_order.order, in_order.offsets)
        searching = Searching(plan, again, None, 10**9)
        prepared = process_time()
        searching.run()
        searches.append(process_time() - prepared)
        seconds.append(process_time() - begun)
        begun = process_time()
        again = SortedTable(table, in_order.order, in_order.offsets)
        execution = Execution(plan, again, None, 10**9)
        for expression, kind in zip(measures, binding.measure_kinds, strict=True):
            execution.measure(expression, kind)
        measured.append(process_time() - begun)
    count = table.num_rows
    speeds = {
        name: round(count / seconds / 1e6, 1)
        for name, seconds in (
            ("search", min(searches)),
            ("engine", min(seconds)),
            ("measures", min(measured)),
            ("call", whole),
        )
    }
    return row | {"matches": found.count, "seconds": round(whole, 3), **speeds}


def _timed(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    seconds, found = [], None
    for _ in range(rounds):
        begun = process_time()
        found = call()
        seconds.append(process_time() - begun)
    return min(seconds), found


PATTERNS = ("(A | A)* B", "(A+)+ B", "((A | A?)* A*)* B", "(A*)* (A | A) (A+)+ B")
"""Patterns that take exponential time by plain backtracking."""


SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_COLOURS = ("#1d4ed8", "#b91c1c", "#15803d", "#a16207")
_LEFT, _TOP, _WIDE, _HIGH = 80, 20, 420, 280


def plot_growth(file: Path) -> None:
    """Draw the time of patterns that never match, by rows, on logarithmic axes."""
    curves: dict[str, list[float]] = {}
    for pattern in PATTERNS:
        query = cep.query(NEVER.format(pattern))
        query.count(prices(50))
        curves[pattern] = [_timed(partial(query.count, prices(size)), 3)[0] for size in SIZES]
    curves["0.1 µs a row"] = [size * 1e-7 for size in SIZES]
    file.write_text(_plot(curves))


def _plot(curves: dict[str, list[float]]) -> str:
    def place(rows: float, seconds: float) -> str:
        x = _LEFT + _WIDE * np.log10(rows / SIZES[0]) / 2
        y = _TOP + _HIGH * (1 - np.log10(seconds / 1e-4) / 4)
        return f"{x:.1f},{y:.1f}"

    def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'

    lines = [
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDE}" height="{_HIGH}" class="frame"/>',
        text(_LEFT + _WIDE / 2, _TOP + _HIGH + 44, "rows"),
        text(_LEFT - 6, _TOP - 6, "seconds of CPU time", "start"),
    ]
    for size in (10_000, 100_000, 1_000_000):
        x = place(size, 1).split(",")[0]
        lines.append(text(float(x), _TOP + _HIGH + 20, f"{size:,}"))
    for seconds in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        y = float(place(SIZES[0], seconds).split(",")[1])
        lines.append(text(_LEFT - 8, y + 4, f"{seconds:g}", "end"))
        lines.append(f'<path d="M{_LEFT},{y} h{_WIDE}" class="grid"/>')
    for number, (name, times) in enumerate(curves.items()):
        colour = [*_COLOURS, "#6b7280"][number]
        points = [place(*each) for each in zip(SIZES, times, strict=True)]
        dots = ' stroke-dasharray="2 5"' if number == len(_COLOURS) else ""
        lines.append(f'<polyline points="{" ".join(points)}" stroke="{colour}"{dots}/>')
        y = _TOP + 22 + 20 * number
        lines.append(f'<path d="M{_LEFT + 14},{y - 4} h24" stroke="{colour}"{dots}/>')
        lines.append(text(_LEFT + 46, y, name, "start"))
    style = (
        "text { font: 13px system-ui, sans-serif; fill: #1f2937 } path, polyline { fill: none; "
        "stroke-width: 2 } .frame { fill: none; stroke: #9ca3af } .grid { stroke: #e5e7eb; "
        "stroke-width: 1 }"
    )
    size = f'width="{_LEFT + _WIDE + 40}" height="{_TOP + _HIGH + 60}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="background: #ffffff">'
    return "\n".join([head, f"<style>{style}</style>", *lines, "</svg>", ""])


def main() -> None:
    """Measure the workloads that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the beginnings of names of workloads")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the number of rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="a folder for the results")
    parser.add_argument("--plot", type=Path, help="only draw how patterns grow, into this file")
    given = parser.parse_args()
    pa.set_cpu_count(1)
    if given.plot is not None:
        plot_growth(given.plot)
        return
    table = [
        measure(case, given.fraction, given.rounds)
        for case in cases()
        if not given.names or any(case.name.startswith(name) for name in given.names)
    ]
    print_table("MATCH_RECOGNIZE", table)
    if given.output is not None:
        settings = {"fraction": given.fraction, "rounds": given.rounds}
        write_results(given.output, "row_patterns", table, settings)


if __name__ == "__main__":
    main()
