"""Exit codes and messages when something is wrong."""

import pytest

from cepheid.api import CompiledQuery

PAIRS = "PATTERN SEQ(Shelf a, Exit c)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["theft.sase", "event.csv"], "error: there is no file 'event.csv'. Did you mean 'events"),
        (["thief.sase", "events.csv"], "error: cannot read the query 'thief.sase': No such file"),
        (["events.csv", "theft.sase"], "error: 'events.csv' is a file of events, not of a query"),
        (
            ["binary.sase", "events.csv"],
            "error: cannot read the query 'binary.sase': it is not UTF",
        ),
        (["-q", "PATERN A a", "events.csv"], "query:1:1: unexpected 'PATERN'"),
        (["-q", "PATTERN A a WHERE b.x = 1", "events.csv"], "query:1:19: the pattern has no vari"),
        (
            ["theft.sase", "events.csv", "--time", "at"],
            "error: the events have no time column 'at'",
        ),
        (["theft.sase", "events.csv", "--tie-break", "n"], "error: the events have no tie-break"),
        (["theft.sase", "events.csv", "--time-unit", "ms"], "error: time_unit='ms' says what"),
        (["-q", "PATTERN Exit a WITHIN 5", "events.csv"], "error: column 'ts' is timestamp"),
        (["theft.sase", "events.csv", "-o", "no/out.csv"], "error: cannot write 'no/out.csv': No"),
        (["theft.sase", "events.csv", "--schema", "no.json"], "error: cannot read the schema 'no"),
        (
            ["theft.sase", "events.csv", "--schema", "{"],
            "error: the schema '{' cannot be parsed as JSON: ",
        ),
        (["theft.sase", "events.csv", "--schema", '{"A": 1}'], "error: the schema is not a JSON"),
        (["theft.sase", "events.csv", "--group-by", "b"], "error: --group-by needs VARIABLE=ATTR"),
        (["theft.sase", "Shelf=shelf.csv"], "error: table 'Shelf': there is no file 'shelf.csv'"),
    ],
)
def test_a_fault_of_query_or_events_is_1(run, folder, arguments, message):
    (folder / "binary.sase").write_bytes(b"\xff\xfe")
    outcome = run("match", *arguments)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith(message)
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match"], "QUERYFILE: no query"),
        (["match", "theft.sase"], "EVENTS: no events"),
        (["match", "-q", PAIRS], "EVENTS: no events"),
        (["match", "theft.sase", "A=a.csv", "b.csv"], "'b.csv' is not TYPE=PATH, and others are"),
        (["match", "theft.sase", "A=a.csv", "b.csv"], "'b.csv' is not TYPE=PATH"),
        (["match", "theft.sase", "A=a.csv", "A=b.csv"], "the type 'A' has two tables"),
        (["match", "theft.sase", "events.csv", "--set", "T"], "'T' is not NAME=VALUE"),
        (["match", "theft.sase", "events.csv", "--set", "=5"], "'=5' is not NAME=VALUE"),
        (["match", "theft.sase", "events.csv", "--output", "al"], "Did you mean 'all'?"),
        (["match", "theft.sase", "events.csv", "--evaluation", "referense"], "Did you mean 'ref"),
        (["match", "theft.sase", "events.csv", "--time-unit", "msecond"], "is no unit of time"),
        (["match", "theft.sase", "events.csv", "--format", "xml"], "'xml' is not one of"),
        (
            ["match", "theft.sase", "events.csv", "--format", "tabel"],
            "'--format': 'tabel' is not one of jsonl, csv, parquet, table and rows. "
            "Did you mean 'table'?",
        ),
        (["diagnose", "theft.sase", "events.csv", "--format", "jsn"], "Did you mean 'json'?"),
        (["match", "-", "-"], "only one of them can be read from stdin"),
        (["match", "theft.sase", "events.csv", "--limit", "-1"], "--limit"),
        (["match", "theft.sase", "events.csv", "--limit", "few"], "--limit"),
        (["match", "theft.sase", "events.csv", "-o", "out"], "the suffix of 'out' names no format"),
        (["match", "theft.sase", "events.csv", "--nothing"], "--nothing"),
        (["match", "theft.sase", "events.csv", "--spark", "locl"], "Did you mean 'local'?"),
        (["demo", "--spark", "nowhere"], "'nowhere' is not a Spark master"),
        (["demo", "--spark", "spark:host"], "'spark:host' is not a Spark master"),
        (["stream", "theft.sase", "in", "--spark", "lokal[2]"], "is not a Spark master"),
        (["explain"], "QUERYFILE: no query"),
        (["explain", "theft.sase", "--evaluation", "x"], "there is no evaluation 'x'"),
        (["check"], "QUERYFILE: no query"),
        (["demo", "--scenario", "stock"], "there is no scenario 'stock'"),
        (["nothing"], "nothing"),
    ],
)
def test_wrong_usage_is_2(run, arguments, message):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("Usage: cepheid")
    assert message in " ".join(outcome.err.split())


@pytest.mark.parametrize("command", [["match", "theft.sase", "events.csv"], ["demo"]])
def test_an_interrupt_is_130(run, command, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    for name in ("match", "match_stream"):
        monkeypatch.setattr(CompiledQuery, name, interrupted)
    outcome = run(*command)
    assert outcome.code == 130
    assert outcome.err == "interrupted\n"


def test_a_bug_is_not_hidden(run, monkeypatch):
    def broken(*_arguments, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr(CompiledQuery, "match_stream", broken)
    with pytest.raises(ZeroDivisionError):
        run("match", "theft.sase", "events.csv")


def test_nothing_is_written_when_the_query_is_wrong(run, folder):
    (folder / "kept.csv").write_text("kept")
    assert run("match", "-q", "PATTERN", "events.csv", "-o", "kept.csv").code == 1
    assert (folder / "kept.csv").read_text() == "kept"
