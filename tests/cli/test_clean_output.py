"""Control characters of values, names and queries do not reach a terminal or a page."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet
import pytest

HOSTILE = "\x1b]0;\x07\x00\x7f\x85\x9b\u202e\u2066\u2028\r\n\t<b>&'\"`"
ESCAPED = r"\x1b]0;\x07\x00\x7f\x85\x9b\u202e\u2066\u2028"
LITERAL = "'" + HOSTILE.replace("'", "''") + "'"


@pytest.fixture
def hostile(folder):
    """Events with control characters in names and values."""
    table = pa.table(
        {
            "ts": [1, 2, 3],
            "type": ["A", "B", f"T{HOSTILE}"],
            "x": [HOSTILE, "b", "c"],
            f"n{HOSTILE}".replace("`", ""): [HOSTILE] * 3,
        }
    )
    pyarrow.parquet.write_table(table, folder / "hostile.parquet")
    (folder / "q.sase").write_text(f"PATTERN SEQ(A a, B b) WHERE a.x = {LITERAL}", newline="")
    return folder


def is_clean(text):
    return all(char.isprintable() or char in "\n\t" for char in text)


QUERIES = [
    "PATTERN SEQ(A a, B b)",
    "PATTERN A a RETURN a.x AS `r\x1b]0;\u202e`, a",
    "PATTERN `A\x1b]0;\u202e` a",
    "PATTERN A `a\x1b]0;\u202e`",
]


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "command",
    [
        ["match", "--format", "table"],
        ["diagnose"],
        ["explain"],
        ["explain", "--svg"],
        ["explain", "--mermaid"],
        ["check"],
    ],
    ids=" ".join,
)
def test_what_a_command_shows_has_no_control_characters(run, query, command):
    outcome = run(*command, "-q", query, "hostile.parquet")
    assert is_clean(outcome.out)
    assert is_clean(outcome.err)


@pytest.mark.usefixtures("hostile")
def test_values_are_escaped_in_a_table(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    outcome = run("match", "-q", "PATTERN A a RETURN a.x", "hostile.parquet", "--format", "table")
    assert ESCAPED in outcome.out
    assert is_clean(outcome.out)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("command", ["explain", "diagnose", "match", "check"])
def test_a_query_file_is_shown_clean(run, command):
    outcome = run(command, "q.sase", "hostile.parquet")
    assert outcome.code == 0
    assert is_clean(outcome.out.replace("\\n", ""))
    assert is_clean(outcome.err)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "-q", "PATTERN A a WHERE a.`\x1b]0;\u202e` = 1", "hostile.parquet"],
        ["match", "-q", "PATTERN A a WHERE \x1b]0;\u202e", "hostile.parquet"],
        ["match", "-q", "PATTERN A a WHERE a.x = '\x1b' AND a.y = 1", "hostile.parquet"],
        ["match", "-q", "PATTERN A a", "\x1b]0;\u202e.csv"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--time", "\x1b]0;\u202e"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "-o", "no\x1b]0;\u202e/x.csv"],
        ["match", "-q", "PATTERN `T\x1b]0;` a", "hostile.parquet"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--set", "\x1b]0;\u202e=5"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--\x1b]0;\u202e"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--format", "\x1b]0;\u202e"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--evaluation", "\x1b]0;\u202e"],
        ["match", "-q", "PATTERN A a", "hostile.parquet", "--schema", "\x1b]0;\u202e"],
        ["explain", "\x1b]0;\u202e.sase"],
        ["\x1b]0;\u202e"],
        ["demo", "\x1b]0;\u202e"],
    ],
)
def test_messages_have_no_control_characters(run, arguments):
    outcome = run(*arguments)
    assert outcome.err
    assert is_clean(outcome.err)


def test_the_caret_is_below_the_fault_after_escapes(run):
    said = run("check", "-q", "PATTERN A a WHERE a.x = '\x1b\t\x1b' AND b.x = 1").err.splitlines()
    assert said[1].expandtabs().index("b.x") == said[2].expandtabs().index("^")
    assert r"'\x1b" in said[1]


def test_a_long_line_is_shortened_around_the_fault(run):
    query = f"PATTERN A a WHERE a.x = '{'x' * 9_000}' AND b.x = 1 AND a.y = '{'y' * 9_000}'"
    said = run("check", "-q", query).err.splitlines()
    assert max(map(len, said)) < 2_000
    assert said[1].index("b.x") == said[2].index("^")


@pytest.mark.usefixtures("hostile")
def test_a_page_and_a_drawing_are_well_formed_and_clean(run):
    assert run("report", "q.sase", "hostile.parquet", "-o", "r.html").code == 0
    page = Path("r.html").read_text()
    assert is_clean(page)
    assert "<b>&" not in page
    run("explain", "q.sase", "--svg", "-o", "a.svg")
    drawing = Path("a.svg").read_text()
    assert is_clean(drawing)
    ElementTree.fromstring(drawing)
    run("explain", "q.sase", "hostile.parquet", "--stacks", "-o", "s.svg")
    ElementTree.fromstring(Path("s.svg").read_text())


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "=HYPERLINK(1)", "-"]
PLAIN = ["a=b", "", "-5", "+5.5", "-1e-3", "'", "text", None]


def test_a_spreadsheet_gets_no_formulas(run):
    values = [*FORMULAS, *PLAIN]
    count = len(values)
    table = pa.table(
        {
            "ts": range(count),
            "type": ["A"] * count,
            "x": values,
            "n": [-1.5] * count,
            "d": pa.array(values).dictionary_encode(),
        }
    )
    pyarrow.parquet.write_table(table, "cells.parquet")
    query = "PATTERN A a RETURN a.x, a.d AS `=d`, a.n, -a.n"
    plain = ["match", "-q", query, "cells.parquet", "--format", "csv", "-o"]
    assert run(*plain, "plain.csv").code == 0
    assert run(*plain, "safe.csv", "--spreadsheet").code == 0
    with Path("safe.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["start", "end", "a.x", "'=d", "a.n", "'-a.n"]
    expected = [f"'{each}" for each in FORMULAS] + [each or "" for each in PLAIN]
    assert [row[2] for row in rows] == [row[3] for row in rows] == expected
    assert {(row[4], row[5]) for row in rows} == {("-1.5", "1.5")}
    with Path("plain.csv").open(newline="") as file:
        assert [row[2] for row in csv.reader(file)][1:] == [each or "" for each in values]


def test_a_spreadsheet_is_csv(run):
    outcome = run("match", "-q", "EVENT Shelf", "events.csv", "--spreadsheet", "-o", "x.jsonl")
    assert outcome.code == 2
    assert "--format csv" in outcome.err
    script = "EVENT Shelf RETURN S(x = zone); EVENT Exit RETURN E(x = zone)"
    outcome = run("match", "-q", script, "events.csv", "--spreadsheet", "-o", "{query}.csv")
    assert outcome.code == 0


def test_a_query_that_is_not_utf_8_is_an_error(run, folder):
    (folder / "bad.sase").write_bytes(b"PATTERN A a WHERE a.x = '\xff'")
    assert re.search("not UTF-8", run("check", "bad.sase").err)
    outcome = run("check", "-q", "PATTERN A a WHERE a.x = '\udcff'")
    assert outcome.err.startswith("query:1:26: a lone surrogate is not a character")
    assert r"\udcff" in outcome.err


def test_rows_of_clauses_and_statements_have_no_formulas(run):
    table = pa.table({"ts": [1, 2], "x": ["=1+1", "text"]})
    pyarrow.parquet.write_table(table, "notes.parquet")
    clause = 'MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS "=x" PATTERN (A))'
    cells = '"\'=x"\n"\'=1+1"\n"text"\n'
    given = ["--format", "csv", "--spreadsheet"]
    assert run("match", "-q", clause, "notes.parquet", *given).out == cells
    assert run("sql", f"SELECT * FROM n {clause}", "n=notes.parquet", *given).out == cells
