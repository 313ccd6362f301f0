"""``MATCH_RECOGNIZE`` over a DataFrame as a Spark job.

Spark projects, partitions and sorts the rows. A worker has many partitions of the clause, and runs
it over all of them in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as arrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import DoubleType, FloatType, StructType

from cepheid.engines.base.evaluation import AUTO, REFERENCE
from cepheid.errors import EventError, did_you_mean, warn
from cepheid.events.read_options import tie_columns
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.schema import Schema
from cepheid.spark.batch.arrow_schemas import arrow_schema, spark_schema, spark_type
from cepheid.spark.batch.frames import column, map_in_arrow
from cepheid.spark.batch.preparation import orderable, refuse_doubles
from cepheid.spark.worker.row_worker import WorkerClause, sent_schema
from cepheid.spark.worker.worker_settings import Additions


def match(
    compiled: RowPatternQuery,
    events: DataFrame,
    *,
    tie_break: str | Sequence[str] | None = None,
    **keywords: Any,
) -> DataFrame:
    """The rows that a clause returns for a DataFrame, as a DataFrame.

    ``query.match(events)`` calls this if the events are a DataFrame. Nothing is computed before
    Spark is asked for rows. Rows are partitioned by PARTITION BY; without it one worker gets all
    rows.

    Rows of a DataFrame have no order: name the columns that order rows which are equal in ORDER BY
    in ``tie_break``. Without it such rows are ordered by their other columns that the clause
    names, or by all columns with ALL ROWS PER MATCH.

    Raises:
        OptionError: an option cannot be used.
        QuerySemanticError: the DataFrame does not have the columns, or their types do not fit.
    """
    refuse_doubles(events.schema)
    whole = arrow_schema(events.schema)
    result = result_schema(compiled, whole, keywords)
    clause = Binding(compiled.tree, Schema.from_arrow(whole)).clause
    columns = named_columns(clause, whole.names) or whole.names[:1]
    ties = known_ties(tie_break, whole.names) or orderable(events.schema, columns)
    keys = partition_columns(clause, events.schema)
    spread = events.repartition(*keys) if keys else events.repartition(1)
    order = [_sorted(events.schema, item) for item in clause.order_by]
    in_order = spread.sortWithinPartitions(*order, *map(column, ties))
    task = WorkerClause(
        str(compiled), keywords, sent_schema(result), Additions.used_by([clause], None)
    )
    selected, sent = in_order.select(*map(column, columns)), spark_schema(task.result_schema)
    found = map_in_arrow(selected, task, sent)
    return found if len(result) else found.select()


def count(compiled: RowPatternQuery, events: DataFrame, **keywords: Any) -> int:
    """The number of matches, empty ones included, counted by Spark."""
    read = {name: value for name, value in keywords.items() if name != "tie_break"}
    result_schema(compiled, arrow_schema(events.schema), read)  # Reports faults of measures.
    tree = replace(compiled.tree, rows=rows.Rows.ONE, measures=())
    return match(RowPatternQuery(tree, str(compiled)), events, **keywords).count()


def result_schema(
    compiled: RowPatternQuery, whole: pa.Schema, keywords: Mapping[str, Any]
) -> pa.Schema:
    """The columns of the result: those for a table without rows, with Spark's types."""
    # The reference compiles nothing, so that a DataFrame is made immediately.
    evaluation = keywords.get("evaluation", AUTO)
    keywords = {**keywords, "evaluation": REFERENCE if evaluation == AUTO else evaluation}
    found = compiled.match(whole.empty_table(), **keywords).arrow_schema
    schema = Schema.from_arrow(whole)
    binding = Binding(compiled.tree, schema)
    types = {field.name: field.type for field in found}
    for measure, kind in zip(binding.clause.measures, binding.measure_kinds, strict=True):
        if arrow.is_null(types[measure.name.text]):
            # Without rows, a computed list or struct has no type: it has that of a column.
            read = (node for node in measure.expression.walk() if isinstance(node, rows.Column))
            same = [node.name.text for node in read if schema.kind(node.name.text) is kind]
            types[measure.name.text] = whole.field(same[0]).type if same else pa.null()
    return pa.schema([(name, spark_type(each)) for name, each in types.items()])


def partition_columns(clause: rows.Clause, schema: StructType) -> list[Column]:
    """The columns of PARTITION BY, by which Spark divides the rows; a warning if there are none."""
    if not clause.partition_by:
        warn(
            "all rows go to one worker, because MATCH_RECOGNIZE has no PARTITION BY to divide "
            "them among several"
        )
    return [comparable(schema, name.text) for name in clause.partition_by]


def known_ties(given: str | Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """The columns of ``tie_break``, which the DataFrame must have."""
    ties = list(tie_columns(given))
    for name in ties:
        if name not in names:
            raise EventError(f"there is no tie-break column {name!r}" + did_you_mean(name, names))
    return ties


def comparable(schema: StructType, name: str) -> Column:
    """A column that Spark compares as the clause does: NaN is null, and there is one zero."""
    value = column(name)
    if isinstance(schema[name].dataType, FloatType | DoubleType):
        value = value.cast("double")
        return F.when(~F.isnan(value), value + F.lit(0.0))
    return value


def _sorted(schema: StructType, item: rows.SortItem) -> Column:
    value = comparable(schema, item.column.text)
    if item.is_ascending:
        return value.asc_nulls_first() if item.nulls_first else value.asc_nulls_last()
    return value.desc_nulls_first() if item.nulls_first else value.desc_nulls_last()
