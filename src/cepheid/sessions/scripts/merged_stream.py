"""The stream that a query of a script reads: the input merged with composite events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.analysis.needs import attributes_named
from cepheid.analysis.scripts import ScriptQuery
from cepheid.errors import EventError
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.read_options import ReadOptions
from cepheid.events.sources.tables import concat_tables
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.bindings import WINDOW_END, bindings_from_rows
from cepheid.schema import PARTITION_INDEX, Kind, Schema, kind_of
from cepheid.sessions.scripts.composites import Composites, Unsettled

ANCHOR = "cepheid.anchor"
PLACE = "cepheid.place"
"""Columns that no schema has and no query sees: the position of an event in the input, and in the
stream of its query. A session retains them with its events."""

THE_EVENTS = "the events"


class MergedStream:
    """How the stream of a query is merged from the input and composite events of earlier queries.

    Args:
        number: the number of the query.
        queries: the queries of the script.
        raw: events with the columns of the input.
        made: the columns of the composite events of each earlier query.
        schema: the schema of the stream.
        read: how the input was read.
    """

    def __init__(
        self,
        number: int,
        queries: Sequence[ScriptQuery],
        raw: Events,
        made: Mapping[int, pa.Table],
        schema: Schema,
        read: ReadOptions,
    ) -> None:
        each = queries[number]
        self._time, self._type = read.time, read.type
        self._types = {ix: str(queries[ix].type_name) for ix in each.reads}
        assert schema.types is not None
        self._has = {ix: schema.types[name] for ix, name in self._types.items()}
        tables = {THE_EVENTS: raw.table.schema.empty_table()}
        for ix, name in self._types.items():
            columns = [column for column in made[ix].column_names if column in self._has[ix]]
            tables[f"{name} of query {ix + 1}"] = made[ix].select(columns)
        wanted = attributes_named(each.query)
        kept = [
            field.with_type(_no_times(raw).type) if field.name == read.time else field
            for field in concat_tables(tables).schema
            if wanted is None or field.name in {*wanted, read.time, read.type}
        ]
        self._columns = pa.schema(kept)
        known = [field for field in kept if schema.kind(field.name) is not Kind.UNKNOWN]
        kinds = {field.name: kind_of(field.type) for field in known}
        kinds = {name: kind for name, kind in kinds.items() if kind is not Kind.UNKNOWN}
        self._schema = replace(schema, attributes={**schema.attributes, **kinds})

    def merge(
        self, raw: Events, anchors: Int64s, composites: Mapping[int, Composites], queries: int
    ) -> tuple[Events, Int64s]:
        """The events of the input merged with composite events, and the anchors of all.

        ``queries`` is the number of queries of the script. The row of composite event n of query
        q is ``composite_row(n, q, queries)``.
        """
        made = [(ix, composites[ix]) for ix in self._types if len(composites[ix])]
        table = self._aligned(raw.table)
        names = (*raw.type_names, *dict.fromkeys(self._types.values()))
        if not made:
            merged = replace(raw, table=table, type_names=names, schema=self._schema)
            return merged, anchors
        axis = raw.time_axis
        tables = [self._table_of(ix, part, axis) for ix, part in made]
        ticks = np.concatenate([part.ticks for _, part in made])
        hooks = np.concatenate([part.anchors for _, part in made])
        rows = [composite_row(part.first + np.arange(len(part)), ix, queries) for ix, part in made]
        codes = [np.full(len(part), names.index(self._types[ix]), np.int32) for ix, part in made]
        order = _merged_order(raw.ticks, anchors, ticks, hooks)
        together = pa.concat_tables([table, *tables]).unify_dictionaries().combine_chunks()
        merged = Events(
            together.take(pa.array(order)),
            np.concatenate([raw.rows, *rows])[order],
            np.concatenate([raw.ticks, ticks])[order],
            axis,
            np.concatenate([raw.type_codes, *codes])[order],
            names,
            self._schema,
        )
        return merged, np.concatenate([anchors, hooks])[order]

    def _aligned(self, table: pa.Table) -> pa.Table:
        """The table with the columns of the stream; missing columns are null."""
        columns = []
        for field in self._columns:
            if field.name not in table.column_names:
                columns.append(pa.nulls(table.num_rows, field.type))
                continue
            column = table.column(field.name)
            try:
                columns.append(column if column.type == field.type else column.cast(field.type))
            except pa.ArrowException as error:
                raise EventError(
                    f"column {field.name!r} is {column.type}, and was {field.type} before: "
                    f"{' '.join(str(error).split())}"
                ) from None
        return pa.table(columns, schema=self._columns)

    def _table_of(self, ix: int, part: Composites, axis: TimeAxis) -> pa.Table:
        has = self._has[ix]
        table = part.table.select([name for name in part.table.column_names if name in has])
        for name, column in (
            (self._time, axis.decode(part.ticks, wide=True)),
            (self._type, pa.repeat(self._types[ix], len(part))),
        ):
            if name in table.column_names:
                table = table.drop_columns([name])
            if name is not None and name in has:
                table = table.append_column(name, column)
        return self._aligned(table)


def without_places(events: Events) -> Events:
    """The events without the columns with their places."""
    names = events.table.schema.names
    hidden = [name for name in (ANCHOR, PLACE, PARTITION_INDEX) if name in names]
    return replace(events, table=events.table.drop_columns(hidden)) if hidden else events


def composite_row(number: Int64s, query: int, queries: int) -> Int64s:
    """The row number of a composite event: negative, because it is not in the input."""
    rows: Int64s = -1 - (number * queries + query)
    return rows


def name_of_row(row: int, names: Sequence[str]) -> int | str:
    """The name of a row in results: its number, or the query and the number of its match.

    >>> name_of_row(7, ["Theft", "Alarm"]), name_of_row(-4, ["Theft", "Alarm"])
    (7, 'Alarm[1]')
    """
    if row >= 0:
        return int(row)
    number, query = divmod(-1 - int(row), len(names))
    return f"{names[query]}[{number}]"


def composite_columns(each: ScriptQuery, events: Events) -> pa.Table:
    """A table without rows, with the columns of the composite events of a query over these events.

    They depend on the query and the columns of the events, not on the values.
    """
    none: Int64s = np.empty(0, dtype=np.int64)
    empty = events.slice(0, 0)
    nothing = bindings_from_rows(each.query.pattern, [], [], [])
    return Unsettled.of(each.query, empty, nothing, none, none)[1].made.table


def kinds_made(columns: pa.Table, raw: Events, read: ReadOptions) -> dict[str, Kind]:
    """The kinds of the attributes of composite events with these columns."""
    kinds = {field.name: kind_of(field.type) for field in columns.schema}
    kinds[read.time] = kind_of(_no_times(raw).type)
    if read.type is not None and raw.schema.kind(read.type) is Kind.STRING:
        kinds[read.type] = Kind.STRING
    return kinds


def _no_times(raw: Events) -> pa.Array:
    return raw.time_axis.decode(np.empty(0, dtype=np.int64), wide=True)


def refuse_taken_types(queries: Sequence[ScriptQuery], events: Events) -> None:
    """Refuse events of the input with a type that the script makes and reads."""
    made = {each.type_name: number for number, each in enumerate(queries, 1) if each.is_read}
    for name in (*events.type_names, *(events.schema.types or ())) if made else ():
        if name in made:
            raise EventError(
                f"the events have a type '{name}', and query {made[name]} of the script makes it "
                f"too; give that one another name: RETURN {name}_found(…)"
            )


def _merged_order(ticks: Int64s, anchors: Int64s, made: Int64s, hooks: Int64s) -> Int64s:
    """The order of events of the input followed by a few composite events.

    ``ticks`` and ``anchors`` increase. Equal composite events keep their order.
    """
    among = np.lexsort((hooks, made))
    made, hooks = made[among], hooks[among]
    by_time = np.searchsorted(ticks, made, side="left")
    by_anchor = np.searchsorted(anchors, hooks, side="right")
    behind = np.where(hooks == WINDOW_END, by_time, by_anchor)
    order = np.empty(len(ticks) + len(made), dtype=np.int64)
    places = behind + np.arange(len(made))
    is_made = np.zeros(len(order), dtype=np.bool_)
    is_made[places] = True
    order[is_made] = len(ticks) + among
    order[~is_made] = np.arange(len(ticks))
    return order
