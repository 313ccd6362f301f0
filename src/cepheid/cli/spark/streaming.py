"""``cepheid stream``: Spark's sources, sinks and progress for a folder or a Kafka topic."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, cast

import typer

from cepheid import CompiledQuery, CompiledScript
from cepheid.cli.inputs import split_setting
from cepheid.cli.reporting import plural, say
from cepheid.cli.signals import leave_signals_to_handlers
from cepheid.cli.spark.spark_faults import spark_reason
from cepheid.cli.spark.spark_run import KIND_OF_SUFFIX, in_seconds, start_spark
from cepheid.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

_TOPIC = re.compile(r"kafka://(?P<servers>[^/]+)/(?P<topic>[^/]+)")
_READERS = {suffix: kind for suffix, kind in KIND_OF_SUFFIX.items() if kind != "tsv"}
_POLL_SECONDS = 1
_GRACE_SECONDS = 5
_STOPPED = "stopped; run the same command to resume"

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""The default settings of Spark; ``--conf`` overrides them."""


def run_stream(
    query: CompiledQuery | CompiledScript,
    source: str,
    target: str | None,
    checkpoint: Path,
    *,
    columns: str | None,
    master: str,
    configuration: Sequence[str],
    once: bool,
    **keywords: Any,
) -> None:
    """Run the query until it is interrupted, or with ``once`` until all events have been read."""
    _check_source(source, columns)
    settings = dict(split_setting(each, "--conf") for each in configuration)
    spark = start_spark(master, {**SETTINGS, **settings})
    with _interrupt_once() as interrupted:
        try:
            events = _read(spark, source, columns and _checked(columns))
            matches = _match(query, events, keywords)
            running = _write(matches, target, checkpoint, once)
            _follow(running, interrupted)
        finally:
            spark.stop()


def _check_source(source: str, columns: str | None) -> None:
    """Refuse a source that cannot be read, before Spark starts."""
    folder = Path(source)
    if _TOPIC.fullmatch(source):
        if columns is None:
            raise OptionError("a topic needs --columns: the columns of its JSON events")
    elif folder.is_file():
        raise OptionError(
            f"{source!r} is a file; a stream reads a folder to which files are added. Use "
            "`cepheid match` for a file"
        )
    elif not folder.is_dir():
        raise OptionError(f"{source!r} is neither a folder nor kafka://HOST:PORT/TOPIC")
    elif columns is None and _format(folder) != "parquet":
        raise OptionError(
            f"{source!r} needs --columns: the columns of its files. It can be left out only if the "
            "folder already has Parquet files"
        )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in _READERS)


def _format(folder: Path) -> str | None:
    """The format of the first file of a folder, by its name; None if the folder is empty."""
    files = _files(folder)
    return _READERS[files[0].suffix] if files else None


def _read(spark: SparkSession, source: str, columns: str | None) -> DataFrame:
    topic = _TOPIC.fullmatch(source)
    if topic:
        from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

        assert columns is not None  # checked above
        rows = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", topic["servers"])
            .option("subscribe", topic["topic"])
            .option("startingOffsets", "earliest")
            .load()
        )
        return rows.select(F.from_json(F.col("value").cast("string"), columns).alias("e")).select(
            "e.*"
        )
    folder = Path(source)
    schema = spark.read.parquet(str(_files(folder)[0])).schema if columns is None else columns
    files = _format(folder) or "parquet"
    reader = spark.readStream.format(files).schema(schema)
    if files != "parquet":
        # A malformed row ends the stream, as an event without a time does.
        reader = reader.option("mode", "FAILFAST")
    if files == "csv":
        # Read all columns and compare them with the header, or errors would go unnoticed.
        reader = reader.options(header=True, escape='"', columnPruning=False, enforceSchema=False)
    return reader.load(str(folder))


