"""A query on a cluster, in a process of its own: a process has one Spark session.

Its arguments are the master and the archive with cepheid. It prints a line when tasks run, and at
last what it found, what a local run finds, and where executors have cepheid from, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import cepheid as cep

QUERY = """
PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.x < b.x AND b.x < c.x WITHIN 2000 RETURN a.id, b.x, c.ts
"""
EVENTS = 60_000


def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, so late that an executor can be killed meanwhile."""
    for batch in batches:
        time.sleep(0.3)
        yield batch


def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From where a worker loads cepheid."""
    for _ in batches:
        pass
    import cepheid

    yield pa.record_batch({"place": [str(cepheid.__file__)]})


def main(master: str, archive: str, cache: str) -> None:
    """Run and print."""
    warnings.simplefilter("ignore")
    spark = (
        SparkSession.builder.master(master)
        .appName("cluster test")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
        .config("spark.executor.memory", "512m")
        .config("spark.archives", f"{archive}#shipped")
        .config("spark.executorEnv.PYTHONPATH", "shipped")
        .config("spark.executorEnv.CEPHEID_CACHE_DIR", cache)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    events = spark.range(EVENTS, numPartitions=6).selectExpr(
        "id AS ts",
        "element_at(array('A', 'B', 'C', 'D'), cast(pmod(xxhash64(id), 4) AS int) + 1) AS type",
        "pmod(xxhash64(id, 1), 50) AS id",
        "pmod(xxhash64(id, 2), 1000) / 10 AS x",
    )
    expected = cep.query(QUERY).match(events.toArrow()).to_arrow()
    print("running", flush=True)
    found = cep.query(QUERY).match(events.mapInArrow(slowly, events.schema)).toArrow()
    order = [(name, "ascending") for name in found.column_names]
    same = found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()
    places = spark.range(4, numPartitions=4).mapInArrow(place, "place string").collect()
    answer = {
        "found": found.num_rows,
        "expected": expected.num_rows,
        "same": same,
        "places": sorted({Path(row["place"]).parent.parent.name for row in places}),
    }
    print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
