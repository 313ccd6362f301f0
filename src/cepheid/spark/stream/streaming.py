"""A query or a script over a streaming DataFrame: a streaming DataFrame of its matches.

The stream is divided into buckets, and the state is their sessions. Spark filters and projects;
gives each row the number of its bucket; packs the rows of a bucket
(:mod:`cepheid.spark.stream.packing`); advances the buckets (:mod:`.bucket_operator`); and unpacks
the answers.

One stateful operator runs all queries of a script, and a bucket of the stream runs the whole
script over its keys. So all queries must have the same key, and composite events must have it too:
one with another key would belong to another bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from cepheid.api import CompiledQuery
from cepheid.errors import EvaluationError, OptionError, list_words
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID, arrow_schema, spark_schema
from cepheid.spark.batch.frames import (
    column,
    map_in_arrow,
    one_frame,
    without_pandas_warning,
)
from cepheid.spark.batch.preparation import Prepared, begins_out_of_order, loses_key, prepare
from cepheid.spark.batch.script_columns import LATE_EVENT, named_columns, refuse_equal_names
from cepheid.spark.stream.bucket import BucketSettings
from cepheid.spark.stream.bucket_operator import ANSWERS, BucketOperator
from cepheid.spark.stream.checkpoints import buckets_of, made_by, named
from cepheid.spark.stream.monitoring import observed_columns
from cepheid.spark.stream.packing import (
    BUCKET,
    PACKED,
    bucket_labels,
    from_blob,
    packed,
    packed_changes,
)
from cepheid.spark.stream.timing import Timing
from cepheid.spark.stream.timing_options import RequestedTiming, waits_for_time, with_timing
from cepheid.spark.worker.warm import freeze_loaded
from cepheid.tuning import tuning

LATE_POLICIES = ("drop", "emit")
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "RocksDBStateStoreProvider"


def match(
    compiled: CompiledQuery | CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    match_id: bool = True,
    metrics: str = "cepheid",
    lateness: str | None = None,
    in_order: bool = False,
    idle_timeout: str | None = None,
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
        in_order: whether events come in order, so that each is answered in the micro-batch that
            brings it. What waits for time to pass, such as a negation at the end of a pattern,
            needs ``lateness`` or ``idle_timeout``, too.
        idle_timeout: after how long without events time follows the clock, such as ``30 seconds``,
            so that what waits is answered. Spark then runs empty micro-batches all the time.
        late: how later events are handled: ``drop`` counts them in the progress of the stream,
            ``emit`` also gives a row with the event in ``late_event``.
        keywords: as for ``query.match``; the evaluation must have sessions.

    Raises:
        OptionError: an option cannot be used, the queries of a script have no key in common, or
            Spark is not configured for it.
    """
    frame, keywords = one_frame(events, keywords)
    prepared = prepare(compiled, frame.schema, match_id=match_id, **keywords)
    _refuse_out_of_order(prepared)
    for planned in prepared.planned:
        planned.rule.refuse_stream(planned.each.query)
    if prepared.settings.is_script:
        _refuse_without_key(prepared)
        refuse_equal_names(prepared.names)
    settings = prepared.settings
    task = StreamTask(settings, prepared.key, prepared.rows, made_by(prepared, frame))
    check_stream(frame, settings.time, late)
    said = RequestedTiming(lateness, in_order, idle_timeout)
    marked, timing = with_timing(frame, settings.time, waits_for_time(prepared), said)
    found = bucketed(task, marked, timing, late == "emit", metrics)
    if not prepared.settings.is_script:
        return found
    others = [*([MATCH_ID] if match_id else []), *([LATE_EVENT] if late == "emit" else [])]
    return found.select(*named_columns(prepared.names, others))


@dataclass(frozen=True)
class StreamTask:
    """What a stream runs: the settings of its workers, the key of its buckets, the rows it needs.

    ``made_by`` are the settings that its state depends on, by their names in error messages.
    ``changes`` are changes of what it runs, which reach every bucket. ``has_rules`` is whether it
    runs a set of rules, of which each is counted.
    """

    settings: BucketSettings
    key: Sequence[Column]
    rows: Column | None
    made_by: Mapping[str, Any]
    changes: DataFrame | None = None
    has_rules: bool = False


