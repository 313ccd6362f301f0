"""What ``cepheid match`` writes, in each format."""

import csv
import io
import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

PAIRS = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]"
LISTS = "PATTERN SEQ(Shelf+ a[], Exit c) WHERE a[i].tag_id < 8 AND c.tag_id = 7"


def test_json_lines_hold_times_bindings_and_the_items_of_return(run):
    outcome = run("match", "theft.sase", "events.csv")
    assert outcome.lines == [
        {
            "start": "2024-03-01T09:00:00",
            "end": "2024-03-01T09:30:00.500000",
            "bindings": {"a": 0, "c": 3},
            "return": {"item": 7, "after": 1800.5},
        }
    ]


def test_json_lines_have_no_return_where_the_query_has_none(run):
    outcome = run("match", "-q", LISTS, "events.csv")
    assert [sorted(line) for line in outcome.lines] == [["bindings", "end", "start"]]
    assert outcome.bindings == [{"a": [0], "c": 3}]


def test_json_lines_hold_numbers_for_times_that_are_numbers(run, folder):
    (folder / "n.csv").write_text("ts,type,x\n1,A,1.5\n2,B,nan\n")
    query = "PATTERN SEQ(A a, B b) RETURN a.x, b.x AS start, b, NULL AS nothing"
    assert run("match", "-q", query, "n.csv").lines == [
        {
            "start": 1,
            "end": 2,
            "bindings": {"a": 0, "b": 1},
            "return": {
                "a.x": 1.5,
                "start": None,
                "b": {"ts": 2, "type": "B", "x": None},
                "nothing": None,
            },
        }
    ]


def test_csv_has_the_columns_of_the_result_and_json_for_what_has_parts(run):
    query = "PATTERN SEQ(Shelf+ a[], Exit c) WHERE [tag_id] RETURN c.tag_id, a[].zone, c, c.zone"
    outcome = run("match", "-q", query, "events.csv", "--format", "csv")
    rows = list(csv.reader(io.StringIO(outcome.out)))
    assert rows[0] == ["start", "end", "c.tag_id", "a[].zone", "c", "c.zone"]
    assert rows[1][2:4] == ["7", '["aisle 1"]']
    assert json.loads(rows[1][4])["zone"] == "north door"
    assert rows[2][5] == ""
    assert datetime.fromisoformat(rows[1][1]) == datetime(2024, 3, 1, 9, 30, 0, 500000)


