"""``cepheid stream``: Spark's sources, sinks and progress for a folder or a Kafka topic."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, NoReturn, cast

import typer

from cepheid import CompiledQuery, CompiledScript, RuleSet
from cepheid.cli.inputs import split_setting
from cepheid.cli.reporting import say
from cepheid.cli.signals import GRACE_SECONDS, leave_signals_to_handlers
from cepheid.cli.spark.frames import KIND_OF_SUFFIX
from cepheid.cli.spark.rule_frames import with_objects
from cepheid.cli.spark.spark_run import in_seconds, start_spark
from cepheid.errors import OptionError, plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

_TOPIC = re.compile(r"kafka://(?P<servers>[^/]+)/(?P<topic>[^/]+)")
_READERS = {suffix: kind for suffix, kind in KIND_OF_SUFFIX.items() if kind != "tsv"}
_POLL_SECONDS: Any = 0.2  # Spark takes fractions; its annotations do not
_CLOCK = "1 second"
"""How often a micro-batch runs, even an empty one, if time follows the clock."""
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


@dataclass(frozen=True)
class Places:
    """Where a stream reads events, writes matches, keeps its state and reads changes of rules."""

    source: str
    target: str | None
    checkpoint: Path
    changes: str | None = None


def run_stream(
    query: CompiledQuery | CompiledScript | RuleSet,
    places: Places,
    *,
    columns: str | None,
    master: str,
    configuration: Sequence[str],
    once: bool,
    **keywords: Any,
) -> None:
    """Run the query until it is interrupted, or with ``once`` until all events have been read."""
    _check_source(places.source, columns)
    if places.changes is not None:
        _check_source(places.changes, "value string")
    settings = dict(split_setting(each, "--conf") for each in configuration)
    spark = start_spark(master, {**SETTINGS, **settings})
    from cepheid.spark import check_checkpoint

    try:
        with _Interrupt() as interrupt:
            events = _read(spark, places.source, columns and _checked(columns))
            if places.changes is not None:
                keywords["changes"] = _read_changes(spark, places.changes)
            matches = _match(query, events, keywords)
            trigger: dict[str, Any] = {"availableNow": True} if once else {}
            if keywords["idle_timeout"] is not None:
                trigger = {"processingTime": _CLOCK}  # Spark would run empty micro-batches nonstop.
            if not isinstance(query, RuleSet):
                check_checkpoint(query, events, places.checkpoint, **keywords)
            running = _write(matches, places.target, places.checkpoint, trigger)
            _follow(running, interrupt)
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
        rows = _kafka(spark, topic)
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


def _kafka(spark: SparkSession, topic: re.Match[str]) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", topic["servers"])
        .option("subscribe", topic["topic"])
        .option("startingOffsets", "earliest")
        .load()
    )


def _read_changes(spark: SparkSession, source: str) -> DataFrame:
    """Changes of rules: lines of the files of a folder, or messages of a topic."""
    topic = _TOPIC.fullmatch(source)
    if topic:
        return _kafka(spark, topic).selectExpr("value", "offset AS order")
    return spark.readStream.text(source)


def _checked(columns: str) -> str:
    from pyspark.errors import ParseException
    from pyspark.sql.types import StructType

    from cepheid.spark.faults import spark_reason

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
    query: CompiledQuery | CompiledScript | RuleSet, events: DataFrame, keywords: Mapping[str, Any]
) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        matches: Any = query.match(events, **keywords)
    except OptionError as error:
        if not isinstance(error.__cause__, AnalysisException):
            raise
        name = "idle_timeout" if str(error).startswith("idle_timeout") else "lateness"
        raise typer.BadParameter(
            f"{keywords[name]!r} is not a duration, such as '10 minutes'",
            param_hint=f"--{name.replace('_', '-')}",
        ) from None
    return cast("DataFrame", matches)


def _write(
    matches: DataFrame, target: str | None, checkpoint: Path, trigger: Mapping[str, Any]
) -> StreamingQuery:
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    topic = _TOPIC.fullmatch(target) if target else None
    as_text = in_seconds(with_objects(matches)).select(
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
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.option("checkpointLocation", str(checkpoint)).start()


def _print(batch: DataFrame, _: int) -> None:
    for row in batch.toLocalIterator():
        typer.echo(row["value"])


class _Interrupt:
    """The signal that ends the stream: between two polls, not in the middle of a call.

    Spark does not stop while a worker is busy with a large micro-batch, and takes seconds to close
    a session. Then the process ends without it; the next run reads the same micro-batch again.
    """

    def __init__(self) -> None:
        self.number = 0
        self._is_said = False

    def __enter__(self) -> _Interrupt:
        leave_signals_to_handlers()
        numbers = (signal.SIGINT, signal.SIGTERM)
        self._before = {number: signal.signal(number, self._receive) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        if self.number:
            self._end()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, _: object) -> None:
        if not self.number:
            self.number = number
            late = Timer(GRACE_SECONDS, self._end)
            late.daemon = True
            late.start()

    def _end(self) -> NoReturn:
        if not self._is_said:
            self._is_said = True
            say(_STOPPED)
        os._exit(128 + self.number)


def _follow(running: StreamingQuery, interrupt: _Interrupt) -> None:
    shown = -1
    while not interrupt.number and not running.awaitTermination(_POLL_SECONDS):
        shown = _show_progress(running, shown)
    if interrupt.number:
        say("stopping")
        running.stop()
    _show_progress(running, shown)
    if not interrupt.number:
        say("all events have been read")


def _show_progress(running: StreamingQuery, shown: int) -> int:
    """Show the micro-batches after ``shown``; returns the number of the last one.

    After ten seconds without events, Spark also tells of the next one, which has not run yet. That
    has no counts.
    """
    for progress in running.recentProgress:
        if progress.batchId > shown and progress.observedMetrics:
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
