"""A query over a streaming DataFrame: a streaming DataFrame of its matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from cepheid.api import CompiledQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.batch.tables_per_type import one_frame
from cepheid.spark.stream.bucketed_stream import StreamOptions, bucketed


def match(
    query: CompiledQuery,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    time: str | tuple[str, str] = "ts",
    type: str | None = "type",
    tie_break: str | Sequence[str] | None = None,
    evaluation: str = AUTO,
    output: str = "all",
    time_unit: str | None = None,
    schema: Any = None,
    match_id: bool = True,
    metrics: str = "cepheid",
    lateness: str | None = None,
    late: str = "drop",
    **options: Any,
) -> DataFrame:
    """The matches of a query over a streaming DataFrame, to be written in append mode.

    It is what ``query.match(events)`` does with a streaming DataFrame. The result has the columns
    of the local one and ``match_id``, which is the same for the same match whenever it is found.

    Args:
        query: the query.
        events: a streaming DataFrame, or one for each event type.
        time: the column with the time of an event, a timestamp; or two, with the earliest and
            the latest.
        type: the column with its type.
        tie_break: the column or columns that order events of equal time; their other columns
            do without it.
        evaluation: ``auto`` or the name of an evaluation that has sessions.
        output: ``all`` or ``non_overlapping``.
        time_unit: of no use, since the time is a timestamp.
        schema: the attributes of each type, where not every type has every column.
        match_id: whether the result has the column ``match_id``.
        metrics: under which name the progress of the stream counts matches and late events; two
            queries in one stream need two.
        lateness: how far an event may be behind the latest one, such as ``10 minutes``; not with
            a DataFrame that has a watermark.
        late: what becomes of an event that is later than that: ``drop`` counts it in the
            progress of the stream, ``emit`` also gives a row with the event in ``late_event``.
        options: those of the evaluation, as for ``query.match``.

    Raises:
        OptionError: an option cannot be used, or Spark is not set up for it.
    """
    if isinstance(events, Mapping):
        events, columns = one_frame(events, type or "type")
        type, schema = type or "type", columns if schema is None else schema
    prepared = prepare(
        query,
        events.schema,
        time=time,
        type=type,
        tie_break=tie_break,
        evaluation=evaluation,
        output=output,
        time_unit=time_unit,
        declared=schema,
        match_id=match_id,
        options=options,
    )
    settings = prepared.settings
    said = settings.uncertain
    if said is not None and said.upper is not None and said.probabilities is not None:
        raise OptionError(
            f"over a stream probabilities={said.probabilities!r} cannot go with the columns "
            f"{settings.time!r} and {said.upper!r}, since an event could begin much later than its "
            "watermark says; give the time in one column, and uncertainty="
        )
    if not prepared.has_session:
        raise no_session(settings.evaluation)
    return bucketed(
        events,
        settings,
        rows=prepared.rows,
        key=prepared.key,
        columns=prepared.columns,
        made_by={
            "query": settings.text,
            "output": settings.output,
            "time": settings.time,
            "type": settings.type,
            "tie_break": list(settings.tie_break),
            **({} if said is None else {"uncertain time": said.describe()}),
        },
        options=StreamOptions(lateness, late, metrics),
    )


def no_session(evaluation: str) -> OptionError:
    """That an evaluation cannot be fed in batches."""
    return OptionError(
        f"a stream is not run by {evaluation}, which needs all events at once; 'explain' tells "
        "why no other evaluation runs the query"
    )
