"""A stream that is cut into buckets: rows in, rows of matches out. The state is their sessions.

Spark filters and projects; gives each row the number of its bucket; packs the rows of a bucket
(:mod:`cepheid.spark.stream.packing`); advances the buckets (:mod:`.bucket_operator`); and unpacks
the answers. A query and a script run the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from cepheid.errors import OptionError, list_words
from cepheid.snapshots import VERSION
from cepheid.spark.batch.arrow_schemas import arrow_schema, spark_schema
from cepheid.spark.batch.named_columns import column, map_in_arrow, quoted
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.stream.bucket_operator import ANSWERS, BucketOperator
from cepheid.spark.stream.packing import BUCKET, PACKED, Packer, bucket_labels, from_blob
from cepheid.tuning import tuning

LATE_POLICIES = ("drop", "emit")
LATE_EVENT = "late_event"
"""The column with an event that came too late; null in the rows of matches."""


_DELAY = "spark.watermarkDelayMs"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "RocksDBStateStoreProvider"


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is run: its lateness, how late events are handled, the name of its metrics."""

    lateness: str | None
    late: str
    metrics: str

    @property
    def emits_late(self) -> bool:
        """Whether late events are rows of the result."""
        return self.late == "emit"


def bucketed(
    prepared: Prepared, events: DataFrame, made_by: Mapping[str, Any], options: StreamOptions
) -> DataFrame:
    """The matches of a streaming DataFrame, by buckets of a key; without a key, by one bucket.

    ``made_by`` names the settings that the state depends on, besides the settings of all streams.
    """
    settings, columns, key = prepared.settings, prepared.columns, prepared.key
    check_stream(events, settings.time, options.late)
    marked = _with_watermark(events, settings.time, options.lateness)
    relevant = marked if prepared.rows is None else marked.filter(prepared.rows)
    sent = events.columns if options.emits_late else columns
    if BUCKET in sent:
        raise OptionError(f"a column of the events is called {BUCKET!r}; rename it")
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    labels = bucket_labels(partitions if key else 1)
    number = F.pmod(F.xxhash64(*key), F.lit(len(labels))) if key else F.lit(0)
    operator = BucketOperator(
        settings,
        columns,
        {
            **made_by,
            "columns": [
                f"{name} {events.schema[name].dataType.simpleString()}" for name in columns
            ],
            "spark.sql.shuffle.partitions": partitions if key else 1,
            "version of the state": VERSION,
        },
        stream=uuid4().hex,
        large=tuning().logged_bucket_bytes,
        lateness_ms=None
        if options.lateness is None
        else marked.schema[settings.time].metadata[_DELAY],
        emits_late=options.emits_late,
    )
    late_event = [StructField(LATE_EVENT, events.schema)] if options.emits_late else []
    result = StructType([*spark_schema(settings.result_schema).fields, *late_event])
    unpacker = Unpacker(arrow_schema(result).serialize().to_pybytes())
    rows_sent = relevant.select(number.cast("int").alias(BUCKET), *map(column, sent))
    return (
        map_in_arrow(rows_sent, Packer(labels, settings.time), PACKED)
        .groupBy(BUCKET)
        .transformWithState(operator, ANSWERS, "Append", "EventTime")
        .observe(
            options.metrics,
            F.coalesce(F.sum("matches"), F.lit(0)).alias("matches"),
            F.coalesce(F.sum("late"), F.lit(0)).alias("late"),
        )
        .mapInArrow(unpacker, result)
    )


@dataclass(frozen=True)
class Unpacker:
    """Blobs of matches and of late events become rows of the result."""

    schema: bytes

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


def check_stream(events: DataFrame, time: str, late: str) -> None:
    """Refuse events and options that cannot be used with a stream."""
    if late not in LATE_POLICIES:
        raise OptionError(f"late is {list_words(LATE_POLICIES, 'or')}, not {late!r}")
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
    if lateness is None:
        return events
    try:
        return events.withWatermark(quoted(time), lateness)
    except (AnalysisException, PySparkTypeError) as error:
        if error.getCondition() not in ("CANNOT_PARSE_INTERVAL", "NOT_EXPECTED_TYPE"):
            raise
        raise OptionError(
            f"lateness is a length of time, such as '10 minutes', not {lateness!r}"
        ) from error
