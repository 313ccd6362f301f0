"""The settings that the state of a stream depends on, and the comparison with a checkpoint.

A stream that continued from the state of another query would give wrong answers. The operator
refuses it in the first micro-batch with data; :func:`check_checkpoint` does so before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.api import CompiledQuery
from cepheid.errors import OptionError
from cepheid.language.printer import print_window
from cepheid.matches.modes.mode import ALL
from cepheid.scripts import CompiledScript
from cepheid.snapshots import VERSION
from cepheid.spark.batch.frames import one_frame
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.stream.bucket_store import UNIT, refuse_changes
from cepheid.spark.stream.packing import BUCKET, GUARD

_OF_A_RUN = ("match_id", "metrics", "lateness", "in_order", "idle_timeout", "late")
"""The keywords of ``match`` on which the state does not depend."""
_NEW = "STDS_COMMITTED_BATCH_UNAVAILABLE"


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
    said, gap = read.uncertain, settings.run.said.at_most_once_per
    return {
        "script" if settings.is_script else "query": settings.text,
        "output": settings.run.said.output or ALL.name,
        **({} if gap is None else {"at_most_once_per": print_window(gap)}),
        **({"timed_out": True} if settings.run.said.timed_out else {}),
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
        "columns": [f"{name} {schema[name].dataType.simpleString()}" for name in columns],
        "spark.sql.shuffle.partitions": buckets_of(key, events),
        "version of the state": VERSION,
        UNIT: "microseconds",
    }


def buckets_of(key: Sequence[Column], events: DataFrame) -> int:
    """The number of buckets of a stream: one for each partition, or one if there is no key."""
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    return partitions if key else 1


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