def bucketed(
    task: StreamTask, events: DataFrame, timing: Timing, emits_late: bool, metrics: str
) -> DataFrame:
    """The matches of a streaming DataFrame, by buckets of a key; without a key, by one bucket."""
    if not isinstance(metrics, str):
        raise OptionError(f"metrics is a name, such as 'thefts', not {metrics!r}")
    settings, key, rows = task.settings, task.key, task.rows
    relevant = events if rows is None else events.filter(rows)
    sent = events.columns if emits_late else settings.columns
    if BUCKET in sent:
        raise OptionError(f"a column of the events is called {BUCKET!r}; rename it")
    labels = bucket_labels(buckets_of(key, events))
    number = F.pmod(F.xxhash64(*key), F.lit(len(labels))) if key else F.lit(0)
    operator = BucketOperator(
        settings,
        task.made_by,
        stream=uuid4().hex,
        large=tuning().logged_bucket_bytes,
        timing=timing,
        emits_late=emits_late,
    )
    late_event = [StructField(LATE_EVENT, events.schema)] if emits_late else []
    result = StructType([*spark_schema(settings.result_schema).fields, *late_event])
    rows_sent = relevant.select(number.cast("int").alias(BUCKET), *map(column, sent))
    rows_packed = map_in_arrow(rows_sent, partial(packed, labels, settings.time), PACKED)
    if task.changes is not None:
        changes = map_in_arrow(task.changes, partial(packed_changes, labels), PACKED)
        rows_packed = rows_packed.unionAll(changes)
    with without_pandas_warning():
        found = (
            rows_packed.groupBy(BUCKET)
            .transformWithState(operator, ANSWERS, "Append", timing.mode)
            .observe(metrics, *observed_columns(task.has_rules))
            .mapInArrow(partial(_unpacked, arrow_schema(result)), result)
        )
    return named(found, task.made_by)


def _unpacked(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the result, from blobs of matches and of late events."""
    for batch in batches:
        for blob, is_late in zip(batch.column("data"), batch.column("is_late"), strict=True):
            if not blob.is_valid:
                continue
            table = from_blob(blob.as_py())
            given = dict(zip(table.column_names, table.columns, strict=True))
            if is_late.as_py():
                given = {LATE_EVENT: table.combine_chunks().to_struct_array()}
            columns = [
                given[field.name].cast(field.type)
                if field.name in given
                else pa.nulls(table.num_rows, field.type)
                for field in schema
            ]
            yield from pa.table(columns, schema=schema).combine_chunks().to_batches()
    freeze_loaded()


def check_stream(events: DataFrame, time: str, late: str) -> None:
    """Refuse events and options that cannot be used with a stream."""
    if not hasattr(events.groupBy(), "transformWithState"):
        raise EvaluationError(
            f"streams need PySpark 4.1 or later, and this is {pyspark.__version__}, without "
            "transformWithState. Update pyspark; batch queries run on this version too"
        )
    if late not in LATE_POLICIES:
        raise OptionError(f"late is {list_words(LATE_POLICIES, 'or')}, not {late!r}")
    if not isinstance(events.schema[time].dataType, TimestampType | TimestampNTZType):
        kind = events.schema[time].dataType.simpleString()
        raise OptionError(
            f"the time column {time!r} of a stream must be a timestamp, for Spark's watermark, "
            f"and is {kind}; convert it, for instance with F.to_timestamp or F.timestamp_millis"
        )
    provider = events.sparkSession.conf.get(_PROVIDER)
    if not str(provider).endswith(_ROCKSDB):
        raise OptionError(
            "the state of a query over a stream needs RocksDB: set "
            f"spark.conf.set({_PROVIDER!r}, "
            f"'org.apache.spark.sql.execution.streaming.state.{_ROCKSDB}')"
        )


def _refuse_out_of_order(prepared: Prepared) -> None:
    read = prepared.settings.run.read
    said = read.uncertain
    if said is not None and begins_out_of_order(said):
        raise OptionError(
            f"over a stream probabilities={said.probabilities!r} cannot be used with the columns "
            f"{read.time!r} and {said.upper!r}, because an event could begin much later than its "
            "watermark says; give the time in one column, and uncertainty="
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
