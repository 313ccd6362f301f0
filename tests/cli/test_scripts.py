"""Scripts on the command line: one output per query."""

import json

import pyarrow.parquet
import pytest

SCRIPT = """\
PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] WITHIN 12 hours RETURN Left(item = a.tag_id);
PATTERN SEQ(Left s, Left t) WITHIN 1 hour RETURN s.item AS one, t.item AS other
"""


@pytest.fixture(autouse=True)
def _script(folder):
    (folder / "left.sase").write_text(SCRIPT)


def test_lines_say_which_query_they_are_of(run):
    outcome = run("match", "left.sase", "events.csv")
    assert [line["query"] for line in outcome.lines] == ["Left", "Left", "query_2"]
    assert outcome.lines[2]["bindings"] == {"s": "Left[0]", "t": "Left[1]"}
    assert "Left: 2 matches; query_2: 1 match in " in outcome.err


def test_each_query_has_a_table(run):
    out = run("match", "left.sase", "events.csv", "--format", "table").out
    assert out.index("Left: 2 matches") < out.index("query_2: 1 match") < out.index("other")


def test_each_query_has_a_file_in_a_folder_or_by_a_template(run, folder):
    assert run("match", "left.sase", "events.csv", "-o", "found").code == 0
    lines = (folder / "found/query_2.jsonl").read_text().splitlines()
    assert [json.loads(line)["return"] for line in lines] == [{"one": 7, "other": 8}]
    assert run("match", "left.sase", "events.csv", "-o", "x/{query}.parquet").code == 0
    assert pyarrow.parquet.read_table(folder / "x/Left.parquet")["item"].to_pylist() == [7, 8]


@pytest.mark.parametrize("options", [["-o", "all.csv"], ["--format", "csv"]])
def test_tables_of_several_queries_do_not_go_into_one_file(run, options):
    outcome = run("match", "left.sase", "events.csv", *options)
    assert outcome.code == 2
    assert "{query}" in outcome.err


def test_check_explain_and_diagnose_take_scripts(run):
    assert "left.sase: ok, 2 queries" in run("check", "left.sase", "events.csv").out
    explained = run("explain", "left.sase", "events.csv").out
    assert "query_2: query 2 of 2, reads the events and Left of query 1" in explained
    assert "PATTERN SEQ(Left s, Left t)" in run("diagnose", "left.sase", "events.csv").out
    only = run("diagnose", "left.sase", "events.csv", "--only", "Left").out
    assert "PATTERN SEQ(Shelf a, Exit c)" in only
    assert run("explain", "left.sase", "--svg").code == 2


def test_matches_of_each_query_are_counted(run):
    outcome = run("match", "left.sase", "events.csv", "--count")
    assert outcome.out == "Left: 2\nquery_2: 1\n"


def test_counting_builds_no_matches_that_nobody_reads(run, folder):
    rows = "".join(f"{ts},{'B' if ts else 'A'}\n" for ts in range(71))
    (folder / "many.csv").write_text("ts,type\n" + rows)
    script = "EVENT A RETURN X(at = A.ts); PATTERN SEQ(X x, B+ b[])"
    outcome = run("match", "-q", script, "many.csv", "--count")
    assert outcome.out == f"X: 1\nquery_2: {2**70 - 1}\n"


@pytest.mark.parametrize("option", ["top_k=1", "min_confidence=0.5", "statistics={}"])
def test_options_that_no_query_reads_are_refused(run, option):
    outcome = run("match", "left.sase", "events.csv", "--option", option)
    assert outcome.code != 0
    assert option.partition("=")[0].replace("_", "") in outcome.err.replace("-", "").replace(
        "_", ""
    )
    assert "script" in outcome.err


def test_an_option_of_an_evaluation_that_runs_no_query_is_warned_of(run):
    outcome = run("match", "left.sase", "events.csv", "--option", "algorithm=basic")
    assert "algorithm has no effect" in outcome.err
    assert "instance_stacks runs these queries" in outcome.err


def test_metrics_are_told_for_each_query(run):
    err = run("match", "left.sase", "events.csv", "--metrics").err
    assert set(json.loads(err.splitlines()[-1])) == {"Left", "query_2"}
