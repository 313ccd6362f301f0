"""Results as text: values in JSON, and tables with columns that CSV supports."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as arrow

from cepheid.events.columns.arrow_arrays import in_microseconds


def plain(value: Any) -> Any:
    """A value in JSON: times in ISO 8601, durations in seconds, NaN as null.

    >>> plain({"at": datetime(2024, 5, 1, 9, 30), "after": timedelta(minutes=2), "x": [1.5, None]})
    {'at': '2024-05-01T09:30:00', 'after': 120.0, 'x': [1.5, None]}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case dict():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes():
            return value.hex()
    return str(value)


def flat(table: pa.Table) -> pa.Table:
    """The table with column types that CSV supports; nested values become JSON."""
    for index, field in enumerate(table.schema):
        column, kind = table.column(index), field.type
        if arrow.is_nested(kind):
            values = map(plain, python_values(column))
            texts = [None if value is None else json.dumps(value) for value in values]
            column = pa.array(texts, pa.string())
        elif arrow.is_duration(kind):
            column = pa.array(map(plain, python_values(column)), pa.float64())
        elif arrow.is_binary(kind) or arrow.is_large_binary(kind) or arrow.is_null(kind):
            column = pa.array(map(plain, column.to_pylist()), pa.string())
        elif arrow.is_dictionary(kind):
            column = column.cast(kind.value_type)
        table = table.set_column(index, field.name, column)
    return table


def dicts(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as dicts with values of Python's own types.

    >>> dicts(pa.table({"x": [1, 2]}))
    [{'x': 1}, {'x': 2}]
    """
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns)]  # noqa: B905


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values of Python's own types: times to the microsecond, also inside lists and structs.

    For nanoseconds, Arrow would return pandas types, and fail if pandas is not installed.

    >>> python_values(pa.array([1_500], pa.duration("ns")))
    [datetime.timedelta(microseconds=1)]
    """
    values: list[Any] = in_microseconds(column).to_pylist()
    return values
