"""The settings that the state of a stream depends on, and the comparison with a checkpoint.

A stream that continued from the state of another query would give wrong answers. The operator
refuses it in the first micro-batch; :func:`start` and :func:`check_checkpoint` do so before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.api import CompiledQuery
from cepheid.errors import OptionError, SnapshotError
from cepheid.language.printer import print_window
from cepheid.matches.modes.mode import ALL
from cepheid.scripts import CompiledScript
from cepheid.snapshots import VERSION
from cepheid.spark.batch.frames import one_frame
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.stream.made_by import COLUMNS, LEAST_GAP, QUERY, SCRIPT, UNIT, refuse_changes
from cepheid.spark.stream.packing import BUCKET, GUARD

_OF_A_RUN = ("match_id", "metrics", "lateness", "in_order", "idle_timeout", "late")
"""The keywords of ``match`` on which the state does not depend."""
_NEW = "STDS_COMMITTED_BATCH_UNAVAILABLE"
_OPERATOR = "transformWithState"
_ALIAS = re.compile(r"\bcepheid_[0-9a-f]{32}\b")
_STATEFUL = re.compile(r"\b(?:Deduplicate|DeduplicateWithinWatermark|Aggregate|Join)\b")
_REUSE = "spark.sql.exchange.reuse"
_MADE_BY: dict[str, Mapping[str, Any]] = {}
"""The settings of the streams of this process, by the alias that their DataFrames have in plans."""

Write = Callable[[DataFrame, int], None]


def named(matches: DataFrame, settings: Mapping[str, Any]) -> DataFrame:
    """The matches of a stream, so that :func:`start` knows the settings that its state has."""
    name = f"cepheid_{uuid4().hex}"
    _MADE_BY[name] = json.loads(json.dumps(settings))  # as a checkpoint has them
    return matches.alias(name)


def start(
    matches: DataFrame,
    checkpoint: str | Path,
    to: str | Path | Write | None = None,
    *,
    format: str = "parquet",
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Start a stream of matches, unless its checkpoint is of another stream.

    It is ``matches.writeStream…start()``, and reads the checkpoint before: a changed query, other
    columns or another number of partitions are errors now, and not when the first events come. The
    stream may have several queries, as a union, and other stateful operators. A query that only
    returns others of its columns, or writes its window in another unit, continues the state.

    Args:
        matches: a streaming DataFrame made of results of ``match``.
        checkpoint: the folder for the state.
        to: a folder, or a function that gets each micro-batch and its number.
        format: the format of files or of another sink.
        trigger: the keywords of Spark's ``trigger``, such as ``{"availableNow": True}``.
        name: the name of the streaming query.
        options: further options of the sink.

    Raises:
        SnapshotError: the checkpoint belongs to another stream; the message says what differs.

    Example::

        matches = q.match(readings, lateness="10 minutes")
        running = cep.spark.start(matches, "state/", "thefts/", trigger={"availableNow": True})
    """
    plan = _plan_of(matches)
    names = list(dict.fromkeys(_ALIAS.findall(plan)))
    if not matches.isStreaming or not names:
        raise OptionError(
            "start is for a streaming DataFrame that q.match, script.match or rules.match returned"
        )
    if len(names) > 1 and _STATEFUL.search(plan) and _reuses(matches.sparkSession):
        raise OptionError(
            "several queries read the result of another stateful operator, which Spark would run "
            "once, and then no time would pass for the second query: set "
            f"spark.conf.set({_REUSE!r}, 'false'), or run the queries as one script or set of rules"
        )
    place = str(checkpoint)
    stored = _all_stored(matches.sparkSession, place)
    if any(stored) and len(stored) != len(names):
        raise SnapshotError(
            f"the checkpoint has the states of {len(stored)} queries, and the stream has "
            f"{len(names)}; start anew with another checkpointLocation"
        )
    for then, each in zip(stored, names, strict=False):
        if then is not None:  # None: no event of this query has come yet
            refuse_changes(then, _MADE_BY[each])
    writer = matches.writeStream.option("checkpointLocation", place).options(**(options or {}))
    if callable(to):
        writer = writer.foreachBatch(to)
    else:
        writer = writer.format(format)
        writer = writer if to is None else writer.option("path", str(to))
    writer = writer if trigger is None else writer.trigger(**trigger)
    return (writer if name is None else writer.queryName(name)).start()


