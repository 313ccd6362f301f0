"""Queries over Spark DataFrames, streaming or not.

``query.match(frame)`` is all that most programs need; it calls :func:`match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from cepheid.errors import OptionError
from cepheid.events.sources.spark_frames import refuse_streams
from cepheid.spark.batch import batch, row_patterns
from cepheid.spark.batch import rules as batch_rules
from cepheid.spark.batch.explain import explain
from cepheid.spark.batch.typed import typed
from cepheid.spark.faults import fault_of
from cepheid.spark.files.data_source import register_source
from cepheid.spark.files.files import match_files
from cepheid.spark.pattern_sql import sql
from cepheid.spark.statements import create_view, register
from cepheid.spark.stream import row_patterns as row_streams
from cepheid.spark.stream import rules as rule_streams
from cepheid.spark.stream import streaming
from cepheid.spark.stream.checkpoints import check_checkpoint, start
from cepheid.spark.stream.monitoring import (
    MetricsListener,
    StreamMetrics,
    prometheus_text,
    rule_metrics,
    stream_metrics,
)
from cepheid.spark.table_function import create_function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.api import CompiledQuery
    from cepheid.row_patterns.query import RowPatternQuery
    from cepheid.rule_sets.rule_set import RuleSet
    from cepheid.scripts import CompiledScript

__all__ = [
    "MetricsListener",
    "StreamMetrics",
    "check_checkpoint",
    "count_rows",
    "create_function",
    "create_view",
    "explain",
    "fault_of",
    "match",
    "match_files",
    "match_rows",
    "match_rules",
    "match_script",
    "prometheus_text",
    "register",
    "register_source",
    "rule_metrics",
    "sql",
    "start",
    "stream_metrics",
    "typed",
]


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


def match_rows(
    query: RowPatternQuery, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame:
    """The rows that ``MATCH_RECOGNIZE`` returns for a DataFrame; ``query.match`` calls it.

    For the keywords see :func:`cepheid.spark.batch.row_patterns.match`, and for a streaming
    DataFrame :func:`cepheid.spark.stream.row_patterns.match`.
    """
    frame = _one_table(events)
    if frame.isStreaming:
        return row_streams.match(query, frame, **keywords)
    return row_patterns.match(query, frame, **keywords)


def count_rows(
    query: RowPatternQuery, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> int:
    """The number of matches of ``MATCH_RECOGNIZE`` in a DataFrame; ``query.count`` calls it."""
    refuse_streams(events)
    return row_patterns.count(query, _one_table(events), **keywords)


def match_rules(
    rules: RuleSet, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame:
    """The matches of a set of rules over a DataFrame; ``rules.match`` calls it.

    For the keywords see :func:`cepheid.spark.batch.rules.match`, and for a streaming DataFrame
    :func:`cepheid.spark.stream.rules.match`.
    """
    frames = list(events.values()) if isinstance(events, Mapping) else [events]
    if any(frame.isStreaming for frame in frames):
        return rule_streams.match(rules, events, **keywords)
    return batch_rules.match(rules, events, **keywords)


def _one_table(events: DataFrame | Mapping[str, DataFrame]) -> DataFrame:
    if isinstance(events, Mapping):
        raise OptionError(
            "MATCH_RECOGNIZE runs over one DataFrame, not over one for each event type"
        )
    return events
