"""Spark DataFrames, recognised without importing pyspark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.errors import OptionError

SPARK = "cepheid.spark"
"""The package that runs queries over DataFrames. It needs ``cepheid.api`` and pyspark, so it is
imported by name, and only when there is a DataFrame."""


def are_spark_frames(events: object) -> bool:
    """Whether these are a Spark DataFrame, or one for each type, without importing pyspark.

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
    """Refuse streaming DataFrames, which have no final count of matches."""
    frames = events.values() if isinstance(events, Mapping) else [events]
    if any(frame.isStreaming for frame in frames):
        raise OptionError(
            "a stream does not end, so its matches have no final count; match(df) gives a "
            "streaming DataFrame of them, and its progress counts them as they are written"
        )