def check_checkpoint(
    compiled: CompiledQuery | CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    checkpoint: str | Path,
    *,
    operator: int = 0,
    **keywords: Any,
) -> None:
    """Refuse the checkpoint of another query, columns or number of partitions, before a start.

    Without it, a stream with a changed query starts, and fails when the first events come. A
    checkpoint that does not exist yet is right. The state is read by a small Spark job.

    Args:
        compiled: the query or the script.
        events: the streaming DataFrame, or one for each event type.
        checkpoint: the ``checkpointLocation`` of the stream.
        operator: the number of the query's operator in the stream, if it has several.
        keywords: as for ``query.match``.

    Raises:
        SnapshotError: the checkpoint belongs to another stream; the message says what differs.

    Example::

        cep.spark.check_checkpoint(q, readings, "state/", tie_break="offset")
        q.match(readings, tie_break="offset", lateness="1 minute").writeStream…
    """
    if not isinstance(compiled, CompiledQuery | CompiledScript):
        raise OptionError(
            "check_checkpoint is for SASE+ queries and scripts; a stream of MATCH_RECOGNIZE "
            "rejects the checkpoint of another stream in its first micro-batch with data"
        )
    frame, keywords = one_frame(events, keywords)
    kept = {name: value for name, value in keywords.items() if name not in _OF_A_RUN}
    prepared = prepare(compiled, frame.schema, **kept)
    then = _stored(frame.sparkSession, str(checkpoint), operator)
    if then is not None:
        refuse_changes(then, made_by(prepared, frame))


def made_by(prepared: Prepared, events: DataFrame) -> dict[str, Any]:
    """The settings that the state of a stream depends on, by their names in error messages.

    A checkpoint stores them: changing a name or a value here makes older checkpoints unreadable.
    """
    settings = prepared.settings
    read, ties = settings.run.read, list(settings.run.read.tie_break)
    said, gap = read.uncertain, settings.run.requested.at_most_once_per
    return {
        SCRIPT if settings.is_script else QUERY: settings.text,
        "output": settings.run.requested.output or ALL.name,
        **({} if gap is None else {LEAST_GAP: print_window(gap)}),
        **({"timed_out": True} if settings.run.requested.timed_out else {}),
        "time": read.time,
        "type": read.type,
        "tie_break": (ties or None) if settings.is_script else ties,
        **({} if said is None else {"uncertain time": said.describe()}),
        **of_every_state(prepared.key, events, settings.columns),
    }


def of_every_state(
    key: Sequence[Column], events: DataFrame, columns: Sequence[str]
) -> dict[str, Any]:
    """The settings on which every state depends, whatever query made it."""
    schema = events.schema
    return {
        COLUMNS: [f"{name} {schema[name].dataType.simpleString()}" for name in columns],
        "spark.sql.shuffle.partitions": buckets_of(key, events),
        "version of the state": VERSION,
        UNIT: "microseconds",
    }


def buckets_of(key: Sequence[Column], events: DataFrame) -> int:
    """The number of buckets of a stream: one for each partition, or one if there is no key."""
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    return partitions if key else 1


def _plan_of(frame: DataFrame) -> str:
    """The plan of a DataFrame as text, with its aliases."""
    classic = getattr(frame, "_jdf", None)
    if classic is not None:
        return str(classic.queryExecution().analyzed().toString())
    shown: str = frame._explain_string(extended=True)  # type: ignore[operator]  # Spark Connect
    return shown.partition("== Optimized Logical Plan ==")[0]


def _reuses(spark: SparkSession) -> bool:
    """Whether Spark runs equal parts of a plan once; the watermark of the others is then lost."""
    return str(spark.conf.get(_REUSE)).lower() == "true"


def _all_stored(spark: SparkSession, checkpoint: str) -> list[dict[str, Any] | None]:
    """The settings of all queries of the stream that wrote a checkpoint, in their order.

    They are None for a query that has received no event.
    """
    operators = spark.read.format("state-metadata").load(checkpoint)  # no rows if there is none
    rows = operators.where(F.col("operatorName").startswith(_OPERATOR)).collect()
    numbers = sorted({int(row["operatorId"]) for row in rows})
    return [_stored(spark, checkpoint, number) for number in numbers]


def _stored(spark: SparkSession, checkpoint: str, operator: int) -> dict[str, Any] | None:
    """The settings of the stream that wrote a checkpoint; None if nothing was written yet."""
    reader = spark.read.format("statestore").options(stateVarName=BUCKET, operatorId=operator)
    try:
        heads = reader.load(checkpoint)
    except PySparkException as error:
        if error.getCondition() == _NEW:
            return None
        raise
    guard = heads.where(F.col(f"key.{BUCKET}") == GUARD).select("value.made_by").first()
    stored: dict[str, Any] | None = None if guard is None else json.loads(guard[0])
    return stored
