"""A query over a folder or a topic, from the shell: Spark's sources, sinks and progress."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from cepheid import CompiledQuery, CompiledScript
from cepheid.cli.reporting import plural, say
from cepheid.cli.spark.spark_faults import spark_reason
from cepheid.cli.spark.spark_run import silence
from cepheid.cli.spark.spark_seconds import in_seconds
from cepheid.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

_TOPIC = re.compile(r"kafka://(?P<servers>[^/]+)/(?P<topic>[^/]+)")
_READERS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "json"}
_READERS |= {".json": "json", ".ndjson": "json"}
_POLL_SECONDS = 1

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What Spark is told, unless the command line says otherwise."""


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
    """Run the query until it is interrupted, or with ``once`` until everything has been read."""
    _check_source(source, columns)
    spark = _session(master, configuration)
    try:
        events = _read(spark, source, columns and _checked(columns))
        matches = _match(query, events, keywords)
        with _interrupt_once() as interrupted:
            running = _write(matches, target, checkpoint, once)
            _follow(running, interrupted)
    finally:
        spark.stop()


def _session(master: str, configuration: Sequence[str]) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError(
            "a stream is run by Spark, which is not installed: pip install 'cepheid[spark]'"
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("cepheid stream")
    for name, value in {**SETTINGS, **dict(map(_setting, configuration))}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    silence(spark)
    return spark


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--conf")
    return name, value


def _check_source(source: str, columns: str | None) -> None:
    """Refuse what cannot be read, before Spark is started."""
    folder = Path(source)
    if _TOPIC.fullmatch(source):
        if columns is None:
            raise OptionError("the events of a topic are JSON; say with --columns what is in it")
    elif folder.is_file():
        raise OptionError(
            f"{source!r} is a file; a stream reads the folder to which files are added, and "
            "`cepheid match` reads a file"
        )
    elif not folder.is_dir():
        raise OptionError(f"{source!r} is neither a folder nor kafka://HOST:PORT/TOPIC")
    elif columns is None and _format(folder) != "parquet":
        raise OptionError(
            f"say with --columns what is in the files of {source!r}; only Parquet files that are "
            "there already tell it themselves"
        )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in _READERS)


def _format(folder: Path) -> str | None:
    """What the files of a folder hold, by the name of the first; None: there are none."""
    files = _files(folder)
    return _READERS[files[0].suffix] if files else None


def _read(spark: SparkSession, source: str, columns: str | None) -> DataFrame:
    topic = _TOPIC.fullmatch(source)
    if topic:
        from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

        assert columns is not None  # It was checked.
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
        # A row that cannot be read whole ends the stream, as an event without a time does.
        reader = reader.option("mode", "FAILFAST")
    if files == "csv":
        # All columns are read, and compared with the header, or a fault might not be seen.
        reader = reader.options(header=True, escape='"', columnPruning=False, enforceSchema=False)
    return reader.load(str(folder))


def _checked(columns: str) -> str:
    from pyspark.errors import ParseException
    from pyspark.sql.types import StructType

    try:
        StructType.fromDDL(columns)
    except ParseException as error:
        raise typer.BadParameter(
            f"{columns!r} are no columns as in SQL, such as 'ts timestamp, type string': "
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
            f"{keywords['lateness']!r} is no length of time, such as '10 minutes'",
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
    """The signals that came: the stream ends between two polls, not in the middle of a call."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow(running: StreamingQuery, interrupted: Sequence[int]) -> None:
    told = -1
    while not interrupted and not _has_ended(running):
        told = _tell(running, told)
    if interrupted:
        say("stopping")
        running.stop()
    _tell(running, told)
    say("stopped; the same command goes on from here" if interrupted else "all has been read")


def _has_ended(running: StreamingQuery) -> bool:
    """Wait a moment; whether the stream has come to its end."""
    return bool(running.awaitTermination(_POLL_SECONDS))


def _tell(running: StreamingQuery, told: int) -> int:
    for progress in running.recentProgress:
        if progress.batchId > told:
            told = progress.batchId
            say(progress_line(progress))
    return told


def progress_line(progress: StreamingQueryProgress) -> str:
    """What a micro-batch did."""
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
