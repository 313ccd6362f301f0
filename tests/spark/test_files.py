"""Workers that read files find what a local run over the same files finds."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.rows import found_together, local_rows, spark_rows
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app
from cepheid.spark import match_files
from cepheid.spark.files import row_groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 6 RETURN a.n AS a, b.n AS b",
    "PATTERN SEQ(A a, B b, C c) WITHIN 4 RETURN a.n AS a, b.n AS b, c.n AS c",
    "PATTERN SEQ(~(C c), A a, B b) WHERE [id] WITHIN 6 RETURN a.n AS a, b.n AS b",
    "PATTERN SEQ(A a, B b, ~(C c)) WHERE [id] WITHIN 6 RETURN a.n AS a, b.n AS b",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND b[i].n > a.n } WITHIN 7 "
    "RETURN a.n AS a, b.LEN AS n",
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.n < b.n } WITHIN 6 RETURN a.n AS a",
)


@pytest.fixture(autouse=True)
def _small_slices(tune: Callable[..., None]) -> None:
    tune(file_rows_least=5, file_rows_most=10)


def events(count: int, seed: int, *, shuffled: int = 1) -> pa.Table:
    """Events with many equal times; in every so many rows the order is that of chance."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, count, count))
    for low in range(0, count, shuffled):
        random.shuffle(times[low : low + shuffled])
    return pa.table(
        {
            "ts": times,
            "type": pa.array(random.choice(list("ABCD"), count)),
            "id": random.integers(0, 2, count),
            "n": np.arange(count),
        }
    )


@pytest.mark.parametrize(("shuffled", "rows"), [(1, 3), (4, 4), (6, 4), (11, 4)])
def test_the_matches_are_those_of_a_local_run(
    spark: SparkSession, tmp_path: Path, shuffled: int, rows: int
) -> None:
    frames, expected = [], []
    for seed, text in enumerate(QUERIES):
        table = events(60, seed, shuffled=shuffled)
        folder = tmp_path / f"{seed} with a space"
        folder.mkdir()
        for part in range(3):
            here = table.slice(20 * part, 20)
            pq.write_table(here, folder / f"part {part}.parquet", row_group_size=rows)
        query = cep.query(text)
        frames.append(match_files(query, spark, str(folder)))
        expected.append(local_rows(query.match(table).to_arrow()))
    assert found_together(frames) == expected
    assert all(expected)


