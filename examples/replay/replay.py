"""Continue a stream with another number of partitions: a replay of the events that still matter.

python replay.py theft.sase readings/ --window '12 hours' --lateness '10 minutes' \
    --old checkpoints/thefts thefts/ --new checkpoints/thefts-16 thefts-16/ --partitions 16

The old stream has stopped. The new one has its own checkpoint and folder, and writes only matches
that the old folder lacks. So readers read both.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

import cepheid as cep
import cepheid.spark

PARTITIONS = "spark.sql.shuffle.partitions"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def reached(checkpoint: Path) -> datetime:
    """The watermark of a stopped stream: it has written what was complete at this time."""
    newest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    _, said, *_ = newest.read_text().splitlines()
    return datetime.fromtimestamp(json.loads(said)["batchWatermarkMs"] / 1_000, UTC)


def needed_from(spark: SparkSession, time: datetime, windows: int, window: str) -> datetime:
    """The time so many windows before another one."""
    begin = F.lit(time) - windows * F.expr(f"INTERVAL {window}")
    row = spark.range(1).select(F.unix_micros(begin).alias("us")).first()
    assert row is not None
    return datetime.fromtimestamp(row["us"] / 1_000_000, UTC)


def matches_since(
    query: cep.CompiledQuery, events: DataFrame, time: datetime, window: str, lateness: str
) -> DataFrame:
    """The matches that a stream that stopped at a time may not have written, and some that it has.

    Such a match starts at most one window before that time. A negation at the start of a pattern
    looks one more window back. Negations with longer windows of their own need these instead.
    """
    spark = events.sparkSession
    begin, first = (needed_from(spark, time, windows, window) for windows in (2, 1))
    found = query.match(events.where(F.col("ts") >= F.lit(begin)), lateness=lateness)
    return found.where(F.col("start") >= F.lit(first))


def adding_to(folder: Path, known: DataFrame) -> Callable[[DataFrame, int], None]:
    """A sink that writes the matches which are not known; a micro-batch may run again."""

    def write(batch: DataFrame, number: int) -> None:
        fresh = batch.join(known.select("match_id"), "match_id", "left_anti")
        fresh.write.mode("overwrite").parquet(f"{folder}/batch={number}")

    return write


def main(arguments: list[str] | None = None, spark: SparkSession | None = None) -> None:
    """Replay, and go on until stopped, or with ``--once`` until all events are read."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("query", type=Path)
    parser.add_argument("events", type=Path, help="a folder of Parquet files; the time is ts")
    parser.add_argument("--window", required=True, help="the window of the query: '12 hours'")
    parser.add_argument("--lateness", required=True)
    for name in ("--old", "--new"):
        parser.add_argument(
            name, type=Path, nargs=2, required=True, metavar=("CHECKPOINT", "MATCHES")
        )
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--once", action="store_true")
    said = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = spark or SparkSession.builder.appName("replay").getOrCreate()
    spark.conf.set(PARTITIONS, str(said.partitions))
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    schema = spark.read.parquet(str(said.events)).schema
    events = spark.readStream.schema(schema).parquet(str(said.events))
    query = cep.query(said.query.read_text())
    assert isinstance(query, cep.CompiledQuery)
    matches = matches_since(query, events, reached(said.old[0]), said.window, said.lateness)
    sink = adding_to(said.new[1], spark.read.parquet(str(said.old[1])))
    trigger = {"availableNow": True} if said.once else {"processingTime": "10 seconds"}
    cepheid.spark.start(matches, said.new[0], sink, trigger=trigger).awaitTermination()


if __name__ == "__main__":
    main()
