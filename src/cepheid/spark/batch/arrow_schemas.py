"""The schemas of events and of results, between Spark and Arrow, and what is known of them."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from cepheid.analysis.model import AnalysedQuery
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name, item_names
from cepheid.matches.bindings import bindings_from_rows
from cepheid.matches.projection import project

MATCH_ID = "match_id"
"""The column with the unique id of a match, if it is requested."""

_PLAIN = (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)
# The name of the argument depends on the version of Spark.
_IN_UTC = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of the batches of a DataFrame; timestamps are in UTC."""
    return to_arrow_schema(schema, **_IN_UTC)  # type: ignore[arg-type]


def spark_schema(schema: pa.Schema, never_null: Collection[str] = ()) -> StructType:
    """The schema of a DataFrame that is made of such batches.

    Spark converts columns that are never null to rows faster.

    >>> schema = spark_schema(pa.schema([("start", pa.int64()), ("x", pa.int64())]), {"start"})
    >>> [(field.name, field.dataType.simpleString(), field.nullable) for field in schema]
    [('start', 'bigint', False), ('x', 'bigint', True)]
    """
    fields = [field.with_nullable(field.name not in never_null) for field in schema]
    return from_arrow_schema(pa.schema(fields))


def never_null(query: AnalysedQuery, time: str, timed_out: bool = False) -> frozenset[str]:
    """The columns of the result that have a value in every match, at least the times.

    An event without a time is refused. The time of a variable is missing if the match belongs to
    another alternative of an OR, or if it is partial.
    """
    others = {"start", "end", "confidence", "timed_out", MATCH_ID} - {*item_names(query.query)}
    return frozenset(others | (set() if timed_out else _returned_times(query, time).keys()))


def _returned_times(query: AnalysedQuery, time: str) -> dict[str, str]:
    """The columns of RETURN that have the time of a variable in every match, with the variable."""
    tree, schema = query.query, query.schema
    if tree.returns is None or schema is None or len(query.alternatives) > 1:
        return {}
    types = {each.variable: each.types for each, _ in ast.components(tree.pattern)}
    return {
        item_name(item, tree): item.expression.variable
        for item in tree.returns.items
        if isinstance(item.expression, ast.Attribute)
        and item.expression.attribute == time
        and all(schema.has_attribute(name, time) for name in types[item.expression.variable])
    }


def repeated_columns(query: AnalysedQuery, result: pa.Schema, time: str) -> dict[str, str]:
    """The columns of a result that equal another one in every match, with that other column.

    Workers do not send them, because sending a result costs more than finding it. A match starts
    with its first event and ends with its last, so ``RETURN a.ts, …`` of a sequence that begins
    with ``a`` has the start twice. One of the two is sent, and Spark shows it under both names.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.schema import Kind, Schema
    >>> text = "PATTERN SEQ(A a, B b, C c) RETURN a.ts AS first, b.ts AS second"
    >>> schema = Schema({"ts": Kind.INTEGER}, None)
    >>> columns = pa.schema([(name, pa.int64()) for name in ("start", "end", "first", "second")])
    >>> repeated_columns(analyse(parse(text), schema, text, "query"), columns, "ts")
    {'start': 'first'}
    """
    first, *others = query.alternatives
    if others or not first.is_sequence or {"start", "end"} & {*item_names(query.query)}:
        return {}
    column_of = {variable: name for name, variable in _returned_times(query, time).items()}
    same = {"start": column_of.get(first.components[0].variable)}
    if not first.waits:
        same["end"] = column_of.get(first.components[-1].variable)
    return {
        name: other
        for name, other in same.items()
        if other is not None and result.field(name).type == result.field(other).type
    }


def plain_columns(schema: StructType) -> list[str]:
    """The columns that Spark compares in the same way as the language.

    They do not include strings with a collation, nor decimals, which the language converts to
    other numbers, nor timestamps.
    """
    return [
        field.name
        for field in schema.fields
        if isinstance(field.dataType, _PLAIN)
        or (isinstance(field.dataType, StringType) and field.dataType == StringType())
    ]


def result_schema(
    query: ast.Query, events: Events, has_confidence: bool = False, timed_out: bool = False
) -> pa.Schema:
    """The columns of a query's matches over such events: as in a local run, with Spark's types.

    With ``has_confidence``, each match has a confidence; with ``timed_out``, some are partial.

    >>> from cepheid.language.parser import parse
    >>> from cepheid.events.events import order_events
    >>> events = order_events({"ts": [1], "type": ["A"]})
    >>> result_schema(parse("PATTERN A+ a[] RETURN a.LEN AS n"), events).names
    ['start', 'end', 'n']
    """
    nothing = bindings_from_rows(query.pattern, (), (), ())
    nothing = replace(nothing, confidences=np.empty(0)) if has_confidence else nothing
    nothing = replace(nothing, timed_out=np.empty(0, np.bool_)) if timed_out else nothing
    fields = project(query, events, nothing).schema
    return pa.schema([field.with_type(spark_type(field.type)) for field in fields])


def spark_type(kind: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has: Spark counts microseconds and has no dictionaries."""
    if arrow.is_dictionary(kind):
        return spark_type(kind.value_type)
    if arrow.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if arrow.is_duration(kind):
        return pa.duration("us")
    if arrow.is_large_string(kind) or arrow.is_string_view(kind):
        return pa.string()
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if arrow.is_struct(kind):
        return pa.struct([field.with_type(spark_type(field.type)) for field in kind])
    return kind
