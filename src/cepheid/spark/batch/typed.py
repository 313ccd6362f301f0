"""The matches of one rule with the types of its columns, from the common result of all rules.

The common result has the values of a match as JSON. It also knows the columns of the events, in the
metadata of a column, which Spark keeps in tables and Parquet files. The types of what a rule
returns follow from them.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from cepheid.errors import OptionError
from cepheid.events.read_options import ReadOptions
from cepheid.rule_sets.rule_set import RuleSet
from cepheid.spark.batch.arrow_schemas import spark_schema
from cepheid.spark.batch.fitting_rules import FittingRule
from cepheid.spark.batch.frames import column

_EVENTS = "cepheid.events"
_VALUES = "values"
_SECONDS = DecimalType(18, 6)
"""How the common result has durations."""


def with_events(found: DataFrame, events: StructType, read: ReadOptions) -> DataFrame:
    """The common result, which knows the columns of the events."""
    said = {"time": read.time, "type": read.type, "time_unit": read.time_unit}
    known = {name: value for name, value in said.items() if value is not None}
    metadata = {_EVENTS: {"schema": events.json(), "read": known}}
    return found.withMetadata(_VALUES, metadata)


def typed(rules: RuleSet, found: DataFrame, name: str) -> DataFrame:
    """The matches of one rule with the columns and types that its query returns alone.

    ``rules.typed(found, name)`` calls this. ``found`` is the result of ``rules.match``, or rows of
    it that were written to a table and read again. The first column is ``match_id``.

    Raises:
        KeyError: there is no such rule.
        OptionError: the DataFrame is not the result of a set of rules.
    """
    rules[name]
    known = _known(found)
    schema = StructType.fromJson(json.loads(known["schema"]))
    rule = FittingRule.of(rules.compiled[name], schema, dict(known["read"]))
    result = spark_schema(rule.result)
    own = rule.values
    stored = StructType([StructField(field, _in_json(result[field].dataType)) for field in own])
    parsed = F.from_json(column(_VALUES), stored, {"mode": "FAILFAST"})
    rows = found.filter((F.col("rule") == F.lit(name)) & F.col("fault").isNull())
    rows = rows.withColumn(_VALUES, parsed) if own else rows
    columns = [
        _restored(column(_VALUES).getField(field.name), field.dataType)
        if field.name in own
        else column(field.name).cast(field.dataType)
        for field in result
    ]
    shown = [each.alias(field.name) for each, field in zip(columns, result, strict=True)]
    return rows.select("match_id", *shown)


def _known(found: DataFrame) -> dict[str, Any]:
    fields = {field.name: field for field in found.schema.fields}
    known = (fields[_VALUES].metadata or {}).get(_EVENTS) if _VALUES in fields else None
    if known is None:
        raise OptionError(
            "the DataFrame is not the result of a set of rules: its column 'values' does not know "
            "the columns of the events"
        )
    found_here: dict[str, Any] = known
    return found_here


def _in_json(kind: DataType) -> DataType:
    """The type as which JSON is read."""
    if isinstance(kind, DayTimeIntervalType):
        return _SECONDS
    if isinstance(kind, ArrayType):
        return ArrayType(_in_json(kind.elementType))
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, _in_json(each.dataType)) for each in kind])
    if isinstance(kind, MapType):
        if not isinstance(kind.keyType, StringType):
            raise OptionError(f"a map with keys of type {kind.keyType.simpleString()} has no JSON")
        return MapType(kind.keyType, _in_json(kind.valueType))
    return kind


def _restored(value: Column, kind: DataType) -> Column:
    """A value that was read from JSON, with its type."""
    if _in_json(kind) == kind:
        return value
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda each: _restored(each, kind.elementType))
    if isinstance(kind, MapType):
        return F.transform_values(value, lambda _, each: _restored(each, kind.valueType))
    if isinstance(kind, StructType):
        fields = [
            _restored(value.getField(each.name), each.dataType).alias(each.name) for each in kind
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    none = F.lit(0)
    return F.make_dt_interval(none, none, none, value)
