"""``MATCH_RECOGNIZE`` over a streaming DataFrame: a streaming DataFrame of its rows.

The stream is divided into buckets by PARTITION BY, as for SASE+ queries
(:mod:`cepheid.spark.stream.streaming`); a bucket runs the session of the clause over its
partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from cepheid.errors import warn
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.streams.bounds import UNBOUNDED, is_unbounded
from cepheid.schema import Schema
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.preparation import orderable, refuse_doubles
from cepheid.spark.batch.row_patterns import known_ties, partition_columns, result_schema
from cepheid.spark.stream.checkpoints import of_every_state
from cepheid.spark.stream.streaming import StreamTask, bucketed, check_stream
from cepheid.spark.stream.timing_options import RequestedTiming, with_timing
from cepheid.spark.worker.row_worker import ROW, RowWorkerSettings, sent_schema
from cepheid.spark.worker.worker_settings import Additions


def match(
    compiled: RowPatternQuery,
    events: DataFrame,
    *,
    match_id: bool = True,
    metrics: str = "cepheid",
    lateness: str | None = None,
    late: str = "drop",
    tie_break: str | Sequence[str] | None = None,
    **keywords: Any,
) -> DataFrame:
    """The rows that a clause returns for a streaming DataFrame, to be written in append mode.

    ``query.match(events)`` calls this if the DataFrame is streaming. The first column of ORDER BY
    is the time of a row, a timestamp. The result has the columns of the local one and ``match_id``,
    which is the same for the same match in every run, and null in the row of no match.

    Args:
        compiled: the clause.
        events: a streaming DataFrame.
        match_id: whether the result has the column ``match_id``.
        metrics: the name under which the progress of the stream counts ``matches``, which are rows
            of the result, and late rows.
        lateness: as for SASE+ queries (:func:`cepheid.spark.stream.streaming.match`), and so are
            ``in_order`` and ``idle_timeout``.
        late: how later rows are handled: ``drop`` or ``emit``.
        tie_break: the columns that order rows which are equal in ORDER BY; by default all others
            that the clause needs.
        keywords: as for ``query.match``.

    Raises:
        OptionError: an option cannot be used, or Spark is not configured for it.
        QuerySemanticError: the clause has no answer over a stream, or the DataFrame does not have
            its columns.
    """
    compiled.refuse_stream()
    said = RequestedTiming(
        lateness, keywords.pop("in_order", False), keywords.pop("idle_timeout", None)
    )
    keywords["match_id"] = match_id
    refuse_doubles(events.schema)
    whole = arrow_schema(events.schema)
    result = result_schema(compiled, whole, keywords)
    clause = Binding(compiled.tree, Schema.from_arrow(whole)).clause
    columns = named_columns(clause, whole.names)
    first, *others = clause.order_by
    time, ordered_by = first.column.text, [(each.column.text, each.nulls_first) for each in others]
    ties = known_ties(tie_break, whole.names)
    columns += [name for name in ties if name not in columns]
    other_ties = ties or [name for name in orderable(events.schema, columns) if name != time]
    key = partition_columns(clause, events.schema)
    if is_unbounded(clause):
        warn(UNBOUNDED)
    settings = RowWorkerSettings(
        str(compiled),
        keywords,
        sent_schema(result),
        Additions.used_by([clause], None),
        time,
        tuple(ordered_by),
        tuple(other_ties),
        tuple(columns),
    )
    check_stream(events, time, late)
    made_by = {
        "query": settings.text,
        "match_id": match_id,
        "tie_break": ties,
        **of_every_state(key, events, columns),
    }
    marked, timing = with_timing(events, time, clause.within is not None, said)
    task = StreamTask(settings, key, None, made_by)
    found = bucketed(task, marked, timing, late == "emit", metrics)
    return found if len(result) else found.drop(ROW)
