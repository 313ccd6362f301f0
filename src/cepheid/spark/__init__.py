"""Queries over Spark DataFrames, streaming or not.

``query.match(frame)`` is all that most programs need; it calls :func:`match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cepheid.spark.batch import batch, script_batch
from cepheid.spark.batch.tables_per_type import one_frame
from cepheid.spark.files.files import match_files
from cepheid.spark.statements import create_view, register
from cepheid.spark.stream import script_streaming, streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.api import CompiledQuery
    from cepheid.scripts import CompiledScript

__all__ = ["create_view", "match", "match_files", "match_script", "register"]


def match(
    query: CompiledQuery, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame:
    """The matches of a query over a DataFrame, as a DataFrame: what ``query.match`` does with one.

    For the keywords see :func:`cepheid.spark.batch.batch.match`, and of a streaming DataFrame
    :func:`cepheid.spark.stream.streaming.match`.
    """
    frames = list(events.values()) if isinstance(events, Mapping) else [events]
    over = streaming.match if any(frame.isStreaming for frame in frames) else batch.match
    return over(query, events, **keywords)


def match_script(
    script: CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    type: str | None = "type",
    schema: Any = None,
    **keywords: Any,
) -> dict[str, DataFrame] | DataFrame:
    """The matches of a script over a DataFrame: what ``script.match`` does with one.

    A DataFrame for each query, by its name; of a streaming DataFrame one for all of them. For the
    keywords see :func:`cepheid.spark.batch.script_batch.match` and
    :func:`cepheid.spark.stream.script_streaming.match`.
    """
    if isinstance(events, Mapping):
        events, columns = one_frame(events, type or "type")
        type, schema = type or "type", columns if schema is None else schema
    over = script_streaming.match if events.isStreaming else script_batch.match
    return over(script, events, type=type, schema=schema, **keywords)
