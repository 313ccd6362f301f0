"""Rows per second of a query over a stream in Spark, beside the same stream with nothing to do.

``python -m benchmarks.spark_streaming [--batches 10]`` streams micro-batches of a million events of
100,000 keys to a query, and to a stateful operator that only takes the rows: both streams run, and
each micro-batch is given first to one and then to the other, so that whatever else the machine
does meets both. Seconds are of processor time, of the Java machine and all Python workers, and of
the wall: means of all micro-batches, of which some write a snapshot, but for the first two.
"""

from __future__ import annotations

import argparse
import os
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

from benchmarks.spark_batch import worker_memory
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
    """A folder for each micro-batch, with a file for each core."""
    generator = np.random.default_rng(SEED)
    for number in range(batches):
        (folder / f"{number:04}").mkdir(parents=True)
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
            path = folder / f"{number:04}" / f"{core}.parquet"
            pq.write_table(table.slice(core * rows, rows), path)


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
        # A stream that waits for its turn hardly looks for it, and runs nothing meanwhile.
        .config("spark.sql.streaming.pollingDelay", "1s")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stream(spark: Any, folder: Path) -> Any:
    """The events as a streaming DataFrame; a micro-batch is a folder that has come."""
    folder.mkdir(parents=True)
    return spark.readStream.schema(SCHEMA).parquet(f"{folder}/*")


def with_query(events: Any, window: int) -> Any:
    """The matches."""
    import cepheid as cep
    from cepheid.spark.stream import streaming

    return streaming.match(cep.query(QUERY.format(window=window)), events, lateness="2 seconds")


def with_nothing(events: Any, window: int) -> Any:
    """The same pipeline, with an operator that takes the rows and leaves them."""
    from cepheid.spark.stream import streaming

    operator = streaming.BucketOperator
    streaming.BucketOperator = empty_operator()  # type: ignore[misc]
    try:
        return with_query(events, window)
    finally:
        streaming.BucketOperator = operator  # type: ignore[misc]


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


def run(query: Any, batch: Path, folder: Path) -> dict[str, float]:
    """Give a micro-batch to a stream; what it took."""
    copy = folder.with_name(f"{folder.name}-next")
    copy.mkdir()
    for path in batch.iterdir():
        os.link(path, copy / path.name)
    before = processor_seconds(os.getpid())
    copy.rename(folder / batch.name)  # All files come at once.
    while (progress := _progress(query, int(batch.name))) is None:
        sleep(0.02)
    used = processor_seconds(os.getpid()) - before
    metrics = progress.observedMetrics.get("cepheid")
    written = progress.stateOperators[0].customMetrics.get("rocksdbTotalBytesWritten", 0)
    return {
        "rows": progress.numInputRows,
        "cpu_s": used,
        "wall_s": progress.durationMs["triggerExecution"] / 1_000,
        "matches": metrics["matches"] if metrics else 0,
        "state_MiB": written / 2**20,
    }


def _progress(query: Any, number: int) -> Any:
    """What the stream says of a micro-batch; None: it has not ended."""
    if query.exception():
        raise query.exception()
    ended = [each for each in query.recentProgress if each.numInputRows]
    return next((each for each in ended if each.batchId == number), None)


def alternate(spark: Any, batches: Path, window: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Run both streams, a micro-batch of one after one of the other; what each took."""
    running = {}
    try:
        for name, build in (("nothing", with_nothing), ("query", with_query)):
            frame = build(stream(spark, folder / name), window)
            sink = frame.writeStream.format("noop")
            running[name] = sink.option("checkpointLocation", str(folder / f"{name}-log")).start()
        for number, batch in enumerate(sorted(batches.iterdir())):
            names = list(running) if number % 2 else list(running)[::-1]
            for name in names:
                yield {
                    "operator": name,
                    "batch": number,
                    **run(running[name], batch, folder / name),
                }
    finally:
        for query in running.values():
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
                place = Path(folder) / f"round{number}-{window}"
                for row in alternate(spark, files, window, place):
                    row = {"window_s": window, "round": number, **row}
                    print(row, flush=True)
                    if row["batch"] >= 2:  # The first ones fill caches and the window.
                        rows.append(row)
        peak = worker_memory() / 2**20
        spark.stop()
    results = []
    for window in chosen.windows:
        nothing, query = (
            [row for row in rows if (row["operator"], row["window_s"]) == (name, window)]
            for name in ("nothing", "query")
        )
        by_round = [
            _total(nothing, "cpu_s", number) / _total(query, "cpu_s", number)
            for number in range(chosen.rounds)
        ]
        results.append(
            {
                "window_s": window,
                "nothing_cpu_s": statistics.mean(row["cpu_s"] for row in nothing),
                "query_cpu_s": statistics.mean(row["cpu_s"] for row in query),
                "cpu_ratio": _total(nothing, "cpu_s") / _total(query, "cpu_s"),
                "least_round": min(by_round),
                "best_round": max(by_round),
                "wall_ratio": _total(nothing, "wall_s") / _total(query, "wall_s"),
                "state_written_MiB": statistics.mean(row["state_MiB"] for row in query),
                "worker_peak_MiB": peak,
            }
        )
    print_table("A query over a stream beside nothing", results)
    settings = {"events": EVENTS, "keys": KEYS, "seed": SEED}
    write_results(chosen.output, "spark_streaming", results, settings)


def _total(rows: Sequence[dict[str, Any]], unit: str, number: int | None = None) -> float:
    return float(sum(row[unit] for row in rows if number in (None, row["round"])))


if __name__ == "__main__":
    main()
