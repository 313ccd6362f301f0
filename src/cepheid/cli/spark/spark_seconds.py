"""Durations in text output of Spark: in seconds, as everywhere on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_UNITS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


def in_seconds(matches: DataFrame) -> DataFrame:
    """The matches with all durations in seconds, including those inside events and lists."""
    columns = [
        _seconds(matches[f"`{field.name}`"], field.dataType).alias(field.name)
        for field in matches.schema.fields
    ]
    return matches.select(*columns)


def _seconds(value: Column, kind: DataType) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
    from pyspark.sql.types import ArrayType, DayTimeIntervalType, StructType

    if isinstance(kind, DayTimeIntervalType):
        whole = value.cast("interval day to second")
        parts = [F.extract(F.lit(unit), whole) * count for unit, count in _UNITS.items()]
        return (parts[0] + parts[1] + parts[2] + parts[3]).cast("double")
    if not _has_duration(kind):
        return value
    if isinstance(kind, ArrayType):
        inner = kind.elementType
        return F.transform(value, lambda item: _seconds(item, inner))
    assert isinstance(kind, StructType)
    fields = [
        _seconds(value.getField(field.name), field.dataType).alias(field.name)
        for field in kind.fields
    ]
    return F.when(value.isNotNull(), F.struct(*fields))


def _has_duration(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, DayTimeIntervalType, StructType

    if isinstance(kind, ArrayType):
        return _has_duration(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_duration(field.dataType) for field in kind.fields)
    return isinstance(kind, DayTimeIntervalType)
