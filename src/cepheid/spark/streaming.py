"""A query over a streaming DataFrame: a streaming DataFrame of its matches.

What Spark is told to do: filter and project; give each row the number of its bucket; pack the rows
of a bucket (:mod:`cepheid.spark.packing`); advance the buckets, which are the state
(:mod:`cepheid.spark.bucket_operator`); unpack the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from cepheid.api import CompiledQuery
from cepheid.errors import OptionError, list_words
from cepheid.planning.evaluations import AUTO
from cepheid.runtime.snapshot import VERSION
from cepheid.spark.arrow_schemas import arrow_schema
from cepheid.spark.bucket_operator import ANSWERS, BucketOperator
from cepheid.spark.packing import BUCKET, PACKED, Packer, bucket_labels, from_blob
from cepheid.spark.preparation import Prepared, prepare
from cepheid.spark.row_filter import column
from cepheid.spark.tables_per_type import one_frame

LATE_POLICIES = ("drop", "emit")
LATE_EVENT = "late_event"
"""The column with an event that came too late; null in the rows of matches."""

_DELAY = "spark.watermarkDelayMs"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "RocksDBStateStoreProvider"


def match(
    query: CompiledQuery,
    events: DataFrame | Mapping[str, DataFrame],
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
    """The matches of a query over a streaming DataFrame, to be written in append mode.

    It is what ``query.match(events)`` does with a streaming DataFrame. The result has the columns
    of the local one and ``match_id``, which is the same for the same match whenever it is found.

    Args:
        query: the query.
        events: a streaming DataFrame, or one for each event type.
        time: the column with the time of an event, a timestamp.
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
    _check(prepared, events, late)
    settings = prepared.settings
    marked = _with_watermark(events, settings.time, lateness)
    rows = marked if prepared.rows is None else marked.filter(prepared.rows)
    emits_late = late == "emit"
    sent = events.columns if emits_late else list(prepared.columns)
    if BUCKET in sent:
        raise OptionError(f"a column of the events is called {BUCKET!r}; rename it")
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    labels = bucket_labels(partitions if prepared.key else 1)
    number = F.pmod(F.xxhash64(*prepared.key), F.lit(len(labels))) if prepared.key else F.lit(0)
    made_by = {
        "query": settings.text,
        "output": settings.output,
        "time": settings.time,
        "type": settings.type,
        "tie_break": list(settings.tie_break),
        "columns": [
            f"{name} {events.schema[name].dataType.simpleString()}" for name in prepared.columns
        ],
        "spark.sql.shuffle.partitions": partitions if prepared.key else 1,
        "version of the state": VERSION,
    }
    operator = BucketOperator(
        settings,
        prepared.columns,
        made_by,
        lateness_ms=None if lateness is None else marked.schema[settings.time].metadata[_DELAY],
        emits_late=emits_late,
    )
    late_event = StructType([StructField(LATE_EVENT, events.schema)]) if emits_late else None
    result = StructType([*prepared.result.fields, *(late_event.fields if late_event else ())])
    return (
        rows.select(number.cast("int").alias(BUCKET), *map(column, sent))
        .mapInArrow(Packer(labels, settings.time), PACKED)
        .groupBy(BUCKET)
        .transformWithState(operator, ANSWERS, "Append", "EventTime")
        .observe(
            metrics,
            F.coalesce(F.sum("matches"), F.lit(0)).alias("matches"),
            F.coalesce(F.sum("late"), F.lit(0)).alias("late"),
        )
        .mapInArrow(Unpacker(arrow_schema(result).serialize().to_pybytes(), emits_late), result)
    )


@dataclass(frozen=True)
class Unpacker:
    """Blobs of matches and of late events become rows of the result."""

    schema: bytes
    emits_late: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        for batch in batches:
            blobs, is_late = batch.column("data"), batch.column("is_late").to_pylist()
            for ix, late in enumerate(is_late):
                if blobs[ix].is_valid:
                    table = from_blob(blobs[ix].as_py())
                    yield from self._conformed(table, schema, late)

    def _conformed(
        self, table: pa.Table, schema: pa.Schema, late: bool
    ) -> Iterator[pa.RecordBatch]:
        given: dict[str, pa.Array] = {}
        if late:
            structs = pa.StructArray.from_arrays(
                [each.combine_chunks() for each in table.columns], table.column_names
            )
            given[LATE_EVENT] = structs
        else:
            given = {name: table.column(name) for name in table.column_names}
        columns = [
            given[field.name].cast(field.type)
            if field.name in given
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        ]
        yield from pa.table(columns, schema=schema).combine_chunks().to_batches()


def _check(prepared: Prepared, events: DataFrame, late: str) -> None:
    time = prepared.settings.time
    if late not in LATE_POLICIES:
        raise OptionError(f"late is {list_words(LATE_POLICIES, 'or')}, not {late!r}")
    if not prepared.has_session:
        raise OptionError(
            f"a stream is not run by {prepared.settings.evaluation}, which needs all events at "
            "once; 'explain' tells why no other evaluation runs the query"
        )
    if not isinstance(events.schema[time].dataType, TimestampType | TimestampNTZType):
        kind = events.schema[time].dataType.simpleString()
        raise OptionError(
            f"the time column {time!r} of a stream must be a timestamp, for Spark's watermark, "
            f"and is {kind}; convert it, for instance with F.timestamp_millis"
        )
    provider = events.sparkSession.conf.get(_PROVIDER)
    if not str(provider).endswith(_ROCKSDB):
        raise OptionError(
            "the state of a query over a stream needs RocksDB: set "
            f"spark.conf.set({_PROVIDER!r}, "
            f"'org.apache.spark.sql.execution.streaming.state.{_ROCKSDB}')"
        )


def _with_watermark(events: DataFrame, time: str, lateness: str | None) -> DataFrame:
    marked = [field.name for field in events.schema.fields if _DELAY in (field.metadata or {})]
    if lateness is None and not marked:
        raise OptionError(
            "say how late events may come: lateness='10 minutes', or "
            f"events.withWatermark({time!r}, '10 minutes')"
        )
    if lateness is not None and marked:
        raise OptionError(
            f"the stream has a watermark already, on {list_words([repr(n) for n in marked])}; "
            "leave out lateness"
        )
    if marked and time not in marked:
        raise OptionError(
            f"the watermark of the stream is on {list_words([repr(n) for n in marked])}, and the "
            f"time of an event in {time!r}; they must be the same column"
        )
    return events if lateness is None else events.withWatermark(time, lateness)