def test_csv_has_durations_in_seconds(run):
    outcome = run("match", "theft.sase", "events.csv", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [(row["item"], row["after"]) for row in rows] == [("7", "1800.5")]


def test_parquet_has_the_columns_of_the_result(run):
    assert run("match", "theft.sase", "events.csv", "-o", "thefts.parquet").out == ""
    table = pyarrow.parquet.read_table("thefts.parquet")
    assert table.column_names == ["start", "end", "item", "after"]
    assert table["after"].to_pylist() == [timedelta(seconds=1800.5)]
    run("match", "-q", LISTS, "events.csv", "-o", "lists.pq")
    lists = pyarrow.parquet.read_table("lists.pq")
    assert lists["a"].to_pylist()[0][0]["zone"] == "aisle 1"


@pytest.mark.parametrize(
    ("file", "begins"),
    [
        ("out.jsonl", b'{"start"'),
        ("out.ndjson", b'{"start"'),
        ("out.json", b'{"start"'),
        ("out.csv", b'"start"'),
        ("out.parquet", b"PAR1"),
        ("out.pq", b"PAR1"),
        ("OUT.CSV", b'"start"'),
        ("out.txt", b"start"),
    ],
)
def test_the_suffix_of_the_file_says_the_format(run, file, begins):
    outcome = run("match", "-q", PAIRS, "events.csv", "-o", file)
    assert outcome.code == 0
    assert outcome.out == ""
    assert Path(file).read_bytes().startswith(begins)


def test_the_format_may_differ_from_the_suffix(run):
    run("match", "-q", PAIRS, "events.csv", "-o", "out.dat", "--format", "csv")
    assert Path("out.dat").read_text().startswith('"start"')


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "table"])
def test_no_match_is_an_empty_answer_with_its_columns(run, format):
    query = "PATTERN Shelf a WHERE a.tag_id > 100"
    outcome = run("match", "-q", query, "events.csv", "--format", format, "-o", "none.out")
    assert outcome.code == 0
    assert outcome.err.startswith("0 matches in ")
    if format == "csv":
        assert Path("none.out").read_text() == '"start","end","a"\n'
    elif format == "parquet":
        assert pyarrow.parquet.read_table("none.out").num_rows == 0
    else:
        assert Path("none.out").read_text() == ""


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_limit_keeps_the_first_matches(run, format, limit):
    outcome = run(
        "match", "-q", PAIRS, "events.csv", "--limit", limit, "--format", format, "-o", "first"
    )
    shown = min(limit, 2)
    if format == "parquet":
        assert pyarrow.parquet.read_table("first").num_rows == shown
    else:
        lines = Path("first").read_text().splitlines()
        assert len(lines) == shown + (format == "csv")
    said = "2 matches in " if limit == 3 else f"stopped after {shown} match"
    assert outcome.err.startswith(said)


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "table"])
def test_a_limit_ends_the_search(run, folder, format):
    """All of the 2^60 matches would take for ever."""
    rows = "".join(f"{ts},{'B' if ts else 'A'}\n" for ts in range(60))
    (folder / "many.csv").write_text("ts,type\n" + rows)
    query = "PATTERN SEQ(A a, B+ b[])"
    arguments = ["--limit", 5, "--format", format, "-o", "first"]
    outcome = run("match", "-q", query, "many.csv", *arguments)
    assert outcome.err.startswith("stopped after 5 matches (--limit) in ")


def test_a_table_shows_the_items_of_return(run):
    outcome = run("match", "theft.sase", "events.csv", "--format", "table")
    assert [line.split() for line in outcome.out.splitlines() if "─" not in line] == [
        ["item", "after"],
        ["7", "0:30:00.500000"],
    ]
    assert outcome.err.startswith("1 match in ")


