"""``cepheid sql``: statements with MATCH_RECOGNIZE over files."""

import json

import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb", reason="cepheid sql needs DuckDB")

CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES count(UP.*) AS rises
  PATTERN (A UP+) DEFINE UP AS price > PREV(price)
)"""
STATEMENT = f"SELECT name, rises FROM ticks {CLAUSE} AS m JOIN names USING (symbol)"


@pytest.fixture(autouse=True)
def _files(folder):
    (folder / "ticks.csv").write_text("ts,symbol,price\n1,X,5\n2,X,6\n3,X,7\n1,Y,9\n2,Y,8\n")
    (folder / "names.csv").write_text("symbol,name\nX,Xylo\nY,Yoyo\n")
    (folder / "falls.sql").write_text(STATEMENT)


def test_a_statement_is_an_argument_or_in_a_file(run):
    tables = ("ticks=ticks.csv", "names=names.csv")
    for arguments in ((STATEMENT, *tables), ("-f", "falls.sql", *tables)):
        outcome = run("sql", *arguments)
        assert outcome.code == 0
        assert json.loads(outcome.out) == {"name": "Xylo", "rises": 2}
        assert outcome.err.startswith("1 row in ")


def test_formats_limits_and_files(run, folder):
    text = "SELECT * FROM ticks ORDER BY symbol, ts"
    outcome = run("sql", text, "ticks=ticks.csv", "--format", "csv", "--limit", "2")
    assert outcome.out == '"ts","symbol","price"\n1,"X",5\n2,"X",6\n'
    assert "5 rows, 3 not shown, in " in outcome.err
    assert run("sql", text, "ticks=ticks.csv", "-o", "out.parquet").code == 0
    assert pq.read_table(folder / "out.parquet").num_rows == 5
    assert "Xylo" in run("sql", "SELECT 'Xylo' AS name", "--format", "table").out
    assert run("sql", "SELECT * FROM 'ticks.csv' LIMIT 1").code == 0


def test_a_statement_may_be_longer_than_a_file_name(run):
    symbols = ", ".join(["'X'"] * 1000)
    text = f"SELECT t.price FROM ticks AS t WHERE t.symbol IN ({symbols}) LIMIT 1"
    assert run("sql", text, "ticks=ticks.csv").code == 0


def test_parameters_and_time_units(run):
    text = """SELECT x FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
        MEASURES sum(price) AS x PATTERN (A+) WITHIN INTERVAL '2' SECOND DEFINE A AS price > LOW)"""
    outcome = run("sql", text, "ticks=ticks.csv", "--set", "LOW=5", "--time-unit", "s")
    assert [json.loads(line)["x"] for line in outcome.out.splitlines()] == [13, 17]


def test_faults_name_the_file_and_the_place(run, folder):
    (folder / "falls.sql").write_text(STATEMENT.replace("PREV(price)", "PREV(prize)"))
    outcome = run("sql", "-f", "falls.sql", "ticks=ticks.csv", "names=names.csv")
    assert outcome.code == 1
    assert outcome.err.startswith("falls.sql:3:45: the table has no column 'prize'\n")
    outcome = run("sql", "SELECT * FROM nowhere")
    assert outcome.code == 1
    assert outcome.err.startswith("error: DuckDB cannot run the statement: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no statement: give it, or name its file with -f"),
        (("falls.sql", "ticks=ticks.csv"), "'falls.sql' is a file: name it with -f falls.sql"),
        (("SELECT 1", "ticks.csv"), "'ticks.csv' is not NAME=PATH"),
        (("SELECT 1", "--format", "rows"), "rows is for the events of matches"),
        (("SELECT 1", "--tie-break", "x"), "rows of files keep their order"),
    ],
)
def test_wrong_usage(run, arguments, said):
    outcome = run("sql", *arguments)
    assert outcome.code == 2
    assert said in " ".join(outcome.err.replace("│", " ").split())
