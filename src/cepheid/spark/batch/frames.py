"""DataFrames of events: one for all event types, and columns with names of any characters.

Spark reads a dot in a name as access to a field of a struct, and ``mapInArrow`` refers to every
column by its name. So columns such as ``user.id``, which a flattened document has, are renamed on
their way to the workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.errors import OptionError
from cepheid.spark.worker.own_errors import own_errors

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"

Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function that a worker applies to the batches of a partition."""


def use_whole_batches(spark: SparkSession) -> None:
    """Have Spark send whole batches to workers, unless the user has said how large they may be.

    To limit a batch in bytes, Spark computes its size after each row, which takes a quarter of the
    time of a job. The limit of 10,000 rows remains.
    """
    if _BATCH_BYTES not in spark.conf.getAll:
        with suppress(PySparkException):  # A declarative pipeline forbids it.
            spark.conf.set(_BATCH_BYTES, str(2**31 - 1))


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """PySpark warns of the version of pandas wherever Arrow is used; cepheid uses no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


def quoted(name: str) -> str:
    """The name of a column as Spark reads it.

    >>> quoted("user.id")
    '`user.id`'
    """
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """A column by its name."""
    return F.col(quoted(name))


def map_in_arrow(events: DataFrame, run: Run, result: StructType | str) -> DataFrame:
    """``events.mapInArrow(run, result)`` that also supports names that Spark would misread."""
    use_whole_batches(events.sparkSession)
    with without_pandas_warning():
        return _map_in_arrow(events, run, result)


def _map_in_arrow(events: DataFrame, run: Run, result: StructType | str) -> DataFrame:
    def reporting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with own_errors():
            yield from run(batches)

    if not any(mark in name for name in events.columns for mark in ".`"):
        return events.mapInArrow(reporting, result)
    names = events.columns
    numbered = (column(name).alias(f"c{ix}") for ix, name in enumerate(names))

    def renamed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return reporting(batch.rename_columns(names) for batch in batches)

    return events.select(*numbered).mapInArrow(renamed, result)


def one_frame(
    events: DataFrame | Mapping[str, DataFrame], keywords: Mapping[str, Any]
) -> tuple[DataFrame, dict[str, Any]]:
    """All events in one DataFrame, and the keywords of ``match`` for it.

    DataFrames for each type are combined with a type column, and a schema that says which columns
    each type has.
    """
    if not isinstance(events, Mapping):
        return events, dict(keywords)
    type = keywords.get("type") or "type"
    for name, table in events.items():
        if type in table.columns:
            raise OptionError(
                f"table {name!r} has a column {type!r}, in which the type of an event is kept "
                "when the tables are joined; name another one with type="
            )
    named = [table.withColumn(type, F.lit(name)) for name, table in events.items()]
    joined = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)
    columns = {name: table.columns for name, table in events.items()}
    schema = keywords.get("schema")
    return joined, {**keywords, "type": type, "schema": columns if schema is None else schema}
