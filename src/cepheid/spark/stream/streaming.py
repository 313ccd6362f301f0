"""A query or a script over a streaming DataFrame: a streaming DataFrame of its matches.

One stateful operator runs all queries of a script, and a bucket of the stream runs the whole
script over its keys. So all queries must have the same key, and composite events must have it too:
one with another key would belong to another bucket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.api import CompiledQuery
from cepheid.errors import OptionError, list_words
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.batch.preparation import Prepared, loses_key, prepare
from cepheid.spark.batch.tables_per_type import one_frame
from cepheid.spark.stream.bucketed_stream import LATE_EVENT, StreamOptions, bucketed
from cepheid.spark.worker.worker_session import QUERY, column_of


def match(
    compiled: CompiledQuery | CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    match_id: bool = True,
    metrics: str = "cepheid",
    lateness: str | None = None,
    late: str = "drop",
    **keywords: Any,
) -> DataFrame:
    """The matches of a query over a streaming DataFrame, to be written in append mode.

    ``query.match(events)`` calls this if the DataFrame is streaming. The result has the columns
    of the local one and ``match_id``, which is the same for the same match in every run.

    The result of a script is one DataFrame with the matches of all queries: ``query`` is the name
    of the query, and the column of that name has the match. It is null in the rows of the other
    queries.

    Args:
        compiled: the query or the script.
        events: a streaming DataFrame, or one for each event type. The time column is a timestamp.
        match_id: whether the result has the column ``match_id``.
        metrics: the name under which the progress of the stream counts matches and late events;
            two queries in one stream need two names.
        lateness: how far an event may be behind the latest one, such as ``10 minutes``; not with
            a DataFrame that has a watermark.
        late: how later events are handled: ``drop`` counts them in the progress of the stream,
            ``emit`` also gives a row with the event in ``late_event``.
        keywords: as for ``query.match``; the evaluation must have sessions.

    Raises:
        OptionError: an option cannot be used, the queries of a script have no key in common, or
            Spark is not configured for it.
    """
    frame, keywords = one_frame(events, keywords)
    prepared = prepare(compiled, frame.schema, match_id=match_id, **keywords)
    options = StreamOptions(lateness, late, metrics)
    _refuse_intervals_with_probabilities(prepared)
    if not prepared.has_session:
        _refuse_without_session(prepared)
    if not prepared.settings.is_script:
        return bucketed(prepared, frame, made_by(prepared), options)
    _refuse_without_key(prepared)
    _refuse_names(prepared)
    found = bucketed(prepared, frame, made_by(prepared), options)
    names = F.array(*map(F.lit, prepared.names))
    return found.select(
        F.get(names, F.col(QUERY)).alias(QUERY),
        *(F.col(column_of(number)).alias(name) for number, name in enumerate(prepared.names)),
        *([MATCH_ID] if match_id else []),
        *([LATE_EVENT] if options.emits_late else []),
    )


def made_by(prepared: Prepared) -> dict[str, Any]:
    """The settings that the state of a stream depends on, by their names in error messages.

    A checkpoint stores them: changing a name or a value here makes older checkpoints unreadable.
    """
    settings = prepared.settings
    read, ties = settings.run.read, list(settings.run.read.tie_break)
    said = read.uncertain
    return {
        "script" if settings.is_script else "query": settings.text,
        "output": settings.run.output,
        "time": read.time,
        "type": read.type,
        "tie_break": (ties or None) if settings.is_script else ties,
        **({} if said is None else {"uncertain time": said.describe()}),
    }


def _refuse_intervals_with_probabilities(prepared: Prepared) -> None:
    read = prepared.settings.run.read
    said = read.uncertain
    if said is not None and said.upper is not None and said.probabilities is not None:
        raise OptionError(
            f"over a stream probabilities={said.probabilities!r} cannot be used with the columns "
            f"{read.time!r} and {said.upper!r}, because an event could begin much later than its "
            "watermark says; give the time in one column, and uncertainty="
        )


def _refuse_without_session(prepared: Prepared) -> None:
    names = [each.evaluation.name for each in prepared.planned if not each.evaluation.has_session]
    raise OptionError(
        f"{names[0]} cannot run a stream, because it needs all events in one call; 'explain' tells "
        "why no other evaluation runs the query"
    )


def _refuse_without_key(prepared: Prepared) -> None:
    if prepared.common_keys:
        return
    without = [repr(name) for name, tests in prepared.tests.items() if not tests]
    common = set.intersection(*map(set, prepared.tests.values()))
    if without:
        reason = f"{list_words(without)} {'has' if len(without) == 1 else 'have'} none"
    elif not common:
        reason = "there are " + list_words(
            [f"[{', '.join(tests)}] in {name!r}" for name, tests in prepared.tests.items()]
        )
    else:
        queries = {each.each.name: each.each.query for each in prepared.planned}
        losing = [
            f"{name!r} makes composite events without {list_words(lost)}"
            for name, tree in queries.items()
            if (lost := [f"{key} = ….{key}" for key in sorted(common) if loses_key(tree, key)])
        ]
        reason = list_words(losing)
    raise OptionError(
        "a script over a stream needs one equivalence test, such as [id], that all its queries "
        f"have and that composite events copy unchanged (id = a.id): {reason}. Write the "
        "composite events of one stream to a table or topic, and read them as another stream"
    )


def _refuse_names(prepared: Prepared) -> None:
    """Refuse queries with equal names: they are names of columns, in which Spark ignores case."""
    taken = {QUERY: QUERY, MATCH_ID: MATCH_ID, LATE_EVENT: LATE_EVENT}
    for name in prepared.names:
        other = taken.setdefault(name.lower(), name)
        if other is not name:
            raise OptionError(
                f"a query is called {name!r}, and so is the column {other!r} of the result; "
                "rename the type that it makes"
            )
