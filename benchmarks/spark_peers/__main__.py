"""``python -m benchmarks.spark_peers [--full]``: cepheid and what one would write without it.

All ways read the same Parquet file and write nowhere; before they are timed, their answers are
compared. A way that takes longer than ``--patience`` seconds for that is not timed again, nor
tried on harder cases. ``cepheid`` has the workers read the file, as it does with a frame that is
nothing but files in the order of time; ``cepheid, read by Spark`` is for all other frames.
``idle worker`` is the plan of the latter without any matching, and ``most`` the gain that it would
have if matches cost nothing.
Experiments 5 and 6 of [Wu06] compare with a relational stream processor in the same sense.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.spark_peers.data import LETTERS, write_events
from benchmarks.spark_peers.plots import draw
from benchmarks.spark_peers.ways import WAYS, idle_worker
from benchmarks.timing import print_table, write_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES, SEED = 6, 6
IDS, EVENTS_IN_WINDOW = 10_000, 20
IDLE = "idle worker"
BY_SPARK = "cepheid, read by Spark"
OURS = ("cepheid", BY_SPARK)


@dataclass(frozen=True, slots=True)
class Case:
    """A sequence of so many components, over so many ids, each with so many events in a window.

    ``tests`` is 2 if events must also agree on their kind.
    """

    length: int = 3
    ids: int = IDS
    events_in_window: int = EVENTS_IN_WINDOW
    tests: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """What the events of a match agree on."""
        return ("id", "kind")[: self.tests]

    @property
    def window(self) -> int:
        """In ticks, of which each has an event of some id."""
        return self.ids * self.events_in_window

    def is_as_hard_as(self, other: Case) -> bool:
        """Whether who gave up on the other need not try this one."""
        return (
            self.length >= other.length
            and self.ids <= other.ids
            and self.tests <= other.tests
            and self.events_in_window >= other.events_in_window
        )


CASES = {
    "length": [Case(length) for length in (2, 3, 4, 5)],
    "window": [Case(events_in_window=number) for number in (5, 10, 40)],
    "ids": [Case(ids=number) for number in (1_000, 100)],
    "sparse": [
        *(Case(events_in_window=number) for number in (1, 10, 30)),
        *(Case(length, events_in_window=10) for length in (2, 4)),
    ],
    "domains": [
        Case(ids=ids, events_in_window=10_000 // ids, tests=tests)
        for tests in (1, 2)
        for ids in (10_000, 1_000, 100, 10)
    ],
}
"""Ever longer sequences and windows, and the same number of events with ever fewer ids.

Those of ``sparse`` are for ``--types 20``, as in [Wu06], where few events are of the query's types.
So are those of ``domains``: experiment 6, in windows of 10,000 events.
"""
USUAL = ("length", "window", "ids")


def measure(
    spark: SparkSession,
    folder: Path,
    count: int,
    rounds: int,
    patience: float,
    types: int = TYPES,
    series: Sequence[str] = USUAL,
    ways: Sequence[str] = tuple(WAYS),
) -> Iterator[dict[str, Any]]:
    """A row for each case: the seconds of each way, and how often cepheid is faster."""
    # Starting workers and loading compiled code is nobody's time, and no reason to give up.
    little = folder / "little.parquet"
    write_events(little, 1_000, 10, types, SEED)
    for name in ways:
        WAYS[name](spark.read.parquet(str(little)), 3, 100, ("id",)).collect()
    given_up: dict[str, list[Case]] = {name: [] for name in ways}
    for case in (case for name in series for case in CASES[name]):
        file = folder / f"{case.ids}.parquet"
        if not file.exists():
            write_events(file, count, case.ids, types, SEED)

        def start(name: str, case: Case = case, file: Path = file) -> DataFrame:
            way = idle_worker if name == IDLE else WAYS[name]
            return way(spark.read.parquet(str(file)), case.length, case.window, case.keys)

        row: dict[str, Any] = asdict(case)
        seconds: dict[str, list[float]] = {}
        for name in ways:
            if any(case.is_as_hard_as(other) for other in given_up[name]):
                continue
            begun = perf_counter()
            answer = _summary(start(name), case.length)
            took = perf_counter() - begun
            expected = row.setdefault("matches", answer[0]), row.setdefault("checksum", answer[1])
            assert answer == expected, f"{name} finds {answer}, and not {expected}"
            seconds[name] = []
            if took > patience and name not in OURS:
                given_up[name].append(case)
                seconds[name] = [took]
        idle: list[float] = []
        for _ in range(rounds):
            for name, times in seconds.items():
                if case not in given_up[name]:
                    times.append(_seconds_of(partial(start, name)))
            if BY_SPARK in ways:
                idle.append(_seconds_of(partial(start, IDLE)))
        for name, times in seconds.items():
            row[name] = statistics.median(times)
        best = min((row[name] for name in seconds if name not in OURS), default=math.nan)
        row |= {f"{name} gains": best / row[name] for name in OURS if name in row}
        if idle:
            row[IDLE] = statistics.median(idle)
            row["most"] = best / row[IDLE]
        yield row


def _seconds_of(start: Callable[[], DataFrame]) -> float:
    begun = perf_counter()
    start().write.format("noop").mode("overwrite").save()
    return perf_counter() - begun


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
    parser.add_argument("--types", type=int, default=TYPES, help="how many types of events")
    parser.add_argument("--series", choices=tuple(CASES), nargs="+", default=USUAL)
    parser.add_argument("--ways", choices=tuple(WAYS), nargs="+", default=tuple(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    count = given.count or (10_000_000 if given.full else 2_000_000)

    settings = {"count": count, "types": given.types, "seed": SEED, "rounds": given.rounds}

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(
            spark,
            Path(folder),
            count,
            given.rounds,
            given.patience,
            given.types,
            given.series,
            given.ways,
        )
        rows = []
        for row in measured:
            rows.append(row)
            print(row, flush=True)
            write_results(given.output, "spark_peers", rows, settings)  # a later one may take long
    spark.stop()
    print_table(
        f"Seconds of the whole job over {count:,} events, {given.types} types",
        rows,
        [
            *("length", "ids", "events_in_window", "tests", "matches"),
            *given.ways,
            *(f"{name} gains" for name in OURS),
            *(IDLE, "most"),
        ],
    )
    draw(rows, given.output / "spark_peers.svg")
    print(f"\nResults are in {given.output}/spark_peers.csv, .json and .svg.")


if __name__ == "__main__":
    main()
