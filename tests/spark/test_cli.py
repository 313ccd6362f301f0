"""``--spark`` at the command line gives the matches that a run without it gives."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

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
pytestmark = pytest.mark.usefixtures("batch_command")
ON_SPARK = ("--spark", "local[2]")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "theft.sase").write_text(QUERY)
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


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
    result = run("--spark", "local[2]", "-o", "thefts.parquet", "--reduce", "yes")
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
    assert "--reduce needs --spark" in run("--reduce", "yes").stderr
    assert "'maybe' is none of yes, no and auto" in run("--reduce", "maybe").stderr
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


ROWS = "MATCH_RECOGNIZE (PARTITION BY tag_id ORDER BY ts MEASURES count(*) AS n PATTERN (A+))"


def test_match_recognize_runs_with_match_and_with_sql(folder: Path) -> None:
    (folder / "rows.sql").write_text(ROWS)
    found = invoke("match", "rows.sql", "events.csv", *ON_SPARK, "--tie-break", "zone")
    lines = sorted(found.stdout.splitlines())
    assert lines == ['{"tag_id": 7, "n": 2}', '{"tag_id": 8, "n": 3}']
    assert "2 rows written in" in found.stderr
    statement = f"SELECT max(n) AS n FROM e {ROWS} m"
    found = invoke("sql", statement, "e=events.csv", *ON_SPARK)
    assert found.stdout == '{"n": 3}\n'
    found = invoke("sql", statement, "e=events.csv", *ON_SPARK, "-o", "out", "--format", "parquet")
    assert found.exit_code == 0
    assert pyarrow.parquet.read_table("out").to_pylist() == [{"n": 3}]
    wrong = invoke("sql", f"SELECT 1 FROM e {ROWS.replace('tag_id', 'tagid')}", "e=events.csv",
                   *ON_SPARK)  # fmt: skip
    assert wrong.stderr.startswith("query:1:47: the table has no column 'tagid'")
    failing = ROWS.replace("PATTERN (A+)", "AFTER MATCH SKIP TO A PATTERN (A)")
    wrong = invoke("match", "-q", failing, "events.csv", *ON_SPARK)
    assert wrong.exit_code == 1
    assert wrong.stderr.startswith("error: AFTER MATCH SKIP TO")
    assert invoke("match", "rows.sql", "events.csv", *ON_SPARK, "--count").exit_code == 2


def test_another_separator(folder: Path) -> None:
    (folder / "log.csv").write_text(EVENTS.replace(",", ";"))
    found = invoke("match", "theft.sase", "log.csv", "--sep", ";", *ON_SPARK)
    assert json.loads(found.stdout)["return"]["item"] == 7
    (folder / "log.jsonl").write_text(LINES)
    refused = invoke("match", "theft.sase", "log.jsonl", "--sep", ";", *ON_SPARK)
    assert refused.exit_code
    assert "is the character between the columns of a CSV file" in refused.stderr


def test_partial_matches_that_timed_out() -> None:
    query = "PATTERN SEQ(Shelf a, Register b) WHERE [tag_id] WITHIN 2 hours RETURN a.tag_id AS item"
    found = invoke("match", "-q", query, "events.csv", "--timed-out", *ON_SPARK)
    rows = [json.loads(line)["return"] for line in found.stdout.splitlines()]
    assert sorted((row["item"], row["timed_out"]) for row in rows) == [(7, True), (8, False)]


def test_counts_per_group_are_those_of_a_run_without_spark(folder: Path) -> None:
    query = "PATTERN SEQ(Shelf a, ANY(Exit, Register) c) WHERE [tag_id]"
    given = ("match", "-q", query, "events.csv", "--count-by", "a.zone,a.tag_id")
    here, there = invoke(*given), invoke(*given, *ON_SPARK)
    assert there.stdout == here.stdout
    assert json.loads(there.stdout.splitlines()[0])["count"] == 2
    assert "2 rows written" in there.stderr
    wrong = invoke(*given[:-1], "a.zon", *ON_SPARK)
    assert "the result has no column 'a.zon'" in wrong.stderr
    assert invoke(*given, *ON_SPARK, "-o", "counts.csv").exit_code == 0
    table = pyarrow.csv.read_csv(next((folder / "counts.csv").glob("*.csv")))
    assert table.column_names == ["a.zone", "a.tag_id", "count"]


def test_the_long_form_is_that_of_a_run_without_spark(folder: Path) -> None:
    query = (
        "PATTERN SEQ(Shelf+ a[], OR(Register b, Exit c)) WITHIN 25 minutes RETURN count(a[]) AS n"
    )
    given = ("match", "-q", query, "events.csv", "--format", "rows")

    def shown(text: str) -> list[list[str]]:
        """The rows of each match without its name, in the order of the rows."""
        found: dict[str, list[str]] = {}
        # Without Spark, times in CSV with fractions of seconds are in nanoseconds.
        for line in text.replace("000000000", "000000").splitlines():
            match, _, rest = line.partition(",")
            found.setdefault(match, []).append(rest)
        return sorted(found.values())

    here, there = invoke(*given), invoke(*given, *ON_SPARK)
    assert len(shown(here.stdout)) > 2
    assert shown(there.stdout) == shown(here.stdout)
    assert there.stdout.splitlines()[0] == here.stdout.splitlines()[0]
    limited = invoke(*given, *ON_SPARK, "--limit", "1", "-o", "rows.parquet")
    assert limited.exit_code == 0
    table = pyarrow.parquet.read_table(folder / "rows.parquet")
    assert len(set(table["match"].to_pylist())) == 1
    (folder / "shelf.csv").write_text("ts,match,zone\n1,7,aisle 1\n")
    (folder / "exit.csv").write_text("ts,match,door\n2,7,north\n")
    typed = ("match", "-q", "PATTERN SEQ(Shelf a, Exit c)", "Shelf=shelf.csv", "Exit=exit.csv")
    here, there = (invoke(*typed, *given[4:], *way) for way in ((), ON_SPARK))
    assert '"event_match"' in there.stdout
    assert columns_of_rows(there.stdout) == columns_of_rows(here.stdout)
    script = invoke("match", "-q", f"{QUERY}; {QUERY}", "events.csv", "--format", "rows", *ON_SPARK)
    assert "--format rows with --spark needs a single query" in script.stderr


def columns_of_rows(text: str) -> list[dict[str, str]]:
    """Rows without the name of the match and the type that Spark's frame has, in any order."""
    rows = list(csv.DictReader(text.splitlines()))
    return [{name: row[name] for name in row if name not in ("match", "type")} for row in rows]


def test_several_files_are_read_together(folder: Path) -> None:
    header, *lines = EVENTS.splitlines(keepends=True)
    (folder / "one.csv").write_text("".join([header, *lines[:2]]))
    (folder / "two.csv").write_text("".join([header, *lines[2:]]))
    found = invoke("match", "theft.sase", "one.csv", "two.csv", *ON_SPARK)
    assert found.stdout == run(*ON_SPARK).stdout
    (folder / "other.csv").write_text(EVENTS.replace("tag_id,zone", "zone,tag_id"))
    for paths in (["one.csv", "other.csv"], ["o*.csv"]):
        wrong = invoke("match", "theft.sase", *paths, *ON_SPARK)
        assert "'other.csv' and 'one.csv' have different headers" in wrong.stderr.replace(
            "'one.csv' and 'other.csv'", "'other.csv' and 'one.csv'"
        )
    (folder / "log.jsonl").write_text(LINES)
    mixed = invoke("match", "theft.sase", "one.csv", "log.jsonl", *ON_SPARK)
    assert "have different formats" in mixed.stderr
