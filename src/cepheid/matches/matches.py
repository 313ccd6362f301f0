"""The result of a query: its matches, as bindings, rows, tables or batches; and of a script."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.budget import Budget
from cepheid.errors import list_words, no_such_query
from cepheid.events.event_view import EventView
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names
from cepheid.matches.bindings import Bindings
from cepheid.matches.held import building
from cepheid.matches.metrics import Metrics
from cepheid.matches.projection import project
from cepheid.matches.shapes.flat import dicts, flat, python_values
from cepheid.matches.shapes.long_form import event_rows
from cepheid.matches.shapes.shown import ROWS, WIDTH, check_rows, shown_count, shown_table
from cepheid.schema import Schema
from cepheid.tuning import tuning
from cepheid.visible import visible

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN = 10
_MATCH_BYTES, _EVENT_BYTES = 320, 40
"""The size of a match in Python values, and of each event in it."""
_DICT_FACTOR = 12
"""How many times the memory of a column of events pandas takes, which has a dict for each event."""

Rows = dict[str, int | str | list[int | str]]
"""The input row or rows that each variable is bound to; a string if the event is no input row."""


@dataclass(frozen=True, slots=True)
class Match:
    """One match: when it starts and ends, its events as row numbers, and its columns.

    ``match["a"]`` and ``match.a`` are the event of a variable, a list of events, or an item of
    RETURN with that name.

    If times are uncertain, these are its earliest possible start and latest possible end, and
    ``confidence`` is the probability that it is a match. ``timed_out`` is true for a partial match
    whose window has passed, and None if such are not reported.
    """

    start: Any
    end: Any
    bindings: Rows
    values: dict[str, Any]
    confidence: float | None = field(default=None, repr=False)
    timed_out: bool | None = field(default=None, repr=False)
    find: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)

    def __getitem__(self, name: str) -> Any:
        """An item of RETURN, or the event or events of a variable; None if it is unbound."""
        if name in self.values or self.find is None:
            return self.values[name]
        return self.find(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    def _repr_html_(self) -> str:
        from cepheid.matches.shapes.notebook import match_html

        return match_html(self)


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
        budget: Budget | None = None,
    ) -> None:
        self.metrics = metrics or Metrics()
        self._query = query
        self._given = events
        self._parts = parts
        self._name_row = name_row
        self._budget = Budget() if budget is None else budget

    @cached_property
    def _events(self) -> Events:
        return self._given.events if isinstance(self._given, EventView) else self._given

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Match]:
        for part in self._pieces():
            rows = dicts(self._table(part))
            starts = python_values(self._given.time_axis.decode(part.starts, wide=True))
            ends = python_values(self._given.time_axis.decode(part.ends, wide=True))
            sure = part.confidences
            for ix, row in enumerate(rows):
                confidence = None if sure is None else float(sure[ix])
                bound = self._rows_of(part.one(ix))
                find = partial(self._events_of, part, ix)
                timed_out = None if part.timed_out is None else bool(part.timed_out[ix])
                yield Match(starts[ix], ends[ix], bound, row, confidence, timed_out, find)

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
        return self._like(parts=ordered)

    def __repr__(self) -> str:
        first = self[:_SHOWN]
        shown = list(map(repr, first._row_numbers()))
        if self._query.returns is not None and shown:
            items = item_names(self._query)
            values = [{name: row[name] for name in items} for row in first.to_dicts()]
            shown = [f"{row} returns {each!r}" for row, each in zip(shown, values, strict=True)]
        more = len(self) - len(shown)
        return "\n".join([count_text(len(self)), *shown, *([f"… and {more} more"] if more else [])])

    def bindings(self) -> list[Rows]:
        """For each match, the zero-based input rows that each variable is bound to."""
        with building(self._budget, self._query) as charge:
            charge(
                sum(_MATCH_BYTES * len(part) + _EVENT_BYTES * part.events for part in self._parts)
            )
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
        return self._like(query=replace(self._query, returns=None))

    def _repr_html_(self) -> str:
        from cepheid.matches.shapes.notebook import matches_html

        return matches_html(self)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the result, with their types."""
        return self._table(self._parts[0].slice(0, 0)).schema

    def to_arrow(self) -> pa.Table:
        """The matches as an Arrow table: start, end, and the variables or RETURN's items."""
        tables: list[pa.Table] = []
        with building(self._budget, self._query) as charge:
            for part in self._pieces() if len(self) > tuning().batch_matches else self._parts:
                tables.append(self._table(part))
                charge(tables[-1].nbytes)
        return pa.concat_tables(tables)

    def to_batches(self, size: int | None = None) -> Iterator[pa.RecordBatch]:
        """The matches as Arrow batches; only one batch is in memory at a time."""
        for part in self._pieces(size):
            yield from self._table(part).combine_chunks().to_batches()

    def to_pandas(self) -> pd.DataFrame:
        """The matches as a pandas DataFrame."""
        table = self.to_arrow()
        with building(self._budget, self._query) as charge:
            charge(
                sum(
                    each.nbytes * (_DICT_FACTOR if _has_events(each) else 2)
                    for each in table.columns
                )
            )
            return table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The matches as a Polars DataFrame."""
        import polars

        table = self.to_arrow()
        with building(self._budget, self._query) as charge:
            charge(2 * table.nbytes)
            frame = polars.from_arrow(table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_dicts(self) -> list[dict[str, Any]]:
        """The matches as dicts with the columns of the result.

        >>> import cepheid as cep
        >>> events = {"ts": [1, 2], "type": ["A", "B"], "x": [5, 6]}
        >>> cep.query("PATTERN SEQ(A a, B b) RETURN b.x AS x").match(events).to_dicts()
        [{'start': 1, 'end': 2, 'x': 6}]
        """
        return dicts(self.to_arrow())

    def show(self, n: int = ROWS, truncate: int | None = WIDTH) -> None:
        """Print the first ``n`` matches as a table; values have at most ``truncate`` characters.

        >>> import cepheid as cep
        >>> events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}
        >>> cep.query("PATTERN SEQ(A a, B b) RETURN a.x, b.x").match(events).show(1)
        start  end  a.x  b.x
        -----  ---  ---  ---
            1    2    5    6
        1 of 2 matches
        """
        first = self[: check_rows(n)]
        print(shown_table(first.to_dicts(), self.columns, truncate))
        print(shown_count(len(first), len(self)))

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the matches to a CSV file, or return them as CSV without a path.

        Events and lists are JSON, and durations are in seconds.

        >>> import cepheid as cep
        >>> events = {"ts": [1, 2], "type": ["A", "B"], "x": [5, 6]}
        >>> matches = cep.query("PATTERN SEQ(A a, B b) RETURN b.x AS x").match(events)
        >>> matches.to_csv().splitlines()
        ['"start","end","x"', '1,2,6']
        """
        from pyarrow.csv import write_csv

        table = flat(self.to_arrow())
        if path is not None:
            write_csv(table, path)
            return None
        sink = io.BytesIO()
        write_csv(table, sink)
        return sink.getvalue().decode()

    def to_rows(self) -> pa.Table:
        """The matches in long form: an Arrow table with one row for each event of a match.

        It has the number of the match, from 0; the variable; the index of the event in the
        variable, from 1 as in ``b[1]``; and the columns of the event. Events of a match are in
        stream order.

        >>> import cepheid as cep
        >>> events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}
        >>> matches = cep.query("PATTERN SEQ(A a, B{2} b[]) RETURN a.x").match(events)
        >>> for row in matches.to_rows().select(["match", "variable", "index", "x"]).to_pylist():
        ...     print(list(row.values()))
        [0, 'a', 1, 5]
        [0, 'b', 1, 6]
        [0, 'b', 2, 7]
        """
        tables: list[pa.Table] = []
        with building(self._budget, self._query) as charge:
            for table in self.row_tables():
                tables.append(table)
                charge(table.nbytes)
        return pa.concat_tables(tables)

    def row_tables(self, first: int = 0, limit: int | None = None) -> Iterator[pa.Table]:
        """The long form of all or the first matches in parts, the first one without rows.

        ``first`` is the number of the first match.
        """
        chosen = self if limit is None else self[:limit]
        yield event_rows(self._events, self._parts[0].slice(0, 0), first)
        for part in chosen._pieces():
            yield event_rows(self._events, part, first)
            first += len(part)

    def with_rows_named(self, name_row: Callable[[int], int | str]) -> Matches:
        """The same matches; their bindings name the row of an event with ``name_row``."""
        return self._like(name_row=name_row)

    def _like(self, **changes: Any) -> Matches:
        kept = {
            "query": self._query,
            "events": self._given,
            "parts": self._parts,
            "metrics": self.metrics,
            "name_row": self._name_row,
            "budget": self._budget,
        }
        return Matches(**{**kept, **changes})

    def pieces(
        self, size: int | None = None, wanted: Collection[str] | None = None
    ) -> Iterator[tuple[Bindings, pa.Table]]:
        """The matches in pieces of limited size, as positions and as all or some columns."""
        for part in self._pieces(size):
            yield part, self._table(part, wanted)

    def by_row(self) -> Iterator[Bindings]:
        """The matches, with the input rows of events in place of their positions."""
        rows = self._given.rows if len(self) else np.empty(0, dtype=np.int64)
        return (part.moved(lambda positions: rows[positions]) for part in self._parts)

    def chosen(self, which: npt.NDArray[np.bool_]) -> Matches:
        """The matches that are marked."""
        ends = np.cumsum([len(part) for part in self._parts])[:-1]
        parts = zip(self._parts, np.split(which, ends), strict=True)
        return self._like(parts=[part.pick(np.flatnonzero(marked)) for part, marked in parts])

    def parts(self) -> tuple[Events, Sequence[Bindings]]:
        """The matches as positions in the events that are in memory."""
        return self._events, self._parts

    def _events_of(self, part: Bindings, ix: int, name: str) -> Any:
        """The event or events of a variable in one match."""
        if name not in part.variables:
            known = [*item_names(self._query), *part.variables]
            raise KeyError(f"a match has no {name!r}; it has {list_words(known)}")
        whole = replace(self._query, returns=None)
        table = project(whole, self._given, part.slice(ix, ix + 1), [name])
        return python_values(table.column(name))[0]

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


def _has_events(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    return bool(pa.types.is_struct(kind))


class ScriptMatches(dict[str, Matches]):
    """The matches of each query of a script, by the name of the query.

    The name of a query is the composite type that it makes, or else its number: ``query_2``.
    """

    def __missing__(self, name: str) -> Matches:
        raise KeyError(no_such_query(name, list(self)))

    def __repr__(self) -> str:
        counts = {visible(name): count_text(len(found)) for name, found in self.items()}
        return "\n".join(f"{name}: {count}" for name, count in counts.items())

    def show(self, n: int = ROWS, truncate: int | None = WIDTH) -> None:
        """Print the first ``n`` matches of each query, as :meth:`Matches.show` does."""
        for number, (name, matches) in enumerate(self.items()):
            print(f"{chr(10) * bool(number)}{visible(name)}")
            matches.show(n, truncate)

    def _repr_html_(self) -> str:
        from cepheid.matches.shapes.notebook import script_html

        return script_html(self)
