"""``python -m benchmarks.spark_peers [--full]``: cepheid and what one would write without it.

All ways read the same Parquet file and write nowhere; before they are timed, their answers are
compared. A way that takes longer than ``--patience`` seconds is not tried on the harder cases.
Experiments 5 and 6 of [Wu06] compare with a relational stream processor in the same sense.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.spark_peers.data import LETTERS, events
from benchmarks.spark_peers.plots import draw
from benchmarks.spark_peers.ways import WAYS
from benchmarks.timing import print_table, write_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IDS, TYPES, SEED = 10_000, 6, 6
LENGTHS = (2, 3, 4, 5)


def measure(
    spark: SparkSession, file: Path, count: int, rounds: int, patience: float
) -> list[dict[str, Any]]:
    """A row for each case: the seconds of each way, and how often cepheid is faster."""
    shares = (0.01, 0.02, 0.05)
    cases = [(length, shares[0]) for length in LENGTHS] + [(3, share) for share in shares[1:]]
    rows = []
    given_up: dict[str, list[tuple[int, float]]] = {name: [] for name in WAYS}
    for length, share in cases:
        window = max(int(count * share), 2)
        row: dict[str, Any] = {"length": length, "window": window}
        seconds: dict[str, list[float]] = {}
        for name, way in WAYS.items():
            if any(length >= long and share >= wide for long, wide in given_up[name]):
                continue
            found = way(spark.read.parquet(str(file)), length, window)
            begun = perf_counter()
            answer = _summary(found, length)
            took = perf_counter() - begun
            expected = row.setdefault("matches", answer[0]), row.setdefault("checksum", answer[1])
            assert answer == expected, f"{name} finds {answer}, and not {expected}"
            seconds[name] = []
            if took > patience:
                given_up[name].append((length, share))
                seconds[name] = [took]
        for _ in range(rounds):
            for name, times in seconds.items():
                if (length, share) in given_up[name]:
                    continue
                begun = perf_counter()
                found = WAYS[name](spark.read.parquet(str(file)), length, window)
                found.write.format("noop").mode("overwrite").save()
                times.append(perf_counter() - begun)
        for name, times in seconds.items():
            row[name] = statistics.median(times)
        best = min(row[name] for name in seconds if name != "cepheid")
        row["gain"] = best / row["cepheid"]
        rows.append(row)
        print(".", end="", flush=True)
    print()
    return rows


def _summary(found: DataFrame, length: int) -> tuple[int, int]:
    """How many matches there are, and a number that depends on all of them."""
    columns = ", ".join(LETTERS[:length].lower())
    counted = found.selectExpr("count(*)", f"coalesce(sum(pmod(xxhash64({columns}), 1000003)), 0)")
    count, checksum = counted.collect()[0]
    return int(count), int(checksum)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the ways that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_peers")
    parser.add_argument("--full", action="store_true", help="10 million events, not 2 million")
    parser.add_argument("--count", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    count = given.count or (10_000_000 if given.full else 2_000_000)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.parquet"
        pq.write_table(events(count, IDS, TYPES, SEED), file)
        rows = measure(spark, file, count, given.rounds, given.patience)
    spark.stop()
    print_table(
        f"Seconds of the whole job over {count:,} events, {IDS:,} ids, {TYPES} types",
        rows,
        ["length", "window", "matches", *WAYS, "gain"],
    )
    settings = {"count": count, "ids": IDS, "types": TYPES, "seed": SEED, "rounds": given.rounds}
    write_results(given.output, "spark_peers", rows, settings)
    draw(rows, given.output / "spark_peers.svg")
    print(f"\nResults are in {given.output}/spark_peers.csv, .json and .svg.")


if __name__ == "__main__":
    main()
