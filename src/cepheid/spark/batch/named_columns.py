"""Columns of a DataFrame by their names, which may contain any characters.

Spark reads a dot in a name as access to a field of a struct, and ``mapInArrow`` refers to every
column by its name. So columns such as ``user.id``, which a flattened document has, are renamed on
their way to the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function that a worker applies to the batches of a partition."""


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
    if not any(mark in name for name in events.columns for mark in ".`"):
        return events.mapInArrow(run, result)
    numbered = (column(name).alias(f"c{ix}") for ix, name in enumerate(events.columns))
    return events.select(*numbered).mapInArrow(_Renaming(tuple(events.columns), run), result)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """Restores the names of the columns, then runs."""

    names: Sequence[str]
    run: Run

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.run(batch.rename_columns(list(self.names)) for batch in batches)
