"""A DataFrame that is nothing but files in the order of time: workers read them, unasked."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.rows import found_together, spark_rows
from spark.test_files import QUERIES, events

import cepheid as cep
from cepheid.spark.files import files
from cepheid.spark.files.plain_files import plain_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(autouse=True)
def _small_slices(tune: Callable[..., None]) -> None:
    tune(file_rows_least=5, file_rows_most=100)


def is_in_place(matches: DataFrame) -> bool:
    """Whether the workers read the files: nothing else is in the plan but numbers of slices."""
    plan = matches._jdf.queryExecution().optimizedPlan().toString()
    return "Range" in plan and "Sort" not in plan and "parquet" not in plan


@pytest.mark.parametrize("shuffled", [1, 4, 7])
def test_the_matches_are_those_of_spark_where_times_are_equal(
    spark: SparkSession, tmp_path: Path, shuffled: int
) -> None:
    frames: list[DataFrame] = []
    for seed, text in enumerate(QUERIES):
        table = events(80, seed, shuffled=shuffled)
        for part in range(2):
            file = tmp_path / str(seed) / f"part {part}.parquet"
            file.parent.mkdir(exist_ok=True)
            pq.write_table(table.slice(40 * part, 40), file, row_group_size=4)
        frame, query = spark.read.parquet(str(tmp_path / str(seed))), cep.query(text)
        in_place = query.match(frame)
        assert is_in_place(in_place)
        frames += [in_place, query.match(frame, in_place=False)]
        frames += [query.match(frame, tie_break=["n"], in_place=yes) for yes in (True, False)]
    found = found_together(frames)
    assert found[0::2] == found[1::2]
    assert all(found)


def _of_every_type(count: int) -> pa.Table:
    """Events of few times, which columns of one type each tell apart, and nothing at all."""
    random = np.random.default_rng(1)
    start = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[ix] for ix in random.integers(0, len(values), count)], kind)

    floats = [0.5, -0.0, 0.0, -1.5, float("nan"), float("inf"), -float("inf"), None]
    days = [datetime.date(2024, 3, day) for day in (1, 2, 3)]
    moments = [start + datetime.timedelta(seconds=n) for n in (0, 1, -5)]
    return pa.table(
        {
            "ts": pa.array(np.sort(random.integers(0, count // 4, count))),
            "type": some(["A", "B"], pa.string()),
            "truth": some([True, False, None], pa.bool_()),
            "small": some([1, -2, None], pa.int32()),
            "float": some(floats, pa.float32()),
            "double": some(floats, pa.float64()),
            "text": some(["a", "é", "Z", "", None, "\U0001f600", "\uffee"], pa.string()),
            "day": some([*days, None], pa.date32()),
            "moment": some([*moments, None], pa.timestamp("us", "UTC")),
            "price": some([Decimal("1.50"), Decimal("-3.25"), None], pa.decimal128(9, 2)),
            "n": pa.array(np.arange(count)),
        }
    )


def test_columns_of_every_type_order_events_as_spark_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = _of_every_type(300)
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=40)
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    frames: list[DataFrame] = []
    for name in table.column_names[2:-1]:
        # Which event is the next one depends on the order of those of equal time and type.
        text = (
            "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.n >= 0 } WITHIN 9 "
            f"RETURN a.n, b.n, a.{name} AS first"
        )
        for in_place in (True, False):
            found = cep.query(text).match(frame, in_place=in_place)
            assert is_in_place(found) == in_place
            frames.append(found.select("`a.n`", "`b.n`"))
    found_rows = found_together(frames)
    assert found_rows[0::2] == found_rows[1::2]
    assert all(found_rows)
    assert len({str(rows) for rows in found_rows}) > 2


def test_only_plain_files_are_read_in_place(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    Path(path).mkdir()
    pq.write_table(events(60, 1), f"{path}/1.parquet", row_group_size=4)
    frame = spark.read.parquet(path)
    whole = plain_files(frame)
    assert whole is not None
    assert [Path(file).name for file in whole] == ["1.parquet"]
    assert plain_files(frame.select("ts", "type", "id", "n")) == whole
    assert plain_files(frame.where("n > 3")) is None
    assert plain_files(frame.withColumn("n", frame["n"] + 1)) is None
    assert plain_files(frame.select("ts", frame["id"].alias("type"))) is None
    assert plain_files(frame.union(frame)) is None
    assert plain_files(frame.limit(3)) is None
    assert plain_files(spark.read.option("pathGlobFilter", "1*").parquet(path)) is None
    assert plain_files(spark.createDataFrame([(1,)], "n int")) is None
    frame.createOrReplaceTempView("seen")
    assert plain_files(spark.table("seen")) == whole
    assert plain_files(frame.alias("e")) == whole
    assert plain_files(spark.sql("SELECT n, ts FROM seen")) == whole
    assert plain_files(spark.sql("SELECT n, ts FROM seen WHERE n > 3")) is None
    assert plain_files(spark.sql("SELECT n + 1 AS n, ts FROM seen")) is None
    frame.where("n > 3").createOrReplaceTempView("some")
    assert plain_files(spark.table("some")) is None
    frame.selectExpr("id AS n", "ts").createOrReplaceTempView("renamed")
    assert plain_files(spark.table("renamed")) is None
    frame.write.partitionBy("id").parquet(str(tmp_path / "folders"))
    assert plain_files(spark.read.parquet(str(tmp_path / "folders"))) is None
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        assert plain_files(frame) is None
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    frame.cache()
    try:
        assert plain_files(frame) is None
        assert plain_files(spark.read.parquet(path)) is None
    finally:
        frame.unpersist()
    assert plain_files(frame) == whole


def test_times_as_spark_writes_them_are_read_first(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Callable[..., None]
) -> None:
    start = datetime.datetime(2024, 3, 1, 9, tzinfo=datetime.UTC)
    rows = [
        (start + datetime.timedelta(seconds=7 * (n // 2), microseconds=n % 2), "AB"[n % 2], n)
        for n in range(80)
    ]
    frame = spark.createDataFrame(rows, "ts timestamp, type string, n long")
    text = "PATTERN SEQ(A a, B b) WITHIN 30 seconds RETURN a.n AS a, b.n AS b, b.ts AS at"
    query = cep.query(text)

    def written(name: str, parts: list[str]) -> DataFrame:
        for part in parts:
            one = frame.where(part).coalesce(1)
            one.write.mode("append").parquet(str(tmp_path / name))
        return spark.read.parquet(str(tmp_path / name))

    in_order = written("in order", [f"n >= {low} AND n < {low + 20}" for low in range(0, 80, 20)])
    found = query.match(in_order)
    assert is_in_place(found)
    assert spark_rows(found) == spark_rows(query.match(in_order, in_place=False))
    assert spark_rows(found) == spark_rows(query.match(frame))
    assert found.count() > 0
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    try:
        assert not is_in_place(query.match(in_order))
    finally:
        spark.conf.unset("spark.sql.parquet.int96TimestampConversion")
    assert not is_in_place(query.match(written("one", ["true"])))
    mixed = written("mixed", [f"n % 4 = {rest}" for rest in range(4)])
    with monkeypatch.context() as patched:
        patched.setattr(files, "_with_times", None)  # It is not even tried.
        assert not is_in_place(query.match(mixed))
    tune(file_rows_untimed=79)
    assert not is_in_place(query.match(in_order))


def test_what_would_be_no_gain_or_is_not_certain_is_left_to_spark(
    spark: SparkSession, tmp_path: Path, tune: Callable[..., None]
) -> None:
    file, query = str(tmp_path / "events.parquet"), cep.query(QUERIES[0])

    def goes(table: pa.Table, rows: int = 4, query: cep.CompiledQuery = query, **said: Any) -> bool:
        pq.write_table(table, file, row_group_size=rows)
        frame = spark.read.parquet(file)
        found = query.match(frame, **said)
        assert spark_rows(found) == spark_rows(query.match(frame, in_place=False, **said))
        return is_in_place(found)

    table = events(60, 1)
    assert goes(table)
    assert not goes(table, slices=2)
    assert not goes(table, output="non_overlapping")
    assert not goes(table, at_most_once_per=5)
    assert goes(table, output="longest")
    assert not goes(table, rows=60)
    assert goes(table, tie_break="n")
    some = pa.array(
        [None if kind == "D" else n for n, kind in enumerate(table["type"].to_pylist())]
    )
    assert not goes(table.set_column(3, "n", some), tie_break="n")
    assert not goes(events(60, 1, shuffled=60))
    assert not goes(
        table, query=cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 4 EVENTS PER PARTITION")
    )
    assert not goes(table, query=cep.query(QUERIES[0].replace("WITHIN 6", "WITHIN 60")))
    short = table.set_column(2, "id", table["id"].cast(pa.uint8()))
    assert not goes(short)
    lists = table.append_column("l", pa.array([[n] for n in range(60)]))
    assert not goes(lists, query=cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 6 RETURN a.l"))
    old = table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    assert not goes(old)
    tune(files_most=0)
    assert not goes(table)
