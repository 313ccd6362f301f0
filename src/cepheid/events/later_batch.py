"""Later batches of a stream with the columns of the first batch.

A session retains one table, and a query is analysed once. A batch that was read from a text file
or from plain Python may have columns in another order, an additional column, or whole numbers
where earlier batches had floats. It is converted if nothing is lost, and refused otherwise.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError
from cepheid.events.events import Events
from cepheid.schema import Kind, kind_of

_ALIKE = ({Kind.INTEGER, Kind.FLOAT}, {Kind.DATE, Kind.TIMESTAMP})


def like_earlier(batch: Events, earlier: Events) -> Events:
    """The batch with the columns of the earlier ones, in the same types."""
    known, given = earlier.table.schema, batch.table.schema
    if given.equals(known):
        return batch
    columns = []
    for field in known:
        if field.name not in given.names:
            raise EventError(
                f"the batch has no column {field.name!r}, which the first batch of the session "
                "had; add it, with nulls where there are no values"
            )
        columns.append(_cast(batch, field))
    table = pa.Table.from_arrays(columns, names=known.names)
    return replace(batch, table=table, time_axis=earlier.time_axis, schema=earlier.schema)


def _cast(batch: Events, field: pa.Field) -> pa.ChunkedArray:
    column, name = batch.table.column(field.name), field.name
    if column.type == field.type or arrow.is_null(field.type):
        return column
    is_time = name == batch.time_axis.column
    try:
        if is_time and not (arrow.is_integer(column.type) and arrow.is_integer(field.type)):
            raise pa.ArrowInvalid("all times of a session must have one type")
        if not _are_alike(kind_of(column.type), kind_of(field.type)):
            raise pa.ArrowInvalid("the two types are not compatible")
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EventError(
            f"column {name!r} is {column.type} in this batch, and was {field.type} in the first "
            f"batch of the session: {error}; cast it to one type in all batches"
            f"{_advice(column, field)}"
        ) from None


def _advice(column: pa.ChunkedArray, field: pa.Field) -> str:
    if kind_of(column.type) is Kind.FLOAT and kind_of(field.type) is Kind.INTEGER:
        return ", or declare it as 'float' with the schema of the session"
    return ""


def _are_alike(kind: Kind, earlier: Kind) -> bool:
    """Whether values of one kind can be converted to the other; strings are not parsed."""
    both = {kind, earlier}
    return len(both - {Kind.UNKNOWN}) < 2 or any(both <= alike for alike in _ALIKE)
