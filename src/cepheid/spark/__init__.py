"""Queries over Spark DataFrames, streaming or not.

``query.match(frame)`` is all that most programs need; it calls :func:`match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from cepheid.spark.batch import batch
from cepheid.spark.files.files import match_files
from cepheid.spark.statements import create_view, register
from cepheid.spark.stream import streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.api import CompiledQuery
    from cepheid.scripts import CompiledScript

__all__ = ["create_view", "match", "match_files", "match_script", "register"]


@overload
def match(
    compiled: CompiledQuery, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame: ...


@overload
def match(
    compiled: CompiledScript, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> dict[str, DataFrame] | DataFrame: ...


def match(
    compiled: CompiledQuery | CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    **keywords: Any,
) -> dict[str, DataFrame] | DataFrame:
    """The matches of a query or a script over a DataFrame; ``query.match`` calls it.

    The matches of a query are a DataFrame. The matches of a script are a DataFrame for each query,
    by its name, or one for all queries if the input is streaming. For the keywords see
    :func:`cepheid.spark.batch.batch.match`, and for a streaming DataFrame
    :func:`cepheid.spark.stream.streaming.match`.
    """
    frames = list(events.values()) if isinstance(events, Mapping) else [events]
    if any(frame.isStreaming for frame in frames):
        return streaming.match(compiled, events, **keywords)
    return batch.match(compiled, events, **keywords)


def match_script(
    script: CompiledScript, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> dict[str, DataFrame] | DataFrame:
    """The matches of a script over a DataFrame: the same as :func:`match`."""
    return match(script, events, **keywords)
