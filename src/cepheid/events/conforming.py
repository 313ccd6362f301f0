"""The columns of events in the types that are wanted: of a schema, or of earlier batches.

A session retains one table, and a query is analysed once. A batch that was read from a text file
or from plain Python may have columns in another order, an additional column, or integers
where earlier batches had floats. It is converted if nothing is lost, and refused otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError, did_you_mean
from cepheid.schema import Kind, Schema, kind_of

if TYPE_CHECKING:
    from cepheid.events.events import Events


# The Arrow type of a column without values, by its declared kind.
ARROW_TYPE = {
    Kind.INTEGER: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.DATE: pa.date32(),
    Kind.DURATION: pa.duration("us"),
    Kind.LIST: pa.list_(pa.float64()),
}
_ALIKE = ({Kind.INTEGER, Kind.FLOAT}, {Kind.DATE, Kind.TIMESTAMP})
"""Kinds with values that can be converted to each other."""


def schema_of_events(
    declared: Schema | None,
    found: pa.Schema,
    type_columns: Mapping[str, frozenset[str]] | None,
    always: Sequence[str],
) -> Schema:
    """The attributes of each type: the declared ones, and always time and type.

    ``type_columns`` are the columns of each type, or None if every type has every column.
    """
    columns = Schema.from_arrow(found)
    if declared is None:
        return columns if type_columns is None else replace(columns, types=type_columns)
    for type_name, attributes in (declared.types or {"": frozenset(declared.attributes)}).items():
        has = columns.attributes
        if type_columns is not None and type_name:
            has = dict.fromkeys(type_columns.get(type_name, columns.attributes), Kind.OTHER)
        for name in sorted(attributes - set(has)):
            raise EventError(
                f"{type_name or 'the schema'} declares attribute {name!r}, for which there is no "
                "column" + did_you_mean(name, has)
            )
    present = [name for name in always if name in columns.attributes]
    kinds = {name: columns.kind(name) for name in present} | {
        name: columns.kind(name) if kind is Kind.UNKNOWN else kind
        for name, kind in declared.attributes.items()
    }
    types = declared.types and {name: has | {*present} for name, has in declared.types.items()}
    return replace(declared, attributes=kinds, types=types, nested=columns.nested)


def with_kinds_of(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with its columns converted to the kinds in the schema."""
    for index, field in enumerate(table.schema):
        wanted, found = schema.kind(field.name), kind_of(field.type)
        if wanted in (Kind.UNKNOWN, found):
            continue
        is_wider = wanted is Kind.FLOAT and found is Kind.INTEGER
        if wanted not in ARROW_TYPE or not (is_wider or pa.types.is_null(field.type)):
            raise EventError(
                f"attribute {field.name!r} is declared as {wanted.value}, but its column is "
                f"{found.value} ({field.type})"
            )
        column = table.column(index).cast(ARROW_TYPE[wanted], safe=False)
        table = table.set_column(index, field.name, column)
    return table


def like_earlier(batch: Events, earlier: Events) -> Events:
    """The batch with the columns of the earlier ones, in the same types."""
    known = earlier.table.schema
    if batch.table.schema.equals(known):
        return batch
    table = table_like(batch.table, known, batch.time_axis.column)
    return replace(batch, table=table, time_axis=earlier.time_axis, schema=earlier.schema)


def late_kinds(batch: Events, earlier: Events) -> Schema | None:
    """The schema with the kinds of columns that had no values so far; None if nothing is new."""
    late = {
        field.name: batch.schema.kind(field.name)
        for field in earlier.table.schema
        if earlier.schema.kind(field.name) is Kind.UNKNOWN and arrow.is_null(field.type)
    }
    if all(kind is Kind.UNKNOWN for kind in late.values()):
        return None
    return replace(earlier.schema, attributes={**earlier.schema.attributes, **late})


def table_like(table: pa.Table, known: pa.Schema, time: str) -> pa.Table:
    """The table with the columns of the first batch of a session, in the same types."""
    columns = []
    for field in known:
        if field.name not in table.column_names:
            raise EventError(
                f"the batch has no column {field.name!r}, which the first batch of the session "
                "had; add it, with nulls where there are no values"
            )
        columns.append(_cast(table.column(field.name), field, is_time=field.name == time))
    return pa.Table.from_arrays(columns, names=known.names)


def _cast(column: pa.ChunkedArray, field: pa.Field, is_time: bool) -> pa.ChunkedArray:
    if column.type == field.type or arrow.is_null(field.type):
        return column
    kind, earlier = kind_of(column.type), kind_of(field.type)
    is_narrower = kind is Kind.FLOAT and earlier is Kind.INTEGER
    advice = (
        ", or declare it as 'float' with the schema of the session (--schema)"
        if is_narrower
        else ""
    )
    try:
        if is_time and not (arrow.is_integer(column.type) and arrow.is_integer(field.type)):
            raise pa.ArrowInvalid("all times of a session must have one type")
        # Strings are not parsed.
        both = {kind, earlier}
        if len(both - {Kind.UNKNOWN}) > 1 and not any(both <= alike for alike in _ALIKE):
            raise pa.ArrowInvalid("the two types are not compatible")
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EventError(
            f"column {field.name!r} is {column.type} in this batch, and was {field.type} in the "
            f"first batch of the session: {error}; cast it to one type in all batches"
            f"{advice}"
        ) from None
