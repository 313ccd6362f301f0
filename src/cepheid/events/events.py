"""Events in stream order: one table, its ticks and its types.

A stream is totally ordered by (time, tie-break columns, input row). All code after this module
identifies an event by its position in that order; input rows appear only in results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EventError, OptionError, did_you_mean, list_words
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    column_named,
    empty_table,
    from_numpy,
    one_array,
    without_dictionary,
)
from cepheid.events.columns.computed_columns import column_of
from cepheid.events.conforming import schema_of_events, with_kinds_of
from cepheid.events.event_types import read_types
from cepheid.events.order import stream_order
from cepheid.events.read_options import DEFAULT_READING, ReadOptions
from cepheid.events.sources.files import has_csv
from cepheid.events.sources.tables import (
    concat_tables,
    hint_of_missing,
    is_type_mapping,
    read_columns,
)
from cepheid.events.sources.text_files import NeededColumns, refuse_other_encoding
from cepheid.events.time_axis import MAX_TICKS, TimeAxis, check_range
from cepheid.events.time_strings import with_parsed_time
from cepheid.schema import PARTITION_INDEX, Kind, Schema, kind_of

MOST_COLUMNS_SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """A stream of events; all arrays are indexed by an event's position in it."""

    table: pa.Table  # every column of the input, none in more than one chunk
    row_numbers: Int64s | range  # zero-based row of the input
    ticks: Int64s  # time, on time_axis; never decreases
    time_axis: TimeAxis
    type_codes: npt.NDArray[np.int32]  # index into type_names
    type_names: tuple[str, ...]
    schema: Schema
    numbers: Int64s | int = 0  # in the stream that a query reads, or that of the first event

    def __len__(self) -> int:
        return len(self.ticks)

    @property
    def column_names(self) -> list[str]:
        """The columns that results show, in order."""
        return [name for name in self.table.column_names if name != PARTITION_INDEX]

    def column(self, name: str) -> pa.ChunkedArray:
        """A column, in one chunk."""
        return column_of(self.table, name, self.numbers)

    @property
    def rows(self) -> Int64s:
        """The input row of each event, as an array that is made on demand."""
        rows = self.row_numbers
        if isinstance(rows, range):
            return np.arange(rows.start, rows.stop, dtype=np.int64)
        return rows

    def rows_at(self, positions: list[int]) -> list[int]:
        """The input rows of the events at these positions."""
        rows = self.row_numbers
        if isinstance(rows, range):
            return [rows[position] for position in positions]
        found: list[int] = rows[positions].tolist()
        return found

    def counted_from(self, first: int) -> Events:
        """The same events, with ``first`` input rows before them."""
        rows = self.row_numbers
        if isinstance(rows, range):
            return self._with_rows(range(rows.start + first, rows.stop + first))
        return self._with_rows(rows + first)

    def _with_rows(self, rows: Int64s | range) -> Events:
        return Events(
            self.table,
            rows,
            self.ticks,
            self.time_axis,
            self.type_codes,
            self.type_names,
            self.schema,
            self.numbers,
        )

    def take(self, positions: Int64s) -> Events:
        """A copy of the events at these positions."""
        return replace(
            self,
            table=self.table.take(from_numpy(positions)),
            row_numbers=self.rows[positions],
            ticks=self.ticks[positions],
            type_codes=self.type_codes[positions],
            numbers=positions + self.numbers
            if isinstance(self.numbers, int)
            else self.numbers[positions],
        )

    def followed_by(self, more: Events) -> Events:
        """These events and then others, whose types may have other codes."""
        names = tuple(dict.fromkeys((*self.type_names, *more.type_names)))
        code = np.array([names.index(name) for name in more.type_names], dtype=np.int32)
        both = [self.table, more.table]
        return Events(
            pa.concat_tables(both, promote_options="default").combine_chunks(),
            np.concatenate([self.rows, more.rows]),
            np.concatenate([self.ticks, more.ticks]),
            self.time_axis,
            np.concatenate([self.type_codes, code[more.type_codes]]),
            names,
            self.schema,
        )

    def slice(self, low: int, high: int) -> Events:
        """The events at positions ``low`` to ``high``, without a copy."""
        return Events(
            self.table.slice(low, high - low),
            self.row_numbers[low:high],
            self.ticks[low:high],
            self.time_axis,
            self.type_codes[low:high],
            self.type_names,
            self.schema,
            self.numbers + low if isinstance(self.numbers, int) else self.numbers[low:high],
        )


@dataclass(frozen=True, slots=True)
class _Input:
    """The events as they were read, in input order."""

    table: pa.Table
    columns: pa.Schema  # of the table and of the columns that were not read
    type_codes: npt.NDArray[np.int32]
    type_names: tuple[str, ...]
    type_columns: Mapping[str, frozenset[str]] | None  # None: every type has every column
    place: Callable[[int], str]  # names a row in error messages


