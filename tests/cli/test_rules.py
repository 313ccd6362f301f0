"""Sets of rules on the command line."""

import json

import pyarrow.parquet
import pytest

THEFT = """\
+++
severity = "high"
tags = ["retail"]
+++
PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours
RETURN a.tag_id AS item
"""
ROWS = """\
MATCH_RECOGNIZE (PARTITION BY tag_id ORDER BY ts MEASURES LAST(B.zone) AS zone PATTERN (A B)
DEFINE A AS type = 'Shelf', B AS type = 'Exit')
"""


@pytest.fixture
def rules(folder):
    found = folder / "rules"
    found.mkdir()
    (found / "theft.sase").write_text(THEFT)
    (found / "rows.sql").write_text(ROWS)
    return found


def test_match_writes_the_matches_of_all_rules(run, rules):
    outcome = run("rules", "match", rules, "events.csv")
    assert outcome.code == 0
    assert [(line["rule"], line["key"], line["values"]) for line in outcome.lines] == [
        ("rows", {"tag_id": 7}, {"tag_id": 7, "zone": "north door"}),
        ("theft", {"tag_id": 7}, {"item": 7}),
    ]
    assert outcome.lines[1]["severity"] == "high"
    assert outcome.lines[1]["tags"] == ["retail"]
    assert outcome.err.startswith("2 matches of 2 rules in ")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "txt"])
def test_match_writes_files(run, rules, folder, suffix):
    assert run("rules", "match", rules, "events.csv", "-o", f"out.{suffix}").code == 0
    path = folder / f"out.{suffix}"
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path)["rule"].to_pylist() == ["rows", "theft"]
    else:
        assert "theft" in path.read_text()


def test_a_limit_writes_the_first_matches(run, rules):
    outcome = run("rules", "match", rules, "events.csv", "--limit", 1)
    assert len(outcome.lines) == 1
    assert "1 of them not shown" in outcome.err


def test_a_broken_rule_is_reported_and_the_others_run(run, rules):
    (rules / "broken.sase").write_text("PATTERN SEQ(Shelf a")
    (rules / "other.sase").write_text("PATTERN Shelf a WHERE a.nope = 1")
    outcome = run("rules", "match", rules, "events.csv")
    assert outcome.code == 1
    assert len(outcome.lines) == 2
    assert "2 rules cannot run\nrule broken:\n  broken.sase:1:12" in outcome.err
    assert "no attribute 'nope'" in outcome.err
    strict = run("rules", "match", rules, "events.csv", "--strict")
    assert (strict.code, strict.out) == (1, "")


def test_check_reports_each_rule(run, rules):
    outcome = run("rules", "check", rules)
    assert outcome.code == 0
    assert [line.partition(":")[0] for line in outcome.out.splitlines()] == ["rows", "theft"]
    (rules / "other.sase").write_text("PATTERN Shelf a WHERE a.nope = 1")
    assert run("rules", "check", rules).code == 0
    outcome = run("rules", "check", rules, "events.csv")
    assert outcome.code == 1
    assert "other.sase:1:25: the events have no attribute 'nope'" in outcome.err
    assert len(outcome.out.splitlines()) == 2


def test_explain_shows_each_rule(run, rules):
    outcome = run("rules", "explain", rules, "events.csv")
    assert "--- theft (severity high; tags retail)" in outcome.out
    assert "--- rows" in outcome.out


def test_stream_writes_matches_of_events_from_stdin(run, rules, folder):
    (rules / "rows.sql").unlink()
    outcome = run("rules", "stream", rules, "-", text=(folder / "events.csv").read_text())
    assert outcome.code == 0
    assert [json.loads(line)["values"] for line in outcome.out.splitlines()] == [{"item": 7}]


def test_a_stream_without_events_is_an_error(run, rules):
    outcome = run("rules", "stream", rules, "-", text="")
    assert outcome.code == 1
    assert "there are no events on stdin" in outcome.err


def test_a_rule_that_cannot_be_streamed_is_reported(run, rules, folder):
    (rules / "rows.sql").write_text("MATCH_RECOGNIZE (ORDER BY tag_id PATTERN (A))")
    outcome = run("rules", "stream", rules, "-", text=(folder / "events.csv").read_text())
    assert outcome.code == 1
    assert "rule rows:" in outcome.err
    assert len(outcome.lines) == 1


def test_top_shows_what_each_rule_costs_and_finds(run, rules):
    (rules / "never.sase").write_text("PATTERN SEQ(Exit a, Shelf b)")
    (rules / "rows.sql").unlink()
    outcome = run("rules", "top", rules, "events.csv", "--batch", 2)
    assert outcome.code == 0
    found = {line["rule"]: line for line in outcome.lines}
    assert (found["theft"]["matches"], found["never"]["matches"]) == (1, 0)
    assert found["theft"]["last_match"].startswith("2024-03-01T09:30:00.5")
    assert outcome.err == "no matches: never\n"


def test_wrong_usage_is_said(run, rules, folder):
    assert run("rules", "match").code == 2
    events = folder / "events.csv"
    assert "name - (stdin), a folder or a topic" in run("rules", "stream", rules, events).err
    assert "name a folder for the state" in run("rules", "stream", rules, folder).err
    (folder / "empty").mkdir()
    assert "has no rules" in run("rules", "match", "empty", "events.csv").err
    assert "there is no such folder" in run("rules", "match", "nowhere", "events.csv").err


@pytest.mark.parametrize("command", ["check", "explain", "match", "stream", "top"])
def test_each_command_has_help(run, command):
    assert "FOLDER" in run("rules", command, "--help").out
