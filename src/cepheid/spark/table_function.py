"""A query as a table function of SQL that reads and returns Arrow batches.

Its columns are fixed when it is created, so Spark can hand whole batches to it; the columns of
``cep_match`` depend on its arguments, and Spark calls it row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as arrow
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.api import CompiledQuery, sase_query
from cepheid.errors import OptionError, list_words
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.frames import use_whole_batches, without_pandas_warning
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.worker.own_errors import own_errors
from cepheid.spark.worker.partition_run import run_partition


def create_function(
    spark: SparkSession,
    name: str,
    query: CompiledQuery | str,
    schema: StructType | str,
    *,
    match_id: bool = False,
    **keywords: Any,
) -> None:
    """Register a table function of SQL that finds the matches of a query. It needs Spark 4.1.

    The function has the columns of ``query.match``. A call sees the rows of one partition:
    ``PARTITION BY`` must not separate events of a match, and ``WITH SINGLE PARTITION`` gives all
    rows to one call. Events of equal time are in the order of ``ORDER BY``, or of ``tie_break``.

    Args:
        spark: the session.
        name: the name of the function.
        query: the query, or its text.
        schema: the columns of the tables that the function will read, as a Spark schema or in DDL;
            tables may have more columns.
        match_id: as for ``query.match``.
        keywords: as for ``query.match``.

    Example::

        cep.spark.create_function(spark, "thefts", theft, spark.table("readings").schema)
        spark.sql("SELECT * FROM thefts(TABLE(readings) PARTITION BY tag_id ORDER BY ts)")

    Raises:
        OptionError: an option cannot be used, or Spark is too old.
    """
    if not hasattr(F, "arrow_udtf"):
        raise OptionError("create_function needs Spark 4.1 or later; create_view needs 4.0")
    compiled = sase_query(query) if isinstance(query, str) else query
    columns = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    if not isinstance(columns, StructType):
        raise OptionError(f"schema is that of a table, such as 'ts timestamp', not {schema!r}")
    prepared = prepare(compiled, columns, match_id=match_id, **keywords)
    # A whole table is sorted where it is read, so a call without ORDER BY is right too.
    settings = replace(prepared.settings, has_session=False)
    whole, result = arrow_schema(columns), arrow_schema(prepared.result)
    declared = pa.schema([whole.field(each) for each in settings.columns])

    class Matches:
        """The rows of a partition are collected, and matched together."""

        def __init__(self) -> None:
            self._batches: list[pa.RecordBatch] = []

        def eval(self, table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            with own_errors():
                self._batches.append(declared_columns(name, table, declared))
            yield from ()

        def terminate(self) -> Iterator[pa.Table]:
            # Spark writes all batches with one schema, that of the function to the letter.
            with own_errors():
                for found in run_partition(settings, self._batches):
                    yield pa.Table.from_batches([found]).cast(result)

    use_whole_batches(spark)
    with without_pandas_warning():
        function = F.arrow_udtf(Matches, returnType=prepared.result)
        spark.udtf.register(name, function)  # type: ignore[arg-type]


def declared_columns(name: str, batch: pa.RecordBatch, declared: pa.Schema) -> pa.RecordBatch:
    """The declared columns of a batch.

    Raises:
        OptionError: the table does not have them, or has other types.
    """
    found = {field.name: _without_zone(field.type) for field in batch.schema}
    wrong = [
        f"{field.name} ({found.get(field.name, 'missing')})"
        for field in declared
        if found.get(field.name) != _without_zone(field.type)
    ]
    if wrong:
        raise OptionError(
            f"{name} was created for other columns than the table has: {list_words(wrong)}; "
            "create it with the schema of the table"
        )
    return batch.select(declared.names)


def _without_zone(kind: pa.DataType) -> pa.DataType:
    """The type with one zone for all times that have one: that of the session means nothing."""
    if arrow.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return kind