def order_events(
    source: object, read: ReadOptions = DEFAULT_READING, needed: NeededColumns | None = None
) -> Events:
    """The events of a source in stream order.

    Args:
        source: what :func:`read_source` reads, or a mapping from event type to such a table.
        read: how it is read; a table per type needs no column with the type.
        needed: selects the columns to read from Parquet files; default: all.

    >>> events = order_events({"ts": [3, 1, 1], "type": ["Exit", "Shelf", "Exit"]})
    >>> events.ticks.tolist(), events.rows.tolist(), events.table["type"].to_pylist()
    ([1, 1, 3], [1, 2, 0], ['Shelf', 'Exit', 'Exit'])
    >>> events = order_events({"A": {"t": [2]}, "B": {"t": [1], "x": [5]}}, ReadOptions(time="t"))
    >>> [events.type_names[code] for code in events.type_codes]
    ['B', 'A']
    """
    time, type, ties = read.time, read.type, read.tie_break
    if time == type:
        raise OptionError(
            f"the time and the type of an event cannot both be in column {time!r}; "
            "name one column for each"
        )
    if read.sep is not None and not has_csv(source):
        raise OptionError(
            f"sep={read.sep!r} is the character between the columns of a CSV file, and these "
            "events are not read from one; leave it out"
        )
    if is_type_mapping(source):
        found = _read_table_per_type(source, read, needed)
    else:
        found = _read_one_table(source, read, needed)
    always = [time, type] if type and found.type_columns is None else [time]
    events_schema = schema_of_events(read.schema, found.columns, found.type_columns, always)
    table = found.table
    if read.schema is not None:
        with_kinds_of(empty_table(found.columns), events_schema)
        table = with_kinds_of(table, events_schema)
    if found.type_columns is None and (
        read.time_format is not None or events_schema.kind(time) is Kind.STRING
    ):
        table = with_parsed_time(table, time, found.place, read.time_format)
    upper = read.uncertain.upper if read.uncertain is not None else None
    if upper is not None and read.time_format is not None and upper in table.column_names:
        table = with_parsed_time(table, upper, found.place, read.time_format)
    moments = table.schema.field(time).type
    if events_schema.kind(time) is not kind_of(moments):  # Strings that were parsed as times.
        kinds = {**events_schema.attributes, time: kind_of(moments)}
        events_schema = replace(events_schema, attributes=kinds)
    axis = TimeAxis.of(time, moments, read.time_unit)
    ticks = axis.encode(column_named(table, time), found.place)
    order = stream_order(
        ticks, [_tie_array(name, table.column(name), found.place) for name in ties]
    )
    rows: Int64s | range = range(len(ticks))
    type_codes = found.type_codes
    if order is not None:
        rows, ticks, type_codes = order, ticks[order], type_codes[order]
        table = _reordered(table, order)
    if len(ticks):
        check_range(time, int(ticks[0]), int(ticks[-1]))
    if len(ticks) and int(ticks[0]) <= -MAX_TICKS:
        raise EventError(
            f"time column {time!r} has the time {ticks[0]}, the minimum of 64 bits; is it a "
            "placeholder?"
        )
    return Events(table, rows, ticks, axis, type_codes, found.type_names, events_schema)


def _read_one_table(source: object, read: ReadOptions, needed: NeededColumns | None) -> _Input:
    time, type, ties = read.time, read.type, read.tie_break
    if type is None:
        raise OptionError(
            "name the column that holds the event type, or give a table for each type: "
            "{'Shelf': table, 'Exit': table}"
        )
    table, columns = read_columns(source, needed, read.text_format())
    names = columns.names
    for role, name in (("time", time), ("type", type), *(("tie-break", tie) for tie in ties)):
        _require_column("the events have", names, role, name, source)
    refuse_other_encoding(source, type, columns)
    table = _one_chunk(table)
    codes, types = read_types(type, column_named(table, type))
    return _Input(table, columns, codes, types, None, "row {}".format)


