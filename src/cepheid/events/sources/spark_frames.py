"""DataFrames of Spark, as far as they are known without pyspark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.errors import OptionError

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


def refuse_streams(events: Any) -> None:
    """Refuse streaming DataFrames, whose matches have no number."""
    frames = events.values() if isinstance(events, Mapping) else [events]
    if any(frame.isStreaming for frame in frames):
        raise OptionError(
            "a stream goes on, and so does the number of its matches; match(df) gives a streaming "
            "DataFrame of them, whose progress counts them when it is written"
        )
