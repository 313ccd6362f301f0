"""The result of a query: its matches, as bindings, rows, tables or batches; and of a script."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import did_you_mean, list_words
from cepheid.events.event_view import EventView
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.metrics import Metrics
from cepheid.matches.projection import project
from cepheid.schema import Schema
from cepheid.tuning import tuning

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN = 10

Rows = dict[str, int | str | list[int | str]]
"""The input row or rows that each variable is bound to; a string if the event is no input row."""


@dataclass(frozen=True, slots=True)
class Match:
    """One match: when it starts and ends, its events as row numbers, and its columns.

    If times are uncertain, these are its earliest possible start and latest possible end, and
    ``confidence`` is the probability that it is a match.
    """

    start: Any
    end: Any
    bindings: Rows
    values: dict[str, Any]
    confidence: float | None = field(default=None, repr=False)

    def __getitem__(self, column: str) -> Any:
        """A column of the match: the event or events of a variable, or an item of RETURN."""
        return self.values[column]


class Matches:
    """All matches of a query over some events.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}
    >>> matches = cep.query("PATTERN SEQ(A a, B b) RETURN b.x - a.x AS rise").match(events)
    >>> len(matches)
    2
    >>> matches.bindings()
    [{'a': 0, 'b': 1}, {'a': 0, 'b': 2}]
    >>> matches.to_arrow().to_pylist()
    [{'start': 1, 'end': 2, 'rise': 1}, {'start': 1, 'end': 3, 'rise': 2}]
    >>> matches[0]["rise"], matches[-1]["rise"], matches[:1].bindings()
    (1, 2, [{'a': 0, 'b': 1}])
    """

    def __init__(
        self,
        query: ast.Query,
        events: Events | EventView,
        parts: Sequence[Bindings],
        metrics: Metrics | None = None,
        name_row: Callable[[int], int | str] = int,
    ) -> None:
        self.metrics = metrics or Metrics()
        self._query = query
        self._given = events
        self._parts = parts
        self._name_row = name_row

    @cached_property
    def _events(self) -> Events:
        return self._given.events if isinstance(self._given, EventView) else self._given

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Match]:
        for part in self._pieces():
            table = self._table(part)
            columns = [python_values(column) for column in table.columns]
            rows = [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns)]  # noqa: B905
            starts = python_values(self._given.time_axis.decode(part.starts, wide=True))
            ends = python_values(self._given.time_axis.decode(part.ends, wide=True))
            sure = part.confidences
            for ix, row in enumerate(rows):
                confidence = None if sure is None else float(sure[ix])
                bound = self._rows_of(part.one(ix))
                yield Match(starts[ix], ends[ix], bound, row, confidence)

    @overload
    def __getitem__(self, place: int) -> Match: ...

    @overload
    def __getitem__(self, place: slice) -> Matches: ...

    def __getitem__(self, place: int | slice) -> Match | Matches:
        """One match, counted from 0, or from the end if negative; or the matches of a slice."""
        if not isinstance(place, slice):
            place = operator.index(place)
            if not -len(self) <= place < len(self):
                raise IndexError(f"there is no match {place}: there are {len(self)}")
            first = place % len(self)
            return next(iter(self[first : first + 1]))
        chosen = np.arange(len(self))[place]
        low, parts = 0, []
        for part in self._parts:
            parts.append(part.pick(chosen[(low <= chosen) & (chosen < low + len(part))] - low))
            low += len(part)
        backwards = place.step is not None and place.step < 0
        ordered = parts[::-1] if backwards else parts
        return Matches(self._query, self._given, ordered, self.metrics, self._name_row)

    def __repr__(self) -> str:
        shown = [repr(binding) for binding, _ in zip(self._row_numbers(), range(_SHOWN))]  # noqa: B905
        more = len(self) - len(shown)
        return "\n".join([count_text(len(self)), *shown, *([f"… and {more} more"] if more else [])])

    def bindings(self) -> list[Rows]:
        """For each match, the zero-based input rows that each variable is bound to."""
        return list(self._row_numbers())

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the result."""
        return list(self._table(self._parts[0].slice(0, 0)).column_names)

    @property
    def schema(self) -> Schema:
        """The types and attributes of the events."""
        return self._given.schema

    def with_events(self) -> Matches:
        """The same matches with the events of each variable, regardless of RETURN."""
        query = replace(self._query, returns=None)
        return Matches(query, self._given, self._parts, self.metrics, self._name_row)

    def _repr_html_(self) -> str:
        from cepheid.matches.notebook import matches_html

        return matches_html(self)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the result, with their types."""
        return self._table(self._parts[0].slice(0, 0)).schema

    def to_arrow(self) -> pa.Table:
        """The matches as an Arrow table: start, end, and the variables or RETURN's items."""
        return pa.concat_tables(map(self._table, self._parts))

    def to_batches(self, size: int | None = None) -> Iterator[pa.RecordBatch]:
        """The matches as Arrow batches; only one batch is in memory at a time."""
        for part in self._pieces(size):
            yield from self._table(part).combine_chunks().to_batches()

    def to_pandas(self) -> pd.DataFrame:
        """The matches as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The matches as a Polars DataFrame."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def with_rows_named(self, name_row: Callable[[int], int | str]) -> Matches:
        """The same matches; their bindings name the row of an event with ``name_row``."""
        return Matches(self._query, self._given, self._parts, self.metrics, name_row)

    def pieces(
        self, size: int | None = None, wanted: Collection[str] | None = None
    ) -> Iterator[tuple[Bindings, pa.Table]]:
        """The matches in pieces of limited size, as positions and as all or some columns."""
        for part in self._pieces(size):
            yield part, self._table(part, wanted)

    def parts(self) -> tuple[Events, Sequence[Bindings]]:
        """The matches as positions in the events that are in memory."""
        return self._events, self._parts

    def _row_numbers(self) -> Iterator[Rows]:
        return map(self._rows_of, chain.from_iterable(self._parts))

    def _rows_of(self, binding: Mapping[str, int | list[int]]) -> Rows:
        events, named = self._events, self._name_row
        return {
            name: list(map(named, events.rows_at(bound)))
            if isinstance(bound, list)
            else named(int(events.row_numbers[bound]))
            for name, bound in binding.items()
        }

    def _pieces(self, size: int | None = None) -> Iterator[Bindings]:
        size = size or tuning().batch_matches
        for part in self._parts:
            for low in range(0, len(part), size):
                yield part.slice(low, low + size)

    def _table(self, part: Bindings, wanted: Collection[str] | None = None) -> pa.Table:
        return project(self._query, self._given, part, wanted)


def count_text(count: int) -> str:
    """A number of matches, with the noun.

    >>> count_text(1), count_text(1_200)
    ('1 match', '1200 matches')
    """
    return f"{count} match{'' if count == 1 else 'es'}"


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values of Python's own types: times to the microsecond, also inside lists and structs.

    For nanoseconds, Arrow would return pandas types, and fail if pandas is not installed.

    >>> python_values(pa.array([1_500], pa.duration("ns")))
    [datetime.timedelta(microseconds=1)]
    """
    wanted = _to_microseconds(column.type)
    values: list[Any] = (
        column if wanted == column.type else column.cast(wanted, safe=False)
    ).to_pylist()
    return values


def _to_microseconds(kind: pa.DataType) -> pa.DataType:
    if arrow.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if arrow.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if arrow.is_time64(kind):
        return pa.time64("us")
    if arrow.is_list(kind):
        return pa.list_(_to_microseconds(kind.value_type))
    if arrow.is_large_list(kind):
        return pa.large_list(_to_microseconds(kind.value_type))
    if arrow.is_struct(kind):
        return pa.struct([field.with_type(_to_microseconds(field.type)) for field in kind])
    return kind


class ScriptMatches(dict[str, Matches]):
    """The matches of each query of a script, by the name of the query.

    The name of a query is the composite type that it makes, or else its number: ``query_2``.
    """

    def __missing__(self, name: str) -> Matches:
        known = list(self)
        raise KeyError(
            f"the script has no query {name!r}; it has {list_words(known)}"
            + did_you_mean(name, known)
        )

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {count_text(len(found))}" for name, found in self.items())
