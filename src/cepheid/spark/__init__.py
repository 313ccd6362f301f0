"""Queries over Spark DataFrames, streaming or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cepheid.spark import batch, streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.api import CompiledQuery

__all__ = ["match"]


def match(query: CompiledQuery, events: DataFrame, **keywords: Any) -> DataFrame:
    """The matches of a query over a DataFrame, as a DataFrame: what ``query.match`` does with one.

    For the keywords see :func:`cepheid.spark.batch.match`, and of a streaming DataFrame
    :func:`cepheid.spark.streaming.match`.
    """
    over = streaming.match if events.isStreaming else batch.match
    return over(query, events, **keywords)
