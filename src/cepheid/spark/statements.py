"""Queries in SQL: a table function for any query, and views for large inputs.

The table function reads and returns rows one by one, because that is how Spark calls a function if
its columns depend on its arguments. It is about fifty times slower than ``q.match(frame)``, with
the same matches. A view is ``q.match(frame)`` under a name, and as fast.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.types import StructType
from pyspark.sql.udtf import (
    AnalyzeArgument,
    AnalyzeResult,
    OrderingColumn,
    PartitioningColumn,
    SelectedColumn,
)

from cepheid.api import CompiledQuery
from cepheid.api import sase_query as compile_query
from cepheid.errors import OptionError, warn
from cepheid.matches.shapes.flat import python_values
from cepheid.sessions.division.keys import equivalence_keys
from cepheid.spark.batch.batch import match
from cepheid.spark.batch.frames import quoted
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.worker.own_errors import own_errors
from cepheid.spark.worker.partition_run import FEED_ROWS, run_partition
from cepheid.spark.worker.worker_settings import WorkerSettings

BUCKETS = 64
"""The number of function calls among which the keys of a query are partitioned."""


def register(spark: SparkSession, name: str = "cep_match") -> None:
    """Register the table function that SQL calls for the matches of a query.

    ``SELECT * FROM cep_match(TABLE(events), 'PATTERN …')`` has the columns of ``q.match``;
    ``time``, ``type``, ``tie_break`` (comma-separated), ``output`` and ``time_unit`` are named
    arguments. The function determines how the table is partitioned and ordered, so the call has
    no PARTITION BY and no ORDER BY.

    It is for exploration, and a warning says so once: Spark calls it row by row, which is about
    fifty times as slow as :func:`cepheid.spark.create_function`.

    Example::

        cep.spark.register(spark)
        spark.sql("SELECT * FROM cep_match(TABLE(events), 'PATTERN SEQ(A a, B b) WHERE [id]')")
    """
    _say_that_it_is_slow(name)
    function = F.udtf(_CepMatch, useArrow=True)
    spark.udtf.register(name, function)  # type: ignore[arg-type]


def create_view(
    spark: SparkSession, name: str, query: CompiledQuery | str, table: str, **keywords: Any
) -> DataFrame:
    """Create a temporary view of the matches of a query over a table or view.

    Nothing is computed before the view is read. It is as fast as ``q.match``, and takes the same
    keywords.

    Example::

        cep.spark.create_view(spark, "thefts", q, "readings", slices=8)
        spark.sql("SELECT item, count(*) FROM thefts GROUP BY item")
    """
    compiled = compile_query(query) if isinstance(query, str) else query
    matches = match(compiled, spark.table(table), **keywords)
    assert not isinstance(matches, dict)  # as for a script
    matches.createOrReplaceTempView(name)
    return matches


@cache
def _say_that_it_is_slow(name: str) -> None:
    warn(
        f"{name} is for exploration: Spark calls it row by row, about fifty times as slow as "
        "cepheid.spark.create_function and create_view"
    )


@dataclass
class _Understood(AnalyzeResult):
    """The result of analysing the call, for the workers."""

    settings: bytes = b""
    columns: StructType = field(default_factory=StructType)


class _CepMatch:
    """The table function: rows are collected, matched as columns, and returned as rows."""

    def __init__(self, understood: _Understood) -> None:
        self._settings: WorkerSettings = pickle.loads(understood.settings)
        self._columns = understood.columns
        self._rows: list[Row] = []
        self._tables: list[Any] = []

    @staticmethod
    def analyze(
        table: AnalyzeArgument,
        query: AnalyzeArgument,
        time: AnalyzeArgument | None = None,
        type: AnalyzeArgument | None = None,
        tie_break: AnalyzeArgument | None = None,
        output: AnalyzeArgument | None = None,
        time_unit: AnalyzeArgument | None = None,
    ) -> AnalyzeResult:
        """The columns of the result, and the partitioning and order of the table."""
        if not table.isTable or not isinstance(table.dataType, StructType):
            raise OptionError(
                "the first argument is a table: cep_match(TABLE(events), 'PATTERN …')"
            )
        text = _constant("query", query)
        if text is None:
            raise OptionError("the second argument is the text of a query")
        ties = _constant("tie_break", tie_break)
        prepared = prepare(
            compile_query(text),
            table.dataType,
            time=_constant("time", time) or "ts",
            type=_constant("type", type) or "type",
            tie_break=[name.strip() for name in ties.split(",")] if ties else None,
            output=_constant("output", output),
            time_unit=_constant("time_unit", time_unit),
        )
        keys = equivalence_keys(prepared.query)
        bucket = f"pmod(hash({', '.join(map(quoted, keys))}), {BUCKETS})" if keys else "0"
        return _Understood(
            schema=prepared.result,
            partitionBy=[PartitioningColumn(bucket)],
            orderBy=[
                OrderingColumn(quoted(name))
                for name in (prepared.settings.time, *prepared.settings.ties)
            ],
            select=[SelectedColumn(quoted(name)) for name in prepared.settings.columns],
            settings=pickle.dumps(prepared.settings),
            columns=StructType([table.dataType[name] for name in prepared.settings.columns]),
        )

    def eval(self, table: Row, *_arguments: Any, **_keywords: Any) -> None:
        """Take one row."""
        self._rows.append(table)
        if len(self._rows) >= FEED_ROWS:
            self._gather()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The matches of the rows of one bucket."""
        self._gather()
        batches = [batch for table in self._tables for batch in table.to_batches()]
        with own_errors():
            for found in run_partition(self._settings, batches):
                yield from zip(*(python_values(column) for column in found.columns), strict=True)

    def _gather(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._tables.append(LocalDataToArrowConversion.convert(rows, self._columns, False))


def _constant(name: str, argument: AnalyzeArgument | None) -> str | None:
    if argument is None:
        return None
    if not argument.isConstantExpression or not isinstance(argument.value, str):
        raise OptionError(f"{name} must be a constant string")
    return argument.value
