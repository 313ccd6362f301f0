"""A script over a streaming DataFrame: one stateful operator that runs all of its queries.

A bucket of the stream runs the whole script over its keys. So all queries must be about the same
key, and composite events must have it: one of another key would be in another bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError, list_words
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.batch.script_preparation import PreparedScript, loses_key, prepare_script
from cepheid.spark.stream.bucketed_stream import LATE_EVENT, StreamOptions, bucketed
from cepheid.spark.stream.streaming import no_session
from cepheid.spark.worker.script_worker import QUERY, column_of


def match(
    compiled: CompiledScript,
    events: DataFrame,
    *,
    time: str = "ts",
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
    """The matches of all queries of a script over a streaming DataFrame, as one.

    One operator runs the script, and what it gives is one DataFrame: ``query`` is the name of the
    query that a row is a match of, and the column of that name has the match, which is null in
    the rows of the others. Keywords are those of :func:`cepheid.spark.stream.streaming.match`.

    Raises:
        OptionError: the queries have no key in common, or an option cannot be used.
    """
    prepared = prepare_script(
        compiled,
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
    if not prepared.has_session:
        raise no_session(evaluation)
    _refuse_without_key(compiled, prepared)
    _refuse_names(prepared)
    running = StreamOptions(lateness, late, metrics)
    found = bucketed(
        events,
        settings,
        rows=None,
        key=prepared.key,
        columns=prepared.columns,
        made_by={
            "script": settings.text,
            **{name: settings.keywords[name] for name in ("output", "time", "type", "tie_break")},
        },
        options=running,
    )
    names = F.array(*map(F.lit, prepared.names))
    return found.select(
        F.get(names, F.col(QUERY)).alias(QUERY),
        *(F.col(column_of(number)).alias(name) for number, name in enumerate(prepared.names)),
        *([MATCH_ID] if match_id else []),
        *([LATE_EVENT] if running.emits_late else []),
    )


def _refuse_without_key(compiled: CompiledScript, prepared: PreparedScript) -> None:
    if prepared.keys:
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
        losing = [
            f"{name!r} makes composite events without {list_words(lost)}"
            for name, tree in compiled.queries.items()
            if (lost := [f"{key} = ….{key}" for key in sorted(common) if loses_key(tree, key)])
        ]
        reason = list_words(losing)
    raise OptionError(
        "a script over a stream needs one equivalence test, such as [id], that all its queries "
        f"have and that composite events take over as it is (id = a.id): {reason}. Write the "
        "composite events of one stream to a table or topic, and read them as another stream"
    )


def _refuse_names(prepared: PreparedScript) -> None:
    """Names of queries are names of columns here, and to Spark case does not matter."""
    taken = {QUERY: QUERY, MATCH_ID: MATCH_ID, LATE_EVENT: LATE_EVENT}
    for name in prepared.names:
        other = taken.setdefault(name.lower(), name)
        if other is not name:
            raise OptionError(
                f"a query is called {name!r}, and so is the column {other!r} of the result; "
                "call what it makes otherwise"
            )
