"""What a query over a DataFrame costs beside the way to the workers alone.

``python -m benchmarks.spark_batch`` writes events to a Parquet folder, if they are not there yet,
and runs in turn the query and the same plan with a worker that does nothing: scan, filter,
projection, repartition and sort are those that the query needs. The query also runs where Spark
does not ask after each row how many bytes it has for a worker. Measured is the processor time of
the JVM and of all workers, and the most memory that a worker had.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from benchmarks.timing import print_table, write_results
from cepheid.spark import create_function
from cepheid.spark.batch.batch import match
from cepheid.spark.batch.preparation import prepare

QUERY = """
PATTERN SEQ(A a, B b, C c)
WHERE skip_till_any_match { [id] AND a.x < b.x AND b.x < c.x }
WITHIN {window}
RETURN a.id AS id, a.x AS low, c.x AS high, c.y - a.y AS change
"""
TICKS = os.sysconf("SC_CLK_TCK")
FEW_IDS = 10_000
"""With more ids, a call of a table function for each of them takes too long."""
MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


def write_events(spark: SparkSession, folder: Path, events: int, ids: int) -> None:
    """Five columns; a quarter of the events is of a type that the query does not ask for."""
    number = F.col("id")
    noise = F.xxhash64(number)
    spark.range(0, events, numPartitions=8).select(
        number.alias("ts"),
        F.element_at(F.array(*map(F.lit, "ABCD")), F.pmod(noise, F.lit(4)).cast("int") + 1).alias(
            "type"
        ),
        F.pmod(F.xxhash64(number, F.lit(1)), F.lit(ids)).alias("id"),
        (F.pmod(F.xxhash64(number, F.lit(2)), F.lit(10_000)) / 100).alias("x"),
        (F.pmod(F.xxhash64(number, F.lit(3)), F.lit(10_000)) / 100).alias("y"),
    ).write.mode("overwrite").parquet(str(folder))


def nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A worker that reads its events and finds no match."""
    for _ in batches:
        yield from ()


def with_idle_worker(query: cep.CompiledQuery, events: DataFrame) -> DataFrame:
    """The plan of a query that has a key, up to the worker."""
    prepared = prepare(query, events.schema)
    spread = prepared.relevant(events).repartition(*prepared.key)
    return spread.sortWithinPartitions(*prepared.order()).mapInArrow(nothing, prepared.result)


def as_function(query: cep.CompiledQuery, events: DataFrame, key: str) -> DataFrame:
    """The query as a table function of SQL."""
    spark = events.sparkSession
    create_function(spark, "found", query, events.schema)
    events.createOrReplaceTempView("events")
    return spark.sql(f"SELECT * FROM found(TABLE(events) PARTITION BY {key} ORDER BY ts)")


def processes() -> dict[int, tuple[float, int, str]]:
    """Of each process below this one: seconds of processor time, memory, command."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[float, int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            status = (entry / "status").read_text()
            command = (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        parents[int(entry.name)] = int(stat[1])
        peak = [line for line in status.splitlines() if line.startswith("VmHWM")]
        memory = int(peak[0].split()[1]) * 1024 if peak else 0
        # Its own time, and that of its children that have ended.
        seconds = sum(map(int, stat[11:15])) / TICKS
        found[int(entry.name)] = (seconds, memory, command)
    below = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        if not more:
            break
        below |= more
    return {pid: found[pid] for pid in below if pid in found}


def weighed(spark: SparkSession, most: str | None, plan: Callable[[], DataFrame]) -> DataFrame:
    """The plan where a batch for a worker has at most so many bytes; None is Spark's own limit."""
    if most is None:
        spark.conf.unset(MOST_BYTES)
    else:
        spark.conf.set(MOST_BYTES, most)
    return plan()


def processor_time() -> float:
    """Of the JVM, its workers and this process, ended ones included."""
    return sum(seconds for seconds, _, _ in processes().values())


def worker_memory() -> int:
    """The most that a worker had, in bytes."""
    return max(
        (memory for _, memory, command in processes().values() if "pyspark.daemon" in command),
        default=0,
    )


def measure(contestants: dict[str, Callable[[], DataFrame]], rounds: int) -> list[dict[str, Any]]:
    """Each in turn; the first round, in which code is compiled, is not counted."""
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    rows: dict[str, int] = {}
    for number in range(rounds + 1):
        for name, plan in contestants.items():
            begun, begun_cpu = perf_counter(), processor_time()
            rows[name] = plan().agg(F.count(F.lit(1))).first()[0]  # type: ignore[index]
            if number:
                cpu[name].append(processor_time() - begun_cpu)
                wall[name].append(perf_counter() - begun)
    return [
        {
            "worker": name,
            "matches": rows[name],
            "cpu_s": min(cpu[name]),
            "cpu_median_s": statistics.median(cpu[name]),
            "wall_s": min(wall[name]),
        }
        for name in contestants
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_batch")
    parser.add_argument("--events", type=int, nargs="+", default=[20_000_000])
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(given.master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(given.partitions))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    # So long that a few events of an id are in it.
    query = cep.query(QUERY.replace("{window}", str(4 * given.ids)))
    rows: list[dict[str, Any]] = []
    for number in given.events:
        folder = given.output / f"events_{number}_{given.ids}.parquet"
        if not (folder / "_SUCCESS").exists():
            write_events(spark, folder, number, given.ids)
        events = spark.read.parquet(str(folder))
        idle: Callable[[], DataFrame] = partial(with_idle_worker, query, events)
        runs: Callable[[], DataFrame] = partial(match, query, events, in_place=False)
        contestants: dict[str, Callable[[], DataFrame]] = {
            "does nothing": partial(weighed, spark, None, idle),
            "runs the query": partial(weighed, spark, None, runs),
            "runs it, rows are not weighed": partial(weighed, spark, str(2**31 - 1), runs),
            "SQL, a call per bucket": partial(as_function, query, events, "pmod(hash(id), 64)"),
        }
        if given.ids <= FEW_IDS:
            contestants["SQL, a call per id"] = partial(as_function, query, events, "id")
        measured = measure(contestants, given.rounds)
        for row in measured:
            row["ratio"] = row["cpu_s"] / measured[0]["cpu_s"]
            row["M_events_per_s"] = number / row["wall_s"] / 1e6
            row["worker_peak_mb"] = worker_memory() / 1e6
        rows += [{"events": number, **row} for row in measured]
        settings = {"ids": given.ids, "rounds": given.rounds, "master": given.master}
        write_results(given.output, "spark_batch", rows, settings)
    print_table(f"{given.ids:,} ids, {given.master}", rows, rows[-1])
    spark.stop()


if __name__ == "__main__":
    main()
