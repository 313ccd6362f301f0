"""Random values in conditions and RETURN: functions, CASE, parts of dates, fields."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
from agreement.strategies import STRATEGIES, Part, sequences, windows
from hypothesis import strategies as st

STRINGS = ("p", " pq", "Q", "qpq", "", "ß", None)
START = datetime(2024, 2, 28, 21, 59, 30)


@dataclass(frozen=True)
class ValueCase:
    """A query and a stream with strings and points in time, one of them in a zone."""

    query: str
    rows: tuple[tuple[int, str, int | None, float | None, str | None, int | None], ...]

    def table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [()] * 6
        moments = [None if each is None else START + timedelta(minutes=each) for each in columns[5]]
        return pa.table(
            {
                "ts": pa.array(columns[0], pa.int64()),
                "type": pa.array(columns[1], pa.string()),
                "x": pa.array(columns[2], pa.int64()),
                "y": pa.array(columns[3], pa.float64()),
                "k": pa.array([1 if each is None else each % 2 for each in columns[2]], pa.int64()),
                "s": pa.array(columns[4], pa.string()),
                "at": pa.array(moments, pa.timestamp("us")),
                "d": pa.array(
                    [
                        None if s == "Q" else {"n": x, "t": s}
                        for x, s in zip(columns[2], columns[4], strict=True)
                    ],
                    pa.struct({"n": pa.int64(), "t": pa.string()}),
                ),
                "l": pa.array(
                    [
                        None if x is None else [y, 1.5][:x]
                        for x, y in zip(columns[2], columns[3], strict=True)
                    ],
                    pa.list_(pa.float64()),
                ),
                "there": pa.array(moments, pa.timestamp("us", "Asia/Kathmandu")),
            }
        )


@st.composite
def streams(draw: st.DrawFn, most: int = 9) -> tuple:
    rows, now = [], 0
    for _ in range(draw(st.integers(0, most))):
        now += draw(st.sampled_from((0, 1, 1, 2)))
        rows.append(
            (
                now,
                draw(st.sampled_from("AABBC")),
                draw(st.none() | st.integers(0, 4)),
                draw(st.sampled_from((0.0, 0.5, 2.0, None))),
                draw(st.sampled_from(STRINGS)),
                draw(st.none() | st.integers(0, 5_000)),
            )
        )
    return tuple(rows)


class Values:
    """Draws the text of values over the variables of a pattern."""

    def __init__(self, draw: st.DrawFn, parts: list[Part], *, in_return: bool = False) -> None:
        self._draw = draw
        self._parts = parts
        self._in_return = in_return

    def _one(self, *options: str) -> str:
        return self._draw(st.sampled_from(options))

    def attribute(self, name: str) -> str:
        part = self._draw(st.sampled_from(self._parts))
        if not part.kleene:
            return f"{part.variable}.{name}"
        lists = (f"{part.variable}[1]", f"{part.variable}[{part.variable}.LEN]")
        if not self._in_return:
            lists += (f"{part.variable}[i]", f"{part.variable}[i]", f"{part.variable}[i-1]")
        return f"{self._one(*lists)}.{name}"

    def aggregate(self) -> str:
        """An aggregate of a list, over an attribute or over an expression."""
        lists = [part.variable for part in self._parts if part.kleene]
        if not lists:
            return self.attribute("x")
        name = self._draw(st.sampled_from(lists))
        prior = not self._in_return and self._draw(st.integers(0, 3)) == 0
        scope = "..i-1" if prior else ""
        over = self._one(
            "{0}.x",
            "{0}.y",
            "{0}.x * {0}.y",
            "{0}.d.n",
            "{0}.l[2]",
            "length({0}.s)",
            "coalesce({0}.x, 7)",
            "-{0}.x % 3",
        )
        functions = (
            "sum", "avg", "min", "max", "count", "first", "last", "stddev", "variance", "median",
        )  # fmt: skip
        function = self._one(*functions)
        if function == "count" and self._draw(st.booleans()):
            return f"count(DISTINCT {name}[{scope}].{self._one('x', 'y', 's')})"
        return f"{function}({over.format(f'{name}[{scope}]')})"

    def number(self, depth: int = 2) -> str:
        if depth and self._draw(st.integers(0, 3)) == 0:
            return self.aggregate()
        if depth == 0 or self._draw(st.integers(0, 2)) == 0:
            name = self._one("x", "x", "y", "d.n", "l[1]", "l[2]", "INDEX")
            return self._one(self.attribute(name), self.attribute(name), "1", "2", "0.5")
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self._one(
            f"CASE WHEN {self.condition(depth - 1)} THEN {x} ELSE {y} END",
            f"CASE WHEN {self.condition(depth - 1)} THEN {x} END",
            f"coalesce({x}, {y})",
            f"nullif({x}, {y})",
            f"length({self.string(depth - 1)})",
            f"{self._one('hour', 'minute', 'day', 'weekday', 'month', 'year')}({self.time()})",
            f"greatest({x}, {y})",
            f"({x} + {y})",
        )

    def string(self, depth: int = 2) -> str:
        if depth == 0 or self._draw(st.integers(0, 2)) == 0:
            return self._one(self.attribute("s"), self.attribute("d.t"), "'p'", "'qpq'")
        s, t = self.string(depth - 1), self.string(depth - 1)
        return self._one(
            f"concat({s}, {t})",
            f"substring({s}, {self._one('0', '1', '2', '-1')})",
            f"substring({s}, {self.attribute('x')}, 2)",
            f"trim({s})",
            f"upper({s})",
            f"replace({s}, 'p', {t})",
            f"coalesce({s}, {t})",
            f"nullif({s}, {t})",
            f"{self._one('least', 'greatest')}({s}, {t})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {s} ELSE {t} END",
        )

    def time(self) -> str:
        at = self.attribute(self._one("at", "there"))
        part = self._one("minute", "hour", "day", "week", "month", "quarter", "year")
        return self._one(
            at,
            at,
            f"date_trunc('{part}', {at})",
            f"({at} + 90 minutes)",
            f"coalesce({at}, {at})",
            f"{self._one('least', 'greatest')}({at}, date_trunc('{part}', {at}) + 90 minutes)",
        )

    def condition(self, depth: int = 2) -> str:
        compare = self._one("<", "<=", ">", "=", "!=")
        s = self.string(depth)
        return self._one(
            f"{self.number(depth)} {compare} {self.number(depth)}",
            f"{s} {compare} {self.string(depth)}",
            f"{self.time()} {compare} {self.time()}",
            f"starts_with({s}, 'p')",
            f"ends_with({s}, {self.string(0)})",
            f"NOT contains({s}, 'q')",
            f"regexp_like({s}, '^[pq]+$')",
            f"NOT in_network({s}, '10.0.0.0/8')",
            f"({s} LIKE '%q' OR {self.number(depth)} {compare} 1)",
            f"{self.number(depth)} IN (1, NULL)",
            f"NOT {self.number(depth)} IN (1, 2, NULL)",
            f"{self.number(depth)} IS NOT NULL",
        )


@st.composite
def value_cases(draw: st.DrawFn) -> ValueCase:
    """A query with functions in its conditions, under any strategy, and a stream."""
    parts = draw(sequences(negation=True))
    positive = [part for part in parts if not part.negated]
    tests = []
    for _ in range(draw(st.integers(1, 2))):
        some = draw(st.lists(st.sampled_from(positive), min_size=1, max_size=2))
        negated = [part for part in parts if part.negated]
        if negated and draw(st.booleans()):
            some = [draw(st.sampled_from(negated)), *some[:1]]
        tests.append(Values(draw, some).condition())
    if draw(st.integers(0, 3)) == 0:
        tests.append("[k]")
    window = draw(windows(any(part.negated for part in parts)))
    strategy = draw(st.sampled_from(STRATEGIES))
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    query = f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(tests)} }} {window}"
    return ValueCase(query, draw(streams()))


@st.composite
def returned_cases(draw: st.DrawFn) -> ValueCase:
    """A query that returns values, and a stream."""
    parts = draw(sequences(negation=False))
    values = Values(draw, parts, in_return=True)
    items = [
        f"{values.number()} AS number",
        f"{values.string()} AS string",
        f"{values.time()} AS moment",
        f"({values.condition()}) AS truth",
    ]
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    query = f"PATTERN {pattern} WITHIN {draw(st.integers(1, 4))} RETURN {', '.join(items)}"
    return ValueCase(query, draw(streams()))
