"""Queries over layouts of events as they occur, beside the best way in plain Spark.

``python -m benchmarks.spark_layouts`` writes events in several layouts, if they are not there yet,
and runs a question over each with cepheid and in every plain way that applies: joins and window
functions, with the events of a rare type broadcast where that helps. All give the same number of
matches and the same sum over their times. Measured is the processor time of the JVM and of all
workers. ``--events 20000`` runs everything in a small size.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from benchmarks.spark_batch import processor_time
from benchmarks.timing import print_table, write_results

DAYS = 10
DAY = 86_400


@dataclass(frozen=True)
class Data:
    """Events of ids; type C has the share ``rare`` of all events.

    ``layout`` is "date folders" (each in no order), "time order", "table" or "join". An id has
    ``per_key`` events, and there are ``factor`` times as many events as usual.
    """

    layout: str
    per_key: int
    rare: float
    factor: float = 1.0


@dataclass(frozen=True)
class Question:
    """A sequence of ``length`` types with the same id within a window, in seconds.

    ``negated``: no event of type N between the first two.
    """

    length: int
    window: int
    negated: bool = False

    @property
    def letters(self) -> str:
        """The types of the sequence, C among them."""
        return "AC" if self.length == 2 else "ABCDE"[: self.length]

    @property
    def query(self) -> cep.CompiledQuery:
        """The question in SASE+."""
        parts = [f"{letter} {letter.lower()}" for letter in self.letters]
        if self.negated:
            parts.insert(1, "~(N n)")
        names = [letter.lower() for letter in self.letters]
        shown = ", ".join(f"{name}.ts AS {name}" for name in names)
        return cep.query(  # type: ignore[return-value]
            f"PATTERN SEQ({', '.join(parts)}) WHERE [id] WITHIN {self.window} seconds "
            f"RETURN {shown}"
        )


LAYOUTS: dict[str, tuple[Data, Question]] = {
    "folders, 0.1 % rare": (Data("date folders", 40, 0.001), Question(3, 3_600, True)),
    "folders, 1 % rare": (Data("date folders", 40, 0.01), Question(3, 3_600, True)),
    "folders, 10 % rare": (Data("date folders", 40, 0.1), Question(3, 3_600, True)),
    "folders, none rare": (Data("date folders", 40, 0.25), Question(3, 3_600)),
    "folders, few keys": (Data("date folders", 20_000, 0.001), Question(2, 60)),
    "time-ordered files": (Data("time order", 40, 0.01), Question(3, 3_600, True)),
    "a catalog table": (Data("table", 40, 0.01), Question(4, 7_200)),
    "after a join": (Data("join", 40, 0.01), Question(3, 3_600)),
    "five components": (Data("date folders", 80, 0.02), Question(5, 7_200)),
    "long window": (Data("date folders", 16, 0.005, 2.0), Question(2, DAY, True)),
}


def write(spark: SparkSession, folder: Path, data: Data, events: int) -> None:
    """Five columns: the time, the type, the id, and two of values."""
    number, length = F.col("number"), DAYS * DAY

    def noise(salt: int, below: int) -> Any:
        return F.pmod(F.xxhash64(number, F.lit(salt)), F.lit(below))

    share = noise(1, 1_000_000) / 1_000_000
    rest = [*"ABDE", "N"]
    common = F.element_at(F.array(*map(F.lit, rest)), (noise(2, len(rest)) + 1).cast("int"))
    in_order = data.layout == "time order"
    # In time order, the times of rows increase with their numbers; otherwise they are scattered.
    seconds = number * length / events if in_order else noise(3, length * 1_000) / 1_000
    frame = spark.range(0, events, numPartitions=8).withColumnRenamed("id", "number")
    frame = frame.select(
        F.timestamp_micros((seconds * 1_000_000).cast("long") + 1_700_000_000_000_000).alias("ts"),
        F.when(share < data.rare, F.lit("C")).otherwise(common).alias("type"),
        noise(4, max(1, events // data.per_key)).alias("id"),
        (noise(5, 10_000) / 100).alias("x"),
        noise(6, 10_000).alias("y"),
    )
    if data.layout == "date folders":
        days = frame.withColumn("day", F.to_date("ts")).repartition(DAYS, "day")
        days.write.mode("overwrite").partitionBy("day").parquet(str(folder))
    else:
        frame.write.mode("overwrite").option("parquet.block.size", 8 << 20).parquet(str(folder))


def read(spark: SparkSession, folder: Path, data: Data) -> DataFrame:
    """The events of a layout as a job would read them."""
    frame = spark.read.parquet(str(folder))
    if data.layout == "table":
        spark.sql("DROP TABLE IF EXISTS layout_events")
        spark.sql(f"CREATE TABLE layout_events USING parquet LOCATION '{folder.absolute()}'")
        return spark.table("layout_events")
    if data.layout == "join":
        tags = frame.select("id").distinct().withColumn("shop", F.pmod("id", F.lit(50)))
        return frame.join(tags, "id").where("shop < 40")
    return frame


def self_joins(question: Question, broadcast: bool, events: DataFrame) -> DataFrame:
    """A join for each component from the rare one outwards, and an anti-join for the negation."""
    letters = question.letters
    micros = question.window * 1_000_000

    def part(letter: str) -> DataFrame:
        name = letter.lower()
        return events.where(f"type = '{letter}'").selectExpr(
            f"id AS id_{name}", f"unix_micros(ts) AS {name}"
        )

    first, *others = sorted(range(len(letters)), key=lambda ix: letters[ix] != "C")
    found, bound = part(letters[first]), [first]
    key = f"id_{letters[first].lower()}"
    for ix in others:
        table, name = part(letters[ix]), letters[ix].lower()
        condition = found[key] == table[f"id_{name}"]
        for other in bound:
            there = found[letters[other].lower()]
            low, high = (there, table[name]) if other < ix else (table[name], there)
            condition &= (low < high) & (high - low < micros)
        # The rare side is small enough to be sent to everybody.
        small = F.broadcast(found) if broadcast and len(bound) == 1 else found
        found = small.join(table, condition).drop(f"id_{name}")
        bound.append(ix)
    if question.negated:
        between = part("N")
        violated = (
            (found[key] == between["id_n"])
            & (between["n"] > found["a"])
            & (between["n"] < found[letters[1].lower()])
        )
        found = found.join(between, violated, "left_anti")
    return found.select(*letters.lower())


def window_functions(question: Question, events: DataFrame) -> DataFrame:
    """At each last event, lists of those before it in the window; their combinations, filtered."""
    *earlier, last = question.letters.lower()
    micros = question.window * 1_000_000
    over = f"PARTITION BY id ORDER BY t RANGE BETWEEN {micros - 1} PRECEDING AND 1 PRECEDING"
    lists = [
        f"collect_list(CASE WHEN type = '{name.upper()}' THEN t END) OVER ({over}) AS {name}s"
        for name in [*earlier, *("n" if question.negated else "")]
    ]
    types = [*question.letters, *("N" if question.negated else "")]
    timed = events.where(F.col("type").isin(types)).selectExpr("type", "id", "unix_micros(ts) AS t")
    found = timed.selectExpr("type", f"t AS {last}", *lists).where(f"type = '{last.upper()}'")
    for place, name in enumerate(earlier):
        kept = [each for each in found.columns if each != f"{name}s"]
        found = found.selectExpr(*kept, f"explode({name}s) AS {name}")
        if place:
            found = found.where(f"{name} > {earlier[place - 1]}")
    if question.negated:
        second = [*earlier, last][1]
        found = found.where(f"NOT exists(ns, n -> n > a AND n < {second})")
    return found.select(*earlier, last)


def by_cepheid(question: Question, events: DataFrame, **keywords: Any) -> DataFrame:
    """The times of the events of each match, as the plain ways give them."""
    found = question.query.match(events, **keywords)
    names = question.letters.lower()
    return found.select(*(F.unix_micros(name).alias(name) for name in names))


Way = Callable[[DataFrame], DataFrame]


def ways(question: Question) -> dict[str, Way]:
    """Everything that answers a question."""
    return {
        "cepheid": partial(by_cepheid, question),
        "cepheid, not reduced": partial(by_cepheid, question, reduce=False),
        "joins": partial(self_joins, question, False),
        "joins, rare broadcast": partial(self_joins, question, True),
        "window functions": partial(window_functions, question),
    }


def answer(found: DataFrame) -> tuple[int, int]:
    """The number of matches, and a number that hardly any other matches have."""
    total = F.sum(F.xxhash64(*found.columns).cast("decimal(38, 0)"))
    row = found.agg(F.count(F.lit(1)).alias("count"), total.alias("total")).first()
    assert row is not None
    return int(row["count"]), int(row["total"] or 0)


def measured(
    spark: SparkSession, name: str, events: int, rounds: int, output: Path
) -> Iterator[dict[str, Any]]:
    """The rows of one layout; the first round, in which code is compiled, is not counted."""
    data, question = LAYOUTS[name]
    count = int(events * data.factor)
    folder = output / f"layout_{data.layout.replace(' ', '_')}_{data.per_key}_{data.rare}_{count}"
    if not (folder / "_SUCCESS").exists():
        write(spark, folder, data, count)
    frame = read(spark, folder, data)
    answers: dict[str, tuple[int, int]] = {}
    seconds: dict[str, list[float]] = {way: [] for way in ways(question)}
    for number in range(rounds + 1):
        for way, plan in ways(question).items():
            begun = processor_time()
            answers[way] = answer(plan(frame))
            if number:
                seconds[way].append(processor_time() - begun)
    if len(set(answers.values())) > 1:
        raise AssertionError(f"{name}: the answers differ: {answers}")
    best = min(statistics.median(seconds[way]) for way in seconds if "cepheid" not in way)
    for way, each in seconds.items():
        taken = statistics.median(each)
        yield {
            "layout": name,
            "events": count,
            "way": way,
            "matches": answers[way][0],
            "cpu_s": round(taken, 2),
            "of_best_plain": round(taken / best, 2),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_layouts")
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(given.master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(given.output.absolute() / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows: list[dict[str, Any]] = []
    for name in given.layouts:
        found = list(measured(spark, name, given.events, given.rounds, given.output))
        print_table(name, found)
        rows += found
    ours = [row["of_best_plain"] for row in rows if row["way"] == "cepheid"]
    print(f"cepheid beside the best plain way, median: {statistics.median(ours):.2f}")
    settings = {"events": given.events, "rounds": given.rounds, "master": given.master}
    write_results(given.output, "spark_layouts", rows, settings)
    spark.stop()


if __name__ == "__main__":
    main()