def _checked(columns: str) -> str:
    from pyspark.errors import ParseException
    from pyspark.sql.types import StructType

    try:
        StructType.fromDDL(columns)
    except ParseException as error:
        raise typer.BadParameter(
            f"{columns!r} is not a list of columns, such as 'ts timestamp, type string': "
            f"{spark_reason(str(error))}",
            param_hint="--columns",
        ) from None
    return columns


def _match(
    query: CompiledQuery | CompiledScript, events: DataFrame, keywords: Mapping[str, Any]
) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        matches: Any = query.match(events, **keywords)
    except OptionError as error:
        if not isinstance(error.__cause__, AnalysisException):
            raise
        raise typer.BadParameter(
            f"{keywords['lateness']!r} is not a duration, such as '10 minutes'",
            param_hint="--lateness",
        ) from None
    return cast("DataFrame", matches)


def _write(matches: DataFrame, target: str | None, checkpoint: Path, once: bool) -> StreamingQuery:
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    topic = _TOPIC.fullmatch(target) if target else None
    as_text = in_seconds(matches).select(
        F.col("match_id").alias("key"), F.to_json(F.struct("*")).alias("value")
    )
    if topic:
        writer = (
            as_text.writeStream.format("kafka")
            .option("kafka.bootstrap.servers", topic["servers"])
            .option("topic", topic["topic"])
        )
    elif target:
        writer = matches.writeStream.format("parquet").option("path", target)
    else:
        writer = as_text.writeStream.foreachBatch(_print)
    if once:
        writer = writer.trigger(availableNow=True)
    return writer.option("checkpointLocation", str(checkpoint)).start()


def _print(batch: DataFrame, _: int) -> None:
    for row in batch.toLocalIterator():
        typer.echo(row["value"])


@contextmanager
def _interrupt_once() -> Iterator[list[int]]:
    """The signals received: the stream ends between two polls, not in the middle of a call.

    Spark does not stop while a worker is busy with a large micro-batch. Then the process ends
    after a while, and the same micro-batch is read again by the next run.
    """
    received: list[int] = []
    leave_signals_to_handlers()
    late = Timer(_GRACE_SECONDS, _end_now)
    late.daemon = True

    def receive(number: int, _: object) -> None:
        if not received:
            late.start()
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        late.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_now() -> None:
    say(_STOPPED)
    os._exit(0)


def _follow(running: StreamingQuery, interrupted: Sequence[int]) -> None:
    shown = -1
    while not interrupted and not running.awaitTermination(_POLL_SECONDS):
        shown = _show_progress(running, shown)
    if interrupted:
        say("stopping")
        running.stop()
    _show_progress(running, shown)
    say(_STOPPED if interrupted else "all events have been read")


def _show_progress(running: StreamingQuery, shown: int) -> int:
    """Show the micro-batches after ``shown``; returns the number of the last one."""
    for progress in running.recentProgress:
        if progress.batchId > shown:
            shown = progress.batchId
            say(progress_line(progress))
    return shown


def progress_line(progress: StreamingQueryProgress) -> str:
    """A line about a micro-batch."""
    counted = progress.observedMetrics.get("cepheid")
    matches, late = (counted["matches"], counted["late"]) if counted else (0, 0)
    held = sum(
        int(state.customMetrics.get("rocksdbSstFileSize", 0)) or state.memoryUsedBytes
        for state in progress.stateOperators
    )
    return (
        f"batch {progress.batchId}: {plural(progress.numInputRows, 'event')}, "
        f"{plural(matches, 'match', 'matches')}, {late:,} late, state {held / 2**20:.1f} MiB, "
        f"lag {_lag(progress.eventTime)}"
    )


def _lag(times: dict[str, str]) -> str:
    """How far the watermark of a micro-batch is behind its newest event."""
    newest, watermark = times.get("max"), times.get("watermark")
    if newest is None or watermark is None or watermark.startswith("1970"):
        return "-"
    behind = datetime.fromisoformat(newest) - datetime.fromisoformat(watermark)
    return f"{behind.total_seconds():.1f} s"
