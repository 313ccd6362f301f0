"""Results as counted plain values, so that those of Spark and of local runs can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812


def plain(value: Any) -> Any:
    """A value that can be compared and counted; NaN is null, as the language has it."""
    if isinstance(value, Row):
        return plain(value.asDict())
    if isinstance(value, dict):
        return tuple((name, plain(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(plain, value))
    return None if value != value else value


def spark_rows(frame: DataFrame) -> Counter[Any]:
    """How often each row comes."""
    return Counter(map(plain, frame.collect()))


def local_rows(table: pa.Table) -> Counter[Any]:
    """How often each row comes."""
    return Counter(map(plain, table.to_pylist()))


def found_together(frames: Sequence[DataFrame]) -> list[Counter[Any]]:
    """The rows of each frame, by one job: a job for each would take most of the time."""
    texts = [
        frame.select(
            F.lit(number).alias("frame"),
            F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"),
        )
        for number, frame in enumerate(frames)
    ]
    found: list[Counter[Any]] = [Counter() for _ in frames]
    for row in reduce(DataFrame.unionAll, texts).collect():
        found[row["frame"]][plain(json.loads(row["row"]))] += 1
    return found
