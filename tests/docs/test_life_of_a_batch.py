"""The page "the life of a batch" lists the modules of real runs, in order."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from spark.test_buckets import Stream, worker_settings

import cepheid as cep
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.stream.timing import Timing
from cepheid.spark.worker.partition_run import run_partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "life-of-a-batch.md"
TABLES = [
    re.findall(r"^\| `([\w.]+)` \|", part, re.MULTILINE)
    for part in PAGE.read_text().split("| module |")[1:]
]
LOCAL, BATCH_DRIVER, BATCH_WORKER, STREAM_DRIVER, STREAM_WORKER = TABLES

QUERY = """
    PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE [tag_id] AND a.zone = 'food' WITHIN 12 hours
    RETURN a.tag_id AS item
"""
EVENTS = pa.table(
    {
        "ts": pa.array([0, 3, 9, 12, 20], pa.timestamp("s")).cast(pa.timestamp("us", "UTC")),
        "type": ["Shelf", "Shelf", "Register", "Exit", "Exit"],
        "tag_id": [7, 8, 8, 7, 8],
        "zone": ["food"] * 5,
        "seq": range(5),
    }
)


def modules_of(run: Callable[[], Any]) -> list[str]:
    """The modules of cepheid that a run reaches, in the order of their first call."""
    reached: dict[str, None] = {}

    def note(frame: Any, event: str, _argument: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        # Bodies of modules and classes, which run when they are imported, are not functions. Nor is
        # the code that dataclasses generate then.
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        is_function = is_function and frame.f_code.co_filename != "<string>"
        if event == "call" and is_function and name.startswith("cepheid."):
            reached.setdefault(name.removeprefix("cepheid."))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(reached)


def check(listed: list[str], run: Callable[[], Any]) -> None:
    """The modules that the page lists are those of the run, in the same order."""
    reached = modules_of(run)
    assert [name for name in reached if name in listed] == listed


def test_a_local_run() -> None:
    check(LOCAL, lambda: cep.query(QUERY).match(EVENTS).to_arrow())


def test_a_spark_dataframe(spark: SparkSession) -> None:
    frame = spark.createDataFrame(EVENTS.to_pandas())
    query = cep.query(QUERY)
    check(BATCH_DRIVER, lambda: query.match(frame))
    prepared = prepare(query, frame.schema)
    batches = EVENTS.to_batches()
    check(BATCH_WORKER, lambda: list(run_partition(prepared.settings, batches)))


def test_a_spark_stream(spark: SparkSession, tmp_path: Path) -> None:
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.createDataFrame(EVENTS.to_pandas()).write.parquet(str(tmp_path / "events"))
    schema = spark.read.parquet(str(tmp_path / "events")).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "events"))
    query = cep.query(QUERY)
    check(STREAM_DRIVER, lambda: query.match(stream, lateness="1 second"))


def test_a_bucket_of_a_stream() -> None:
    settings = worker_settings(cep.query(QUERY), EVENTS, "all")
    bucket = Stream(settings, Timing(0), 0, troubles=())
    check(STREAM_WORKER, lambda: bucket.micro_batch(EVENTS))
