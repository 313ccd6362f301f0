"""``cepheid match``: where queries and events come from."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from cepheid.cli.inputs import EVENT_SUFFIXES
from cepheid.events.sources.files import PARQUET_SUFFIXES
from cepheid.events.sources.text_files import CSV_DELIMITERS, JSON_SUFFIXES

PAIRS = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]"
STOLEN = [{"a": 0, "c": 3}]
LEFT = [{"a": 0, "c": 3}, {"a": 1, "c": 4}]


def test_a_query_comes_from_a_file_from_stdin_or_from_an_option(run, folder):
    assert run("match", "theft.sase", "events.csv").bindings == STOLEN
    text = (folder / "theft.sase").read_text()
    assert run("match", "-", "events.csv", text=text).bindings == STOLEN
    assert run("match", "-q", text, "events.csv").bindings == STOLEN
    assert run("match", "events.csv", "--query", text).bindings == STOLEN


def test_events_come_from_stdin(run, folder):
    text = (folder / "events.csv").read_text()
    assert run("match", "theft.sase", "-", text=text).bindings == STOLEN
    assert run("match", "-q", PAIRS, "-", text=text).bindings == LEFT
    rows = ({"ts": ts, "type": "Exit" if ts else "Shelf", "tag_id": 7} for ts in range(2))
    lines = "\n".join(map(json.dumps, rows))
    assert run("match", "-q", PAIRS, "-", text=lines).bindings == [{"a": 0, "c": 1}]
    assert run("explain", "theft.sase", "-", text=text).code == 0
    wrong = run("match", "theft.sase", "-", text=f"[{lines}]")
    assert wrong.code == 1
    assert "stdin.jsonl' holds a JSON array" in wrong.err


def test_a_query_file_may_begin_with_a_byte_order_mark(run, folder):
    (folder / "windows.sase").write_text(PAIRS, encoding="utf-8-sig")
    assert run("match", "windows.sase", "events.csv").bindings == LEFT


@pytest.fixture
def table(folder):
    return pyarrow.csv.read_csv(folder / "events.csv")


def test_events_come_from_parquet(run, table):
    pyarrow.parquet.write_table(table, "events.parquet")
    assert run("match", "-q", PAIRS, "events.parquet").bindings == LEFT


def test_events_come_from_json_lines_also_packed(run, table):
    lines = "".join(
        json.dumps({**row, "ts": f"{row['ts']:%Y-%m-%dT%H:%M:%S}"}) + "\n"
        for row in table.to_pylist()
    )
    Path("events.jsonl").write_text(lines)
    Path("events.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert run("match", "-q", PAIRS, "events.jsonl").bindings == LEFT
    assert run("match", "-q", PAIRS, "events.jsonl.gz").bindings == LEFT


def test_events_come_from_a_directory_or_a_glob_of_parquet_files(run, table):
    Path("day").mkdir()
    pyarrow.parquet.write_table(table.slice(0, 2), "day/1.parquet")
    pyarrow.parquet.write_table(table.slice(2), "day/2.parquet")
    assert run("match", "-q", PAIRS, "day").bindings == LEFT
    assert run("match", "-q", PAIRS, "day/*.parquet").bindings == LEFT


def test_a_directory_may_be_called_like_a_table_of_a_type(run, table):
    Path("year=2024").mkdir()
    pyarrow.parquet.write_table(table, "year=2024/1.parquet")
    assert run("match", "-q", PAIRS, "year=2024").bindings == LEFT


def test_each_type_may_have_a_table_of_its_own(run, table):
    for name in ("Shelf", "Register", "Exit"):
        rows = table.filter(pa.compute.equal(table["type"], name)).drop_columns(["type"])
        pyarrow.csv.write_csv(rows, f"{name.lower()}.csv")
    tables = ["Shelf=shelf.csv", "Register=register.csv", "Exit=exit.csv"]
    assert run("match", "theft.sase", *tables).bindings == STOLEN


def test_columns_are_named_and_ties_broken_by_options(run, folder):
    (folder / "ties.csv").write_text("at,kind,seq,part\n1,B,2,1\n1,A,1,2\n1,A,1,1\n")
    columns = ["--time", "at", "--type", "kind"]
    query = "PATTERN SEQ(A a, B b)"
    assert run("match", "-q", query, "ties.csv", *columns).bindings == []
    by_seq = run("match", "-q", query, "ties.csv", *columns, "--tie-break", "seq")
    assert {match["a"] for match in by_seq.bindings} == {1, 2}
    for ties in (["--tie-break", "part,seq"], ["--tie-break", "part", "--tie-break", "seq"]):
        outcome = run("match", "-q", query, "ties.csv", *columns, *ties)
        assert outcome.bindings == [{"a": 2, "b": 0}]


def test_plain_numbers_count_what_time_unit_says(run, folder):
    (folder / "n.csv").write_text("ts,type\n0,A\n1500,B\n")
    query = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"
    assert run("match", "-q", query, "n.csv", "--time-unit", "ms").bindings == [{"a": 0, "b": 1}]
    assert run("match", "-q", query, "n.csv", "--time-unit", "s").bindings == []


@pytest.mark.parametrize(
    ("setting", "condition", "found"),
    [
        ("T=7", "a.tag_id = T", 1),
        ("T=7.5", "a.tag_id > T", 1),
        ("T=true", "(a.tag_id = 7) = T", 1),
        ("T=aisle 1", "a.zone = T", 1),
        ("T='aisle 2'", "a.zone = T", 1),
        ('T="7"', "a.zone = T", 0),
        ("T=", "a.zone = T", 0),
    ],
)
def test_parameters_are_numbers_truth_values_or_texts(run, setting, condition, found):
    query = f"PATTERN Shelf a WHERE {condition}"
    outcome = run("match", "-q", query, "events.csv", "--set", setting)
    assert len(outcome.lines) == found


def test_several_parameters_may_be_set_also_the_window(run):
    query = "PATTERN SEQ(Shelf a, Exit c) WHERE a.tag_id = N AND c.tag_id = N WITHIN T"
    options = ["--set", "N=8", "--set", "T=40 minutes"]
    assert run("match", "-q", query, "events.csv", *options).bindings == [{"a": 1, "c": 4}]


def test_lists_are_grouped_by_an_attribute(run):
    query = "PATTERN Shelf{2,} a[]"
    assert len(run("match", "-q", query, "events.csv").lines) == 1
    assert not run("match", "-q", query, "events.csv", "--group-by", "a=tag_id").lines
    written = f"{query} WHERE a[i].tag_id = a[i-1].tag_id"
    explained = run("explain", "-q", query, "--group-by", "a=tag_id")
    assert explained.out == run("explain", "-q", written).out


def test_groups_of_a_script_are_conditions(run):
    text = "PATTERN Shelf{2,} a[] RETURN Two(n = a.LEN); PATTERN Two t"
    outcome = run("match", "-q", text, "events.csv", "--group-by", "a=tag_id")
    assert outcome.code != 0
    assert "(--group-by) needs a single query" in outcome.err


def test_a_schema_says_which_attributes_a_type_has(run, folder):
    query = "PATTERN ANY(Exit, Register) a WHERE a.zone = 'north door'"
    schema = '{"Exit": ["zone"], "Register": {"tag_id": "integer"}, "Shelf": []}'
    (folder / "schema.json").write_text(schema)
    assert run("match", "-q", query, "events.csv").bindings == [{"a": 3}]
    for given in (schema, "schema.json"):
        outcome = run("match", "-q", query, "events.csv", "--schema", given)
        assert outcome.bindings == [{"a": 2}, {"a": 3}]


def test_the_output_mode_and_the_evaluation_are_options(run):
    query = "PATTERN SEQ(Shelf a, Exit c)"
    assert len(run("match", "-q", query, "events.csv").lines) == 4
    once = run("match", "-q", query, "events.csv", "--output", "non_overlapping")
    assert once.bindings == [{"a": 1, "c": 3}]
    by_definition = run("match", "-q", query, "events.csv", "--evaluation", "reference")
    assert len(by_definition.lines) == 4


def test_a_misspelt_type_is_warned_of_on_stderr(run):
    outcome = run("match", "-q", "PATTERN Shelfs a", "events.csv")
    assert outcome.code == 0
    assert outcome.out == ""
    assert outcome.err.startswith("warning: no event has type 'Shelfs'")
    assert "Did you mean 'Shelf'?" in outcome.err


def test_a_parameter_that_the_query_does_not_have_is_warned_of_once(run):
    outcome = run("match", "-q", "PATTERN Shelf a WHERE a.tag > T", "events.csv", "--set", "t=1")
    assert outcome.code == 1
    outcome = run("match", "-q", "PATTERN Shelf a", "events.csv", "--set", "T=1")
    assert outcome.code == 0
    assert outcome.err.count("warning: the query does not use the parameter 'T'") == 1


def test_the_command_line_knows_the_suffixes_that_are_read():
    read = {*PARQUET_SUFFIXES, *CSV_DELIMITERS, *JSON_SUFFIXES}
    assert set(EVENT_SUFFIXES) == read


def test_an_option_is_given_by_name_or_by_its_short_form(run):
    by_name = run("match", "-q", PAIRS, "events.csv", "--option", "max_matches=1")
    assert by_name.code == 1
    assert "more than 1 matches" in by_name.err
    assert run("match", "-q", PAIRS, "events.csv", "--max-matches=1").err == by_name.err
    assert run("match", "-q", PAIRS, "events.csv", "--max-matches", "2").bindings == LEFT


def test_a_variant_is_an_option_and_its_old_flag_warns(run):
    plain = ("match", "-q", PAIRS, "events.csv", "--evaluation", "nfa_b")
    chosen = run(*plain, "--option", "algorithm=basic")
    assert chosen.bindings == LEFT
    assert "warning" not in chosen.err
    old = run(*plain, "--algorithm", "basic")
    assert old.bindings == LEFT
    assert "--algorithm is deprecated; use --option algorithm=basic" in old.err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("algoritm=basic", "Did you mean 'algorithm'?"),
        ("algorithm", "is not NAME=VALUE"),
        ("max_runs=0", "is not a positive integer"),
    ],
)
def test_a_wrong_option_is_wrong_usage(run, setting, message):
    wrong = run("match", "-q", PAIRS, "events.csv", "--option", setting)
    assert wrong.code == 2
    assert message in " ".join(wrong.err.split())


def test_several_text_files_are_read_together(run, folder):
    header, *rows = (folder / "events.csv").read_text().splitlines()
    for number, row in enumerate(rows):
        (folder / f"part-{number}.csv").write_text(f"{header}\n{row}\n")
    parts = sorted(folder.glob("part-*.csv"))
    assert run("match", "-q", PAIRS, *parts).bindings == LEFT
    assert run("match", "-q", PAIRS, "part-*.csv").bindings == LEFT
    mixed = run("match", "-q", PAIRS, "Shelf=part-0.csv", "part-1.csv")
    assert mixed.code == 2
    assert "name the type of each path, or of none" in mixed.err


def test_a_separator_and_a_format_of_times_are_given(run, folder):
    (folder / "log.csv").write_text("at;type\n1.3.2024 09:00;A\n1.3.2024 09:30;B\n")
    options = ["--time", "at", "--sep", ";", "--time-format", "%d.%m.%Y %H:%M"]
    query = "PATTERN SEQ(A a, B b) WITHIN W"
    found = run("match", "-q", query, "log.csv", *options, "--set", "W=1h")
    assert found.bindings == [{"a": 0, "b": 1}]
    assert run("match", "-q", query, "log.csv", *options, "--set", "W=10s").bindings == []
    for command in ("diagnose", "explain", "check"):
        text = ["-q", "PATTERN SEQ(A a, B b)", "log.csv"]
        assert run(command, *text, *options).code == 0
    refused = run("match", "-q", query, "log.csv", *options, "--set", "W=1h", "--spark", "local")
    assert refused.code == 2
    assert "--time-format cannot be combined with --spark" in refused.err


def test_bounds_of_a_repetition_are_set(run, folder):
    (folder / "n.csv").write_text("ts,type\n1,A\n2,A\n3,A\n")
    query = "PATTERN A{N} a[] WHERE strict_contiguity"
    found = run("match", "-q", query, "n.csv", "--set", "N=3")
    assert found.bindings == [{"a": [0, 1, 2]}]
    unset = run("match", "-q", query, "n.csv")
    assert "--set N=…" in unset.err


def test_rows_have_an_event_each(run, folder):
    outcome = run("match", "-q", PAIRS, "events.csv", "--format", "rows", "--limit", 1)
    assert outcome.out.splitlines() == [
        '"match","variable","index","ts","type","tag_id","zone"',
        '0,"a",1,2024-03-01 09:00:00.000000000,"Shelf",7,"aisle 1"',
        '0,"c",1,2024-03-01 09:30:00.500000000,"Exit",7,"north door"',
    ]
    run("match", "theft.sase", "events.csv", "--format", "rows", "-o", "rows.jsonl")
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert [(row["match"], row["variable"], row["zone"]) for row in rows] == [
        (0, "a", "aisle 1"),
        (0, "c", "north door"),
    ]


def test_matches_are_counted_by_group(run):
    both = "PATTERN SEQ(Shelf a, ANY(Register, Exit) b) WHERE [tag_id]"
    lines = run("match", "-q", both, "events.csv", "--count-by", "b.type").lines
    assert lines == [{"b.type": "Exit", "count": 2}, {"b.type": "Register", "count": 1}]
    table = run("match", "-q", both, "events.csv", "--count-by", "a.zone", "--format", "table").out
    assert [line.split() for line in table.splitlines()[2:]] == [
        ["aisle", "2", "2"],
        ["aisle", "1", "1"],
    ]
    wrong = run("match", "-q", both, "events.csv", "--count-by", "b.typ")
    assert "Did you mean 'b.type'?" in wrong.err
