"""Queries over Spark DataFrames, streaming or not.

``query.match(frame)`` is all that most programs need; it calls :func:`match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cepheid.spark import batch, streaming
from cepheid.spark.sql import create_view, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.api import CompiledQuery

__all__ = ["create_view", "match", "register"]


def match(
    query: CompiledQuery, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame:
    """The matches of a query over a DataFrame, as a DataFrame: what ``query.match`` does with one.

    For the keywords see :func:`cepheid.spark.batch.match`, and of a streaming DataFrame
    :func:`cepheid.spark.streaming.match`.
    """
    frames = list(events.values()) if isinstance(events, Mapping) else [events]
    over = streaming.match if any(frame.isStreaming for frame in frames) else batch.match
    return over(query, events, **keywords)
