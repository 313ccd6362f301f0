"""``cepheid diagnose``: why a query finds nothing."""

import io
import json

import pytest
from rich.console import Console

import cepheid as cep
from cepheid.cli.commands.diagnosis import show

LATE = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 20 minutes"
TEXT = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id]
WITHIN 20 minutes

No match among 5 events.

  component      events  partial matches
  Shelf a             2                2
  ~(Register b)       1
  Exit c              2                0

2 partial matches reached Shelf a and stopped before Exit c:
  2  Exit came too late for the window of 20 minutes, 30 minutes at best

For example, with rows counted from 0:
  a = row 0, c = row 3  30 minutes from first to last event
  a = row 1, c = row 4  35 minutes from first to last event

Hints
  - The window is too short: the shortest match (ignoring negations) spans 30 minutes from first to
    last event, and must span less than 20 minutes.
"""


def test_a_diagnosis_is_plain_text_where_there_is_no_terminal(run):
    outcome = run("diagnose", "-q", LATE, "events.csv")
    assert outcome.code == 0
    assert outcome.out == TEXT
    assert outcome.err == ""


def test_a_diagnosis_as_json(run):
    outcome = run("diagnose", "-q", LATE, "events.csv", "--format", "json")
    found = json.loads(outcome.out)
    assert found == json.loads(json.dumps(cep.query(LATE).diagnose("events.csv").to_dict()))
    assert found["matches"] == {"number": 0, "is_exact": True}
    (branch,) = found["branches"]
    assert [each["component"] for each in branch["components"]] == [
        "Shelf a",
        "~(Register b)",
        "Exit c",
    ]
    (stop,) = branch["stops"]
    assert (stop["after"], stop["before"], stop["stopped"]) == ("Shelf a", "Exit c", 2)
    assert stop["reasons"][0]["kind"] == "window"
    assert stop["examples"][0]["rows"] == {"a": 0, "c": 3}


def test_a_query_that_matches(run):
    outcome = run("diagnose", "theft.sase", "events.csv")
    assert outcome.code == 0
    assert "1 match among 5 events." in outcome.out
    assert "~(Register b): Register came between a and c" in outcome.out


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_gets_tables(folder, width):
    found = cep.query(LATE).diagnose(folder / "events.csv")
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show(found, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    words = " ".join(text.split())
    assert "No match among 5 events." in words
    assert "Exit came too late" in words
    assert "Shelf a 2 2" in words


def test_alternatives_on_a_terminal(folder):
    query = "PATTERN SEQ(Shelf a, OR(Exit b, Door c)) WHERE a.zone = 'Aisle 1'"
    found = cep.query(query).diagnose(folder / "events.csv")
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show(found, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Alternative 2: SEQ(Shelf a, Door c), 0 matches" in text
    assert "a.zone = 'Aisle 1' fails for 2" in text
    assert "'aisle 1', which differs only by case" in " ".join(text.split())


def test_the_options_of_match_are_those_of_diagnose(run, folder):
    (folder / "numbers.csv").write_text("at,kind,n,x\n1,A,2,5\n1,B,1,6\n3,B,3,4\n")
    options = ("--time", "at", "--type", "kind", "--tie-break", "n", "--time-unit", "s")
    query = "PATTERN SEQ(A a, B b) WHERE b.x > a.x + N WITHIN 1 minute"
    outcome = run("diagnose", "-q", query, "numbers.csv", *options, "--set", "N=0")
    assert outcome.code == 0
    assert "a = row 0, b = row 2  b.x > a.x + 0: 4 > 5 + 0" in outcome.out


def test_faults_are_those_of_match(run):
    bad = run("diagnose", "-q", "PATTERN A a WHERE a.nothing = 1", "events.csv")
    assert bad.code == 1
    assert "no attribute 'nothing'" in bad.err
    assert run("diagnose", "theft.sase").code == 2
    assert run("diagnose", "theft.sase", "events.csv", "--format", "xml").code == 2
