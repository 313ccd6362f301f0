"""DataFrames of Spark, as far as they are known without pyspark."""

from __future__ import annotations

from collections.abc import Mapping

SPARK = "cepheid.spark"
"""What runs queries over DataFrames. It is built on ``cepheid.api`` and needs pyspark, so that it
is loaded by its name, and only when there is a DataFrame: whoever has one has pyspark."""


def are_spark_frames(events: object) -> bool:
    """Whether these are a DataFrame of Spark, or one for each type, without loading pyspark.

    >>> are_spark_frames({"ts": [1], "type": ["A"]})
    False
    """
    if isinstance(events, Mapping):
        return bool(events) and all(map(are_spark_frames, events.values()))
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(events).__mro__
    )