def test_a_table_without_return_shows_where_the_events_are(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    outcome = run("match", "-q", PAIRS, "events.csv", "--format", "table")
    header, _, first, second = outcome.out.splitlines()
    assert header.split("  ")[0] == "start"
    assert "Shelf a" in header
    assert "row 0: tag_id 7, zone aisle 1" in first
    assert "row 3: tag_id 7, zone north door" in first
    assert "row 4: tag_id 8" in second


def test_a_table_shows_lists_of_rows_absent_variables_and_types_that_differ(run, folder):
    rows = "".join(f"{ts},{kind}\n" for ts, kind in enumerate("ABBBBBBBBC"))
    (folder / "many.csv").write_text("ts,type\n" + rows)
    query = "PATTERN SEQ(A a, B+ b[], OR(C c, D d), E* e[]) WHERE skip_till_any_match { b.LEN = 8 }"
    table = run("match", "-q", query, "many.csv", "--format", "table").out
    assert "rows 1, 2, 3, 4, 5, 6 … 8 (8 events)" in table
    assert table.splitlines()[2].count("–") == 2
    either = run("match", "-q", "PATTERN ANY(A, C) x", "many.csv", "--format", "table").out
    assert "row 0: type A" in either


def test_a_table_is_cut_to_the_width_and_says_what_has_no_room(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    table = run("match", "-q", PAIRS, "events.csv", "--format", "table").out
    assert max(map(len, table.splitlines())) <= 40
    assert "no room for start, end" in table
    assert "…" in table


def test_a_table_shows_fifty_matches_unless_told_otherwise(run, folder):
    rows = "".join(f"{ts},A\n" for ts in range(60))
    (folder / "many.csv").write_text("ts,type\n" + rows)
    default = run("match", "-q", "EVENT A", "many.csv", "--format", "table")
    assert len(default.out.splitlines()) == 2 + 50
    assert default.err.startswith("60 matches, 10 of them not shown, in ")
    told = run("match", "-q", "EVENT A", "many.csv", "--format", "table", "--limit", 55)
    assert len(told.out.splitlines()) == 2 + 55


def test_times_in_a_table_are_as_exact_as_they_must_be(run, folder):
    (folder / "t.csv").write_text(
        "ts,type\n2024-03-01 09:00:00.25,A\n2024-03-01 09:00:00.5,A\n2024-03-01 09:00:07.5,B\n"
    )
    table = run("match", "-q", "EVENT A RETURN ts", "t.csv", "--format", "table").out
    assert "2024-03-01 09:00:00.250\n2024-03-01 09:00:00.500\n" in table
    query = "PATTERN SEQ(A a, B b)"
    assert "09:00:07.500" in run("match", "-q", query, "t.csv", "--format", "table").out
    whole = run("match", "-q", "EVENT Shelf RETURN ts", "events.csv", "--format", "table").out
    assert "2024-03-01 09:05:00\n" in whole


def test_a_table_shows_the_attributes_that_the_query_uses(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    header = "ts,type,p,q,r,s,price,volume\n"
    rows = "1,A,1,2,3,4,10,100\n2,B,1,2,3,4,11,200\n3,B,1,2,3,4,12,300\n"
    (folder / "wide.csv").write_text(header + rows)
    query = "PATTERN SEQ(A a, B{2} b[]) WHERE b[i].price > a.price AND a.volume > 0"
    table = run("match", "-q", query, "wide.csv", "--format", "table").out
    assert "row 0: price 10, volume 100, p 1, q 2" in table
    assert "rows 1, 2: price 11, 12; volume 200, 300" in table


def test_more_matches_than_a_batch_are_all_written(run, folder, tune):
    tune(batch_matches=7)
    (folder / "many.csv").write_text("ts,type\n" + "".join(f"{ts},A\n" for ts in range(20)))
    assert len(run("match", "-q", "EVENT A", "many.csv").lines) == 20
    run("match", "-q", "EVENT A a RETURN a.ts", "many.csv", "-o", "all.csv", "--limit", 17)
    assert len(Path("all.csv").read_text().splitlines()) == 18


def test_every_kind_of_value_can_be_written(run):
    table = pa.table(
        {
            "ts": pa.array([1, 2]),
            "type": pa.array(["A", "A"]).dictionary_encode(),
            "day": pa.array([datetime(2024, 5, 1).date()] * 2),
            "at": pa.array([datetime(2024, 5, 1, 9)] * 2, pa.timestamp("ns", "Europe/Berlin")),
            "took": pa.array([timedelta(seconds=90)] * 2, pa.duration("ms")),
            "price": pa.array([Decimal("1.25"), None]),
            "raw": pa.array([b"\x01\xff", None]),
            "tags": pa.array([["x"], None]),
            "void": pa.nulls(2),
        }
    )
    pyarrow.parquet.write_table(table, "kinds.parquet")
    items = ", ".join(f"a.{name}" for name in table.column_names)
    query = f"PATTERN A a RETURN {items}, a"
    lines = run("match", "-q", query, "kinds.parquet").lines
    values = lines[0]["return"]
    assert values["a.day"] == "2024-05-01"
    assert values["a.at"] == "2024-05-01T11:00:00+02:00"
    assert values["a.took"] == 90
    assert values["a.price"] == 1.25
    assert values["a.raw"] == "01ff"
    assert values["a.tags"] == ["x"]
    assert lines[1]["return"]["a.price"] is None
    for format in ("csv", "parquet", "table"):
        outcome = run("match", "-q", query, "kinds.parquet", "--format", format, "-o", "kinds.out")
        assert outcome.code == 0
