"""``--spark`` at the command line gives the matches that a run without it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from cepheid.cli.app import app
from cepheid.cli.spark import spark_run
from cepheid.cli.spark.spark_run import in_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours
RETURN a.tag_id AS item, c.ts - a.ts AS after, a.zone AS zone"""
EVENTS = """\
ts,type,tag_id,zone
2024-03-01 09:00:00,Shelf,7,aisle 1
2024-03-01 09:05:00,Shelf,8,aisle 2
2024-03-01 09:20:00,Register,8,register 1
2024-03-01 09:30:00.5,Exit,7,north door
2024-03-01 09:40:00,Exit,8,
"""
LINES = """\
{"ts": "2024-03-01T09:00:00", "type": "Shelf", "tag_id": 7, "zone": "aisle 1"}
{"ts": "2024-03-01T09:30:00", "type": "Exit", "tag_id": 7, "zone": "north door"}
"""
ON_SPARK = ("--spark", "local[2]")


class Unstoppable:
    """The session of the tests, which goes on when a command ends."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> None:
        """Other tests need it."""


@pytest.fixture(autouse=True)
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    def start(_master: str) -> Unstoppable:
        # What the command's own session would have.
        spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        return Unstoppable(spark)

    monkeypatch.setattr(spark_run, "start_spark", start)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "theft.sase").write_text(QUERY)
    (tmp_path / "events.csv").write_text(EVENTS)
    yield tmp_path
    spark.conf.unset("spark.sql.timestampType")


def run(*arguments: str) -> Result:
    return invoke("match", "theft.sase", "events.csv", *arguments)


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_lines_and_tables_are_those_of_a_run_without_spark() -> None:
    local, found = (json.loads(run(*extra).stdout) for extra in ((), ("--spark", "local[2]")))
    del local["bindings"]
    assert found == local
    tables = [run("--format", "table", *extra) for extra in ((), ("--spark", "local[2]"))]
    assert tables[0].stdout == tables[1].stdout
    assert "1 match shown in " in tables[1].stderr


def test_spark_writes_a_folder(folder: Path) -> None:
    result = run("--spark", "local[2]", "-o", "thefts.parquet")
    assert "1 match written in " in result.stderr
    assert pyarrow.parquet.read_table(folder / "thefts.parquet")["item"].to_pylist() == [7]


def test_a_folder_that_exists_is_refused_before_spark_starts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_run, "start_spark", lambda _: pytest.fail("Spark has started"))
    (folder / "thefts" / "Left").mkdir(parents=True)
    where = ("--spark", "local[2]", "--format", "jsonl", "-o", "thefts")
    assert "'thefts' already exists; Spark writes to a new folder" in run(*where).stderr
    (folder / "both.sase").write_text("PATTERN Shelf a RETURN Left(tag_id = a.tag_id); " + QUERY)
    again = invoke("match", "both.sase", "events.csv", *where)
    assert again.exit_code == 1
    assert "'thefts/Left' already exists; Spark writes to a new folder" in again.stderr
    assert "name it with -o" in run("--spark", "local[2]", "--format", "csv").stderr


def test_options_that_do_not_go_together_are_refused() -> None:
    assert "--slices needs --spark" in run("--slices", "2").stderr
    assert "neither a number" in run("--spark", "local[2]", "--slices", "few").stderr
    assert "cannot be combined with --spark" in run("--spark", "local[2]", "--metrics").stderr


@pytest.mark.parametrize("where", [[], ["--format", "table"], ["-o", "found.parquet"]])
def test_what_a_worker_says_is_one_line(folder: Path, where: list[str]) -> None:
    (folder / "theft.sase").write_text("PATTERN SEQ(Shelf a, Exit c)")
    result = run("--spark", "local[2]", "--max-matches", "1", *where)
    assert result.exit_code == 1
    warning, error = result.stderr.splitlines()
    assert warning.startswith("warning: all events go to one worker")
    assert error.startswith("error: there are more than 1 matches: ")


def test_a_null_time_is_one_line(folder: Path) -> None:
    (folder / "events.csv").write_text(EVENTS + ",Exit,7,\n")
    result = run("--spark", "local[2]")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: time column 'ts' is null in 1 of ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("row", ["2024-03-01 09:45:00,Exit", "2024-03-01 09:45:00,Exit,7,x,y"])
def test_a_row_with_too_few_or_too_many_fields_is_an_error(folder: Path, row: str) -> None:
    (folder / "events.csv").write_text(EVENTS + row + "\n")
    for extra in ((), ("--spark", "local[2]")):
        result = run(*extra)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert "cannot" in result.stderr
        assert "events.csv" in result.stderr
        assert result.stderr.count("\n") == 1
    assert f"Malformed CSV record: {row}" in result.stderr


def test_a_line_that_is_not_json_is_an_error(folder: Path) -> None:
    (folder / "events.jsonl").write_text(LINES + '{"ts": "2024-03-01T09:45:00", "ty\n')
    result = invoke("match", "theft.sase", "events.jsonl", "--spark", "local[2]")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: Spark cannot read ")
    assert "events.jsonl" in result.stderr
    assert result.stderr.count("\n") == 1


def test_texts_of_csv_are_those_of_a_run_without_spark(folder: Path) -> None:
    text = EVENTS.replace("aisle 1", '"the ""cold"" aisle, 1\\"')
    (folder / "events.csv").write_text(text)
    zones = [json.loads(run(*extra).stdout)["return"]["zone"] for extra in ((), ON_SPARK)]
    assert zones == ['the "cold" aisle, 1\\'] * 2


def test_a_folder_holds_files_of_one_kind(folder: Path) -> None:
    def found(*where: str) -> Result:
        return invoke("match", "theft.sase", "many", "--spark", "local[2]", *where)

    many = folder / "many"
    many.mkdir()
    assert "is empty" in found().stderr
    header, *rows = EVENTS.splitlines(keepends=True)
    (many / "one.csv").write_text(header + "".join(rows[:2]))
    (many / "two.csv").write_text(header + "".join(rows[2:]))
    (many / "_SUCCESS").write_text("")
    assert json.loads(found().stdout)["return"]["item"] == 7
    assert "reads only Parquet files" in found("--in-place").stderr
    (many / "more.jsonl").write_text(LINES)
    assert "has more.jsonl and one.csv; all files of a folder must" in found().stderr
    (many / "one.csv").unlink()
    (many / "two.csv").unlink()
    assert json.loads(found().stdout)["return"]["item"] == 7
    (many / "notes.txt").write_text("")
    result = found()
    assert result.exit_code == 1
    assert "'notes.txt' in the folder" in result.stderr


def test_parquet_files_of_a_folder_need_no_suffix(folder: Path) -> None:
    many = folder / "many"
    many.mkdir()
    events = pyarrow.csv.read_csv(folder / "events.csv")
    pyarrow.parquet.write_table(events, many / "000000_0", coerce_timestamps="us")
    result = invoke("match", "theft.sase", "many", "--spark", "local[2]")
    assert json.loads(result.stdout)["return"]["item"] == 7


def test_csv_files_of_a_folder_have_one_header(folder: Path) -> None:
    many = folder / "many"
    many.mkdir()
    (many / "one.csv").write_text(EVENTS)
    (many / "two.csv").write_text("ts,type,zone,tag_id\n2024-03-01 09:45:00,Exit,,7\n")
    result = invoke("match", "theft.sase", "many", "--spark", "local[2]")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: 'two.csv' and 'one.csv' have different headers; ")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_durations_are_seconds_in_what_spark_writes(folder: Path, format: str) -> None:
    assert run(*ON_SPARK, "--format", format, "-o", "found").exit_code == 0
    parts = [part.read_text().splitlines() for part in (folder / "found").glob("part*")]
    (last,) = [lines[-1] for lines in parts if len(lines) > (format == "csv")]
    after = last.split(",")[3] if format == "csv" else json.loads(last)["after"]
    assert float(after) == 1800.5


def test_durations_inside_events_and_lists_are_seconds_too(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT INTERVAL '-1 00:00:01.5' DAY TO SECOND AS gap, "
        "named_struct('d', INTERVAL '90' MINUTE, 'x', 1) AS event, "
        "array(named_struct('d', INTERVAL '1' HOUR), null) AS list, "
        "CAST(NULL AS STRUCT<d: INTERVAL SECOND>) AS nothing, CAST(NULL AS INTERVAL DAY) AS none"
    )
    (row,) = in_seconds(frame).collect()
    assert row.asDict(recursive=True) == {
        "gap": -86401.5,
        "event": {"d": 5400.0, "x": 1},
        "list": [{"d": 3600.0}, None],
        "nothing": None,
        "none": None,
    }


def test_times_can_be_uncertain() -> None:
    arguments = ("--uncertainty", "2 min", "--granularity", "1 min", "--min-confidence", "0.1")
    local, found = (
        json.loads(run(*arguments, *extra).stdout) for extra in ((), ("--spark", "local[2]"))
    )
    assert {name: found["return"][name] for name in ("item", "zone")} == {
        name: local["return"][name] for name in ("item", "zone")
    }
    assert "top_k ranks all" in run(*arguments, "--top-k", "1", "--spark", "local[2]").stderr


def test_a_script_has_a_folder_for_each_query(folder: Path) -> None:
    text = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] RETURN Left(tag_id = a.tag_id); " + QUERY
    (folder / "both.sase").write_text(text)
    shown = [
        invoke("match", "both.sase", "events.csv", *extra).stdout.splitlines()
        for extra in ((), ("--spark", "local[2]"))
    ]
    queries = [[json.loads(line)["query"] for line in lines] for lines in shown]
    assert sorted(queries[0]) == sorted(queries[1]) == ["Left", "Left", "query_2"]
    where = ("--spark", "local[2]", "--format", "jsonl", "-o", "found")
    said = invoke("match", "both.sase", "events.csv", *where).stderr
    assert "Left: 2 matches written; query_2: 1 match written in " in said
    assert (folder / "found" / "Left").is_dir()


def test_the_demo_on_spark_shows_what_the_demo_shows() -> None:
    shown = [
        invoke("demo", "--scenario", "stock_trend", *extra).stdout
        for extra in ((), ("--spark", "local[2]"))
    ]
    without_seconds = [text.partition(" events in ")[0] for text in shown]
    assert without_seconds[0] == without_seconds[1]
    assert "matches among 1,500" in without_seconds[1]