def test_events_are_read_in_slices(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(events(60, 1), tmp_path / "events.parquet", row_group_size=4)
    query = cep.query(QUERIES[0])
    found = match_files(query, spark, str(tmp_path / "events.parquet"))
    assert found.rdd.getNumPartitions() == 6


@pytest.mark.parametrize("kind", ["TIMESTAMP_MICROS", "INT96"])
def test_files_that_spark_wrote_may_lack_statistics(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    start = datetime.datetime(2024, 3, 1, 9, tzinfo=datetime.UTC)
    rows = [(start + datetime.timedelta(minutes=n), "AB"[n % 2], n) for n in range(40)]
    frame = spark.createDataFrame(rows, "ts timestamp, type string, n long")
    setting = "spark.sql.parquet.outputTimestampType"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, kind)
    try:
        for low in range(0, 40, 20):
            part = frame.where(f"n >= {low} and n < {low + 20}").coalesce(1)
            part.sortWithinPartitions("ts").write.mode("append").parquet(str(tmp_path / "written"))
    finally:
        spark.conf.set(setting, before)
    text = "PATTERN SEQ(A a, B b) WITHIN 3 minutes RETURN a.n AS a, b.n AS b"
    found = match_files(cep.query(text), spark, str(tmp_path / "written"), match_id=True)
    by_spark = cep.query(text).match(frame, match_id=True)
    assert sorted(found.collect()) == sorted(by_spark.collect()) != []


def test_a_file_may_have_its_types_in_another_form(spark: SparkSession, tmp_path: Path) -> None:
    table = events(30, 5)
    coded = table.set_column(1, "type", table["type"].dictionary_encode())
    pq.write_table(coded.slice(0, 16), tmp_path / "1.parquet", row_group_size=4)
    short = table.slice(14).set_column(3, "n", table["n"].slice(14).cast(pa.int64()))
    pq.write_table(short.slice(2), tmp_path / "2.parquet", row_group_size=5)
    query = cep.query(QUERIES[0])
    found = spark_rows(match_files(query, spark, str(tmp_path)))
    assert found == local_rows(query.match(table).to_arrow())


def test_names_of_columns_may_have_dots(spark: SparkSession, tmp_path: Path) -> None:
    names = {"ts": "event.ts", "type": "event.type", "id": "id", "n": "n"}
    table = events(40, 3).rename_columns(names)
    file = tmp_path / "events.parquet"
    pq.write_table(table, file, row_group_size=4)
    query, named = cep.query(QUERIES[0]), {"time": "event.ts", "type": "event.type"}
    found = spark_rows(match_files(query, spark, [file], **named))
    assert found == local_rows(query.match(table, **named).to_arrow())
    assert found


def test_an_unknown_file_system_is_said() -> None:
    with pytest.raises(cep.OptionError, match="workers cannot open strange://"):
        row_groups.opened("strange://bucket/file.parquet")


def refused(spark: SparkSession, path: Path, text: str = QUERIES[0], **keywords: Any) -> str:
    """What is said when the query is not run."""
    with pytest.raises(cep.OptionError) as error:
        match_files(cep.query(text), spark, str(path), **keywords)
    return str(error.value)


def test_what_cannot_be_done_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    pq.write_table(events(60, 1), file, row_group_size=4)
    assert "has no window" in refused(spark, file, "PATTERN SEQ(A a, B b) WHERE [id]")
    assert "counts events" in refused(spark, file, "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS")
    assert "depends on all matches" in refused(spark, file, output="non_overlapping")
    assert "depends on all matches" in refused(spark, file, at_most_once_per=5)
    text = "PATTERN SEQ(A a, B b) WITHIN 5 OUTPUT LEFTMOST"
    assert "leftmost depends on all matches" in refused(spark, file, text)
    pq.write_table(events(60, 1, shuffled=60), file, row_group_size=4)
    assert "in no order of time" in refused(spark, file)
    folder = tmp_path / "days"
    pq.write_to_dataset(events(60, 1), folder, partition_cols=["id"])
    assert "has no column 'id'" in refused(spark, folder)


def test_one_worker_for_all_is_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    file, query = tmp_path / "events.parquet", cep.query(QUERIES[0])
    pq.write_table(events(60, 1), file)
    with pytest.warns(cep.CepheidWarning, match="it is one row group"):
        match_files(query, spark, str(file))
    pq.write_table(events(60, 1), file, row_group_size=4)
    longer = cep.query(QUERIES[0].replace("WITHIN 6", "WITHIN 60"))
    with pytest.warns(cep.CepheidWarning, match="as long as all the events"):
        match_files(longer, spark, str(file))


def test_an_event_without_a_time_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    table = events(20, 1)
    times = pa.array([None if n == 7 else n for n in range(20)], pa.int64())
    pq.write_table(table.set_column(0, "ts", times), tmp_path / "e.parquet", row_group_size=5)
    found = match_files(cep.query(QUERIES[0]), spark, str(tmp_path / "e.parquet"))
    with pytest.raises(Exception, match=r"row 2 of row group 1 of file:.*needs a time"):
        found.collect()


def test_an_event_without_a_type_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    table = events(30, 1)
    types = [None if n == 17 else kind for n, kind in enumerate(table["type"].to_pylist())]
    path = tmp_path / "events.parquet"
    pq.write_table(table.set_column(1, "type", pa.array(types)), path, row_group_size=5)
    found = match_files(cep.query(QUERIES[0]), spark, str(path))
    with pytest.raises(Exception, match="an event needs a type"):
        found.collect()


def test_a_file_that_has_changed_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "e.parquet"
    pq.write_table(events(40, 1), file, row_group_size=5)
    found = match_files(cep.query(QUERIES[0]), spark, str(file))
    later = events(40, 1)
    pq.write_table(later.set_column(0, "ts", pa.array(np.arange(40) + 100)), file, row_group_size=5)
    with pytest.raises(Exception, match="has other events than when the query was planned"):
        found.collect()


@pytest.mark.usefixtures("batch_command")
def test_the_command_line_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(events(60, 1), "events.parquet", row_group_size=4)
    Path("q.sase").write_text(QUERIES[0])

    def run(*arguments: str) -> list[str]:
        result = CliRunner().invoke(app, ["match", "q.sase", "events.parquet", *arguments])
        assert result.exit_code == 0, result.stderr
        return sorted(result.stdout.splitlines())

    on_spark = ("--spark", "local[2]")
    assert run(*on_spark, "--in-place") == run(*on_spark, "--tie-break", "n") != []
    result = CliRunner().invoke(app, ["match", "q.sase", "events.parquet", "--in-place"])
    assert "--in-place needs --spark" in result.stderr

    def refusal(path: str) -> str:
        result = CliRunner().invoke(app, ["match", "q.sase", path, *on_spark, "--in-place"])
        assert result.exit_code != 0
        return result.stderr

    assert "reads only Parquet files" in refusal("events.csv")
    assert "Path does not exist" in refusal("nowhere.parquet")
