"""What this machine can measure: one job at a time, each in a process and Spark of its own.

``python -m benchmarks.cluster_model.measure MASTER EVENTS PARTITIONS PLAN FOLDER`` runs a plan
three times and prints the better time of the second and third run as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from benchmarks.cluster_model.simulation import Costs
from benchmarks.spark_batch import (
    QUERY,
    processor_time,
    with_idle_worker,
    worker_memory,
    write_events,
)
from cepheid.spark.batch.batch import match
from cepheid.spark.batch.preparation import prepare

IDS = 100_000
ROUNDS = 2
PLANS = ("scan", "idle", "match")
PATIENCE = 900


@dataclass(frozen=True, slots=True)
class Measured:
    """A plan over so many events in so many partitions."""

    master: str
    events: int
    partitions: int
    plan: str
    wall: float
    cpu: float
    shuffled: int
    worker: int
    relevant: int


def session(master: str, partitions: int) -> SparkSession:
    """A Spark with this master, without adaptive changes of the number of partitions."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark

    # An executor of a pip installation finds its classes with these.
    os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13"}
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.executor.memory", "2g")
        .config("spark.sql.shuffle.partitions", str(partitions))
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .config("spark.sql.files.maxPartitionBytes", str(16 << 20))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def shuffled_bytes(spark: SparkSession) -> int:
    """The bytes that all jobs so far have written for a shuffle."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(ix).totalShuffleWrite()) for ix in range(executors.size()))


def run(master: str, events: int, partitions: int, plan: str, folder: Path) -> Measured:
    """Run one plan, the first time to warm up."""
    spark = session(master, partitions)
    data = folder / f"events_{events}_{IDS}.parquet"
    if not (data / "_SUCCESS").exists():
        write_events(spark, data, events, IDS)
    frame = spark.read.parquet(str(data))
    query = cep.query(QUERY.replace("{window}", str(4 * IDS)))
    relevant = prepare(query, frame.schema).relevant(frame)
    plans: dict[str, Callable[[], DataFrame]] = {
        "scan": lambda: relevant.where(F.col("y") >= 0),
        "idle": partial(with_idle_worker, query, frame),
        "match": partial(match, query, frame, in_place=False, reduce=False),
    }
    best: tuple[float, float] | None = None
    for number in range(ROUNDS + 1):
        begun, begun_cpu = perf_counter(), processor_time()
        plans[plan]().write.format("noop").mode("overwrite").save()
        took = perf_counter() - begun, processor_time() - begun_cpu
        best = took if number == 1 or best is None else min(best, took)
    assert best is not None
    shuffled = 0 if plan == "scan" else shuffled_bytes(spark) // (ROUNDS + 1)
    rows = relevant.count()
    worker = worker_memory()
    spark.stop()
    return Measured(master, events, partitions, plan, *best, shuffled, worker, rows)


def measured(master: str, events: int, partitions: int, plan: str, folder: Path) -> Measured:
    """The same in a process of its own."""
    given = [master, str(events), str(partitions), plan, str(folder)]
    command = [sys.executable, "-m", "benchmarks.cluster_model.measure", *given]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE
    )
    return Measured(**json.loads(done.stdout.decode().splitlines()[-1]))


def costs_of(found: list[Measured]) -> Costs:
    """The costs on one core, from runs over few and over many events and partitions.

    The cost of a row is a slope, so that what a job costs at all does not count in it.
    """
    few, many = sorted({each.events for each in found})
    low, high = sorted({each.partitions for each in found})

    def one(events: int, partitions: int, plan: str) -> Measured:
        (it,) = [
            each
            for each in found
            if (each.events, each.partitions, each.plan) == (events, partitions, plan)
        ]
        return it

    def slope(plan: str) -> float:
        more = one(many, low, plan).wall - one(few, low, plan).wall
        return max(more, 0.0) / (many - few)

    whole, start = one(many, low, "match"), one(few, low, "match")
    relevant = whole.relevant / many
    task = max(one(few, high, "match").wall - start.wall, 0.0) / (high - low)
    scan, idle, full = slope("scan"), slope("idle"), slope("match")
    rows = whole.relevant / low, start.relevant / low
    worker_row = max(whole.worker - start.worker, 0) / (rows[0] - rows[1])
    return Costs(
        job=max(start.wall - few * full - low * task, 0.0),
        task=task,
        scan_row=scan,
        shuffle_row=max(idle - scan, 0.0) / relevant,
        match_row=max(full - idle, 0.0) / relevant,
        shuffle_bytes_row=whole.shuffled / whole.relevant,
        relevant=relevant,
        worker_base=start.worker - rows[1] * worker_row,
        worker_row=worker_row,
    )


if __name__ == "__main__":
    _, master, events, partitions, plan, folder = sys.argv
    print(json.dumps(asdict(run(master, int(events), int(partitions), plan, Path(folder)))))
