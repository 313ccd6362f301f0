"""Rows per second of a query over a stream in Spark, beside the same stream with nothing to do.

``python -m benchmarks.spark_streaming [--batches 10]`` streams micro-batches of a million events of
100,000 keys, once to a query and once to a stateful operator that only takes the rows, in turn.
Seconds are of processor time, of the Java machine and all Python workers, and of the wall: the mean
of a run's micro-batches, of which some write a snapshot, and the best of several runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import print_table, write_results

EVENTS = 1_000_000
KEYS = 100_000
SECONDS = 60
"""How much time the events of a micro-batch take."""
START_US = 1_704_067_200_000_000
SEED = 3
SCHEMA = "ts timestamp, type string, id long, x long, y double"
QUERY = """
    PATTERN SEQ(A a, B b, C c)
    WHERE [id] AND a.x < b.x
    WITHIN {window} seconds
    RETURN a.id AS id, a.x AS first, c.y AS last
"""


def write_batches(folder: Path, batches: int, cores: int) -> None:
    """A file for each core and micro-batch, to be read in the order of their times."""
    generator = np.random.default_rng(SEED)
    folder.mkdir(parents=True)
    for number in range(batches):
        times = (
            np.sort(generator.integers(0, SECONDS * 1_000_000, EVENTS)) + number * SECONDS * 10**6
        )
        times += START_US
        # Events are up to a second late.
        arrival = np.argsort(times + generator.integers(0, 1_000_000, EVENTS))
        table = pa.table(
            {
                "ts": pa.array(times[arrival], pa.timestamp("us", "UTC")),
                "type": pa.array(["A", "B", "C", "D"]).take(
                    pa.array(generator.integers(0, 4, EVENTS))
                ),
                "id": generator.integers(0, KEYS, EVENTS),
                "x": generator.integers(0, 1_000, EVENTS),
                "y": generator.random(EVENTS),
            }
        )
        for core in range(cores):
            rows = EVENTS // cores
            path = folder / f"{number:04}-{core}.parquet"
            pq.write_table(table.slice(core * rows, rows), path)
            os.utime(path, (1e9 + number, 1e9 + number))


def session(cores: int) -> Any:
    """A Spark session on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stream(spark: Any, folder: Path, cores: int) -> Any:
    """The events as a streaming DataFrame, a micro-batch a file of each core."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", cores).parquet(str(folder))


def with_query(events: Any, window: int) -> Any:
    """The matches."""
    import cepheid as cep
    from cepheid.spark import streaming

    return streaming.match(cep.query(QUERY.format(window=window)), events, lateness="2 seconds")


def with_nothing(events: Any, window: int) -> Any:
    """The same pipeline, with an operator that takes the rows and leaves them."""
    from cepheid.spark import bucketed_stream

    operator = bucketed_stream.BucketOperator
    bucketed_stream.BucketOperator = empty_operator()  # type: ignore[misc]
    try:
        return with_query(events, window)
    finally:
        bucketed_stream.BucketOperator = operator  # type: ignore[misc]


def empty_operator() -> Any:
    """A stateful operator with a state that it does not use."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Nothing(StatefulProcessor):
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def init(self, handle: Any) -> None:
            self.state = handle.getValueState("bucket", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            for _ in rows:
                pass
            yield from ()

        def close(self) -> None:
            pass

    return Nothing


def processor_seconds(pid: int) -> float:
    """Of all descendants of a process, those that have ended included."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents.setdefault(int(fields[1]), []).append(number)
        used[number] = sum(map(int, fields[11:15])) / ticks
    total, waiting = 0.0, parents.get(pid, [])
    while waiting:
        here = waiting.pop()
        total += used.get(here, 0.0)
        waiting.extend(parents.get(here, []))
    return total


def follow(frame: Any, checkpoint: Path, batches: int) -> Iterator[dict[str, float]]:
    """Run a stream to the end of its files; what each micro-batch took."""
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    try:
        before, seen = processor_seconds(os.getpid()), -1
        while query.isActive and seen < batches - 1:
            progress = [each for each in query.recentProgress if each.batchId > seen]
            now = processor_seconds(os.getpid())
            for each in progress:
                seen = each.batchId
                if each.numInputRows:
                    metrics = each.observedMetrics.get("cepheid")
                    yield {
                        "batch": each.batchId,
                        "rows": each.numInputRows,
                        "cpu_s": now - before,
                        "wall_s": each.durationMs["triggerExecution"] / 1_000,
                        "matches": metrics["matches"] if metrics else 0,
                        "state_MiB": each.stateOperators[0].customMetrics.get(
                            "rocksdbTotalBytesWritten", 0
                        )
                        / 2**20,
                    }
                before = now
            sleep(0.05)
        if query.exception():
            raise query.exception()
    finally:
        query.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--windows", type=int, nargs="*", default=[10, 60])
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    chosen = parser.parse_args(arguments)
    cores = 2
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "events"
        write_batches(files, chosen.batches, cores)
        spark = session(cores)
        for number in range(chosen.rounds):
            for window in chosen.windows:
                for name, build in (("nothing", with_nothing), ("query", with_query)):
                    checkpoint = Path(folder) / "checkpoint"
                    shutil.rmtree(checkpoint, ignore_errors=True)
                    frame = build(stream(spark, files, cores), window)
                    for row in follow(frame, checkpoint, chosen.batches):
                        row = {"operator": name, "window_s": window, "round": number, **row}
                        print(row, flush=True)
                        if row["batch"] >= 2:  # The first ones fill caches and the window.
                            rows.append(row)
        spark.stop()
    results = []
    for window in chosen.windows:
        best = {
            name: {
                unit: min(
                    statistics.mean(
                        row[unit]
                        for row in rows
                        if (row["operator"], row["window_s"], row["round"]) == (name, window, run)
                    )
                    for run in range(chosen.rounds)
                )
                for unit in ("cpu_s", "wall_s")
            }
            for name in ("nothing", "query")
        }
        written = [
            row["state_MiB"]
            for row in rows
            if (row["operator"], row["window_s"]) == ("query", window)
        ]
        results.append(
            {
                "window_s": window,
                "nothing_cpu_s": best["nothing"]["cpu_s"],
                "query_cpu_s": best["query"]["cpu_s"],
                "cpu_ratio": best["nothing"]["cpu_s"] / best["query"]["cpu_s"],
                "wall_ratio": best["nothing"]["wall_s"] / best["query"]["wall_s"],
                "state_written_MiB": statistics.mean(written),
            }
        )
    print_table("A query over a stream beside nothing", results)
    settings = {"events": EVENTS, "keys": KEYS, "seed": SEED}
    write_results(chosen.output, "spark_streaming", results, settings)


if __name__ == "__main__":
    main()