def _read_table_per_type(
    source: Mapping[object, object], read: ReadOptions, needed: NeededColumns | None
) -> _Input:
    time, ties = read.time, read.tie_break
    tables: dict[str, pa.Table] = {}
    empty: dict[str, pa.Table] = {}
    for name, value in source.items():
        if not isinstance(name, str):
            raise EventError(f"the name of an event type is a string, not {name!r}")
        try:
            table, columns = read_columns(value, needed, read.text_format())
        except EventError as error:
            raise EventError(f"table {name!r}: {error}") from error
        for role, column in (("time", time), *(("tie-break", tie) for tie in ties)):
            _require_column(f"table {name!r} has", columns.names, role, column, value)
        tables[name] = _with_known_time(table, name, read)
        at = columns.names.index(time)
        columns = columns.set(at, tables[name].schema.field(time))
        empty[name] = empty_table(columns)
    _refuse_mixed_times(time, tables)
    all_columns = concat_tables(empty).schema
    lengths = [table.num_rows for table in tables.values()]
    first_rows = np.cumsum([0, *lengths])

    def place(row: int) -> str:
        index = int(np.searchsorted(first_rows, row, side="right")) - 1
        return f"row {row - first_rows[index]} of table {list(tables)[index]!r}"

    return _Input(
        _one_chunk(concat_tables(tables)),
        all_columns,
        np.repeat(np.arange(len(tables), dtype=np.int32), lengths),
        tuple(tables),
        {name: frozenset(table.column_names) for name, table in empty.items()},
        place,
    )


def _with_known_time(table: pa.Table, name: str, read: ReadOptions) -> pa.Table:
    """The table of a type with its time column parsed; without rows it is of any type."""
    index, time = table.column_names.index(read.time), read.time
    if not table.num_rows and pa.types.is_string(table.schema.field(index).type):
        return table.set_column(index, time, pa.nulls(0))

    def place(row: int) -> str:
        return f"row {row} of table {name!r}"

    return with_parsed_time(table, time, place, read.time_format)


def _require_column(
    subject: str, names: Sequence[str], role: str, name: str, source: object
) -> None:
    if name in names:
        return
    if not names:
        raise EventError(
            f"{subject} no columns at all, so no {role} column {name!r}; an empty list has no "
            "columns: give an empty table that has them"
        )
    shown = names[:MOST_COLUMNS_SHOWN]
    rest = len(names) - len(shown)
    listed = list_words([*shown, *([f"{rest} more"] if rest else [])])
    hint = hint_of_missing(source, names, name)
    hint = hint or did_you_mean(name, names) or _NAMING.get(role, "")
    raise EventError(f"{subject} no {role} column {name!r}; the columns are {listed}{hint}")


_NAMING = {
    "time": ". Name the column with the time: time='column' (--time COLUMN)",
    "type": ". Name the column with the type, type='column' (--type COLUMN), or give a table for "
    "each type: {'Shelf': table} (Shelf=FILE)",
}


def _refuse_mixed_times(time: str, tables: Mapping[str, pa.Table]) -> None:
    """Refuse tables with times that cannot be ordered together."""
    types = {name: table.schema.field(time).type for name, table in tables.items()}
    known = {name: t for name, t in types.items() if not pa.types.is_null(t)}
    kinds = {name: TimeAxis.of(time, arrow_type).kind for name, arrow_type in known.items()}
    for name, kind in kinds.items():
        first = next(iter(kinds))
        if kind != kinds[first]:
            raise EventError(
                f"mixed time types: column {time!r} is {known[first]} in table {first!r} "
                f"({kinds[first]}) but {known[name]} in table {name!r} ({kind}); "
                "convert one of them, so that the events can be ordered together"
            )


def _tie_array(name: str, column: pa.ChunkedArray, place: Callable[[int], str]) -> pa.Array:
    """A tie-break column in a form that can be compared; refuses nulls."""
    array = without_dictionary(one_array(column))
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
    missing = array.is_null(nan_is_null=True)
    if count := pc.sum(missing).as_py():
        first = pc.index(missing, True).as_py()
        raise EventError(
            f"tie-break column {name!r} is null in {count} of {len(array)} events, first in "
            f"{place(first)} (counting from 0), so events of equal time have no order"
        )
    try:
        pc.sort_indices(array[:0])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise EventError(
            f"tie-break column {name!r} is {array.type}, a type without an order"
        ) from error
    return array


def _reordered(table: pa.Table, order: Int64s) -> pa.Table:
    try:
        return table.take(from_numpy(order))
    except pa.ArrowNotImplementedError as error:
        raise EventError(
            "the events are not in time order, and one column cannot be reordered; "
            f"leave it out: {' '.join(str(error).split())}"
        ) from error


def _one_chunk(table: pa.Table) -> pa.Table:
    batches = table.to_batches()
    if len(batches) == 1:
        return pa.Table.from_batches(batches)
    table = table.combine_chunks()
    for index, column in enumerate(table.columns):
        if column.num_chunks > 1:  # More string data than 32-bit offsets can address.
            large = pa.large_string() if pa.types.is_string(column.type) else pa.large_binary()
            name = table.column_names[index]
            table = table.set_column(index, name, column.cast(large).combine_chunks())
    return table
