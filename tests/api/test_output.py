"""OUTPUT as a clause and as keywords: they say the same, and agree where both are there."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app

EVENTS = {"ts": [1, 2, 3, 4, 9], "type": list("AABBB"), "k": [1, 1, 1, 1, 1]}
PAIRS = "PATTERN SEQ(A a, B b) WITHIN 20"


def rows(matches: cep.Matches) -> list[tuple[int, ...]]:
    return sorted(tuple(binding.values()) for binding in matches.bindings())


@pytest.mark.parametrize(
    ("clause", "keywords", "expected"),
    [
        ("ALL", {"output": "all"}, [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]),
        ("FIRST", {"output": "first"}, [(0, 2), (1, 2)]),
        ("LONGEST", {"output": "longest"}, [(0, 4), (1, 4)]),
        ("LEFTMOST", {"output": "leftmost"}, [(0, 4)]),
        ("NON_OVERLAPPING", {"output": "non_overlapping"}, [(1, 2)]),
        ("AT MOST ONCE PER 2", {"at_most_once_per": 2}, [(0, 2), (0, 4)]),
        (
            "LONGEST AT MOST ONCE PER 2",
            {"output": "longest", "at_most_once_per": "2"},
            [(0, 4)],
        ),
    ],
)
def test_a_clause_and_keywords_say_the_same(
    clause: str, keywords: dict[str, Any], expected: list[tuple[int, int]]
) -> None:
    said, plain = cep.query(f"{PAIRS} OUTPUT {clause}"), cep.query(PAIRS)
    assert rows(said.match(EVENTS)) == expected
    assert rows(said.match(EVENTS, **keywords)) == expected
    assert rows(plain.match(EVENTS, **keywords)) == expected
    assert said.count(EVENTS) == plain.count(EVENTS, **keywords) == len(expected)
    assert said.match_stream(EVENTS).exhaust() == len(expected)
    session = said.session()
    found = rows(session.feed(EVENTS)) + rows(session.advance())
    assert sorted(found) == expected


@pytest.mark.parametrize(
    ("clause", "keywords", "message"),
    [
        ("FIRST", {"output": "all"}, "output='all' does not agree with the OUTPUT clause"),
        ("FIRST", {"output": "compressed"}, "output='compressed' does not agree"),
        ("AT MOST ONCE PER 5", {"at_most_once_per": 6}, "at_most_once_per='6' does not agree"),
        ("AT MOST ONCE PER 5", {"output": "compressed"}, "AT MOST ONCE PER leaves out some"),
    ],
)
def test_they_must_agree(clause: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(cep.OptionError, match=message):
        cep.query(f"{PAIRS} OUTPUT {clause}").match(EVENTS, **keywords)


def test_what_one_of_them_leaves_open_the_other_says() -> None:
    query = cep.query(f"{PAIRS} OUTPUT AT MOST ONCE PER 2")
    assert rows(query.match(EVENTS, output="longest")) == [(0, 4)]


@pytest.mark.parametrize("gap", ["5 seconds", "5 s", 5, 5.0, timedelta(seconds=5), "5000 ms"])
def test_a_duration_is_a_number_a_string_or_a_timedelta(gap: Any) -> None:
    noon = datetime(2024, 5, 1, 12)
    times = [noon + timedelta(seconds=s) for s in (0, 4, 5, 9)]
    is_number = isinstance(gap, int | float)
    events = {"ts": [0, 4, 5, 9] if is_number else times, "type": ["A"] * 4}
    matches = cep.query("PATTERN A a").match(events, at_most_once_per=gap)
    assert rows(matches) == [(0,), (2,)]
    assert matches.metrics.left_out == 2
    if not is_number:
        query = cep.query("PATTERN A a OUTPUT AT MOST ONCE PER 5 seconds")
        assert rows(query.match(events, at_most_once_per=gap)) == [(0,), (2,)]


@pytest.mark.parametrize("gap", [0, -1, "five", "5 EVENTS", "5 RETURN a", True, [], "T"])
def test_anything_else_is_refused(gap: Any) -> None:
    with pytest.raises(cep.OptionError, match="is not a duration"):
        cep.query("PATTERN A a").match(EVENTS, at_most_once_per=gap)


def test_each_query_of_a_script_has_its_own_output() -> None:
    script = cep.script(
        "PATTERN SEQ(A a, B b) OUTPUT FIRST; PATTERN SEQ(A a, B b) OUTPUT NON_OVERLAPPING;"
        "PATTERN SEQ(A a, B b)"
    )
    found = script.match(EVENTS)
    assert [len(found[name]) for name in script.queries] == [2, 1, 6]
    with pytest.raises(cep.OptionError, match=r"query 2 \(query_2\): output='first' does not"):
        script.match(EVENTS, output="first")
    throttled = script.match(EVENTS, at_most_once_per=100)
    assert [len(throttled[name]) for name in script.queries] == [1, 1, 1]


def test_later_queries_read_what_is_reported() -> None:
    script = cep.script(
        "PATTERN SEQ(A a, B b) WITHIN 5 RETURN Pair(x = b.k) OUTPUT LONGEST;"
        "PATTERN SEQ(Pair p, Pair q)"
    )
    assert len(script.match(EVENTS)["query_2"]) == 1
    session, found = script.session(), 0
    for ix in range(5):
        batch = {name: values[ix : ix + 1] for name, values in EVENTS.items()}
        found += len(session.feed(batch)["query_2"])
        session = script.restore(session.snapshot())
    assert found + len(session.advance()["query_2"]) == 1


@pytest.mark.parametrize("mode", ["longest", "leftmost"])
def test_a_stream_that_would_never_be_certain_is_refused(mode: str) -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    assert len(query.match(EVENTS, output=mode))
    with pytest.raises(cep.OptionError, match=f"a stream has no {mode} output for this query"):
        query.session(output=mode)
    query = cep.query("PATTERN SEQ(A a, B b) WHERE skip_till_next_match")
    assert len(query.session(output=mode).feed(EVENTS))


@pytest.mark.parametrize(
    ("query", "events", "fed"),
    [
        # The run ends with the first event that does not continue it.
        ("PATTERN A+ a[] WHERE strict_contiguity OUTPUT LONGEST", "AAB", [0, 0, 2]),
        ("PATTERN A+ a[] WHERE strict_contiguity OUTPUT LEFTMOST", "AAB", [0, 0, 1]),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_next_match OUTPUT LEFTMOST", "AB", [0, 1]),
        # Its window passes.
        ("PATTERN SEQ(A a, B b) WITHIN 3 OUTPUT LONGEST", "ABBZ", [0, 0, 0, 1]),
        ("PATTERN SEQ(A a, B b) WITHIN 2 EVENTS OUTPUT LONGEST", "ABZ", [0, 1, 0]),
        # The end of a match with the first of two starts is certain before that of the other.
        ("PATTERN SEQ(A a, B b) WITHIN 3 OUTPUT FIRST", "ABBZ", [0, 1, 0, 0]),
    ],
)
def test_a_match_is_reported_as_soon_as_it_is_certain(
    query: str, events: str, fed: list[int]
) -> None:
    session = cep.query(query).session()
    found = [len(session.feed({"ts": [ts], "type": [kind]})) for ts, kind in enumerate(events)]
    assert found == fed
    assert len(session.advance()) == 0


def test_a_snapshot_is_restored_with_its_output() -> None:
    query = cep.query(PAIRS)
    session = query.session(output="first")
    assert len(session.feed({"ts": [1, 2], "type": ["A", "B"]})) == 1
    stored = session.snapshot()
    assert len(query.restore(stored).feed({"ts": [3], "type": ["B"]})) == 0
    with pytest.raises(cep.SnapshotError, match="made with output='first'"):
        query.restore(stored, output="longest")


def test_uncertain_times_have_all_matches_only() -> None:
    for text in ("OUTPUT FIRST", "OUTPUT AT MOST ONCE PER 5"):
        with pytest.raises(cep.OptionError, match="where times are uncertain there is no"):
            cep.query(f"{PAIRS} {text}").match(EVENTS, uncertainty=1)


def test_options_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("ts,type\n1,A\n2,A\n3,B\n4,B\n9,B\n")

    def lines(*given: str, query: str = PAIRS) -> int:
        result = CliRunner().invoke(app, ["match", "-q", query, str(file), *given])
        assert result.exit_code == 0, result.output
        return len(result.stdout.splitlines())

    assert lines() == 6
    assert lines("--output", "first") == 2
    assert lines("--at-most-once-per", "2") == 2
    assert lines("--output", "leftmost", "--at-most-once-per", "2") == 1
    assert lines(query=f"{PAIRS} OUTPUT LONGEST") == 2


def test_a_pipe_has_an_end() -> None:
    result = CliRunner().invoke(
        app,
        ["match", "-q", "PATTERN SEQ(A a, B b) OUTPUT LONGEST", "-"],
        input="ts,type\n1,A\n2,B\n3,B\n",
    )
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 1


def test_an_aggregate_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("ts,type,x,k\n1,A,1,p\n2,B,2,p\n3,B,4,p\n4,A,8,q\n5,B,16,q\n")

    def said(*given: str) -> str:
        query = "PATTERN SEQ(A a, B+ b[]) WHERE [k]"
        result = CliRunner().invoke(app, ["match", "-q", query, str(file), *given])
        return result.stdout if result.exit_code == 0 else result.output

    assert said("--aggregate", "sum(b.x)") == "28\n"
    assert said("--aggregate", "AVG(b[].x)") == "5.6\n"
    by_partition = said("--aggregate", "max(b.x)", "--by-partition")
    assert by_partition.splitlines() == [
        '{"partition": "p", "value": 4}',
        '{"partition": "q", "value": 16}',
    ]
    assert "is not an aggregate" in said("--aggregate", "b.x")
    assert "needs --aggregate" in said("--by-partition")
    assert "--output" in said("--aggregate", "sum(b.x)", "--output", "first")


def test_the_builder_says_it_too() -> None:
    from cepheid.language.builder import event, seq

    built = seq(event("A", "a"), event("B", "b")).within(20).output("first", at_most_once_per=5)
    assert str(built).endswith("OUTPUT FIRST AT MOST ONCE PER 5")
    assert rows(cep.query(built).match(EVENTS)) == [(0, 2)]
    for keywords in ({}, {"mode": "frist"}, {"at_most_once_per": "5 EVENTS"}):
        with pytest.raises(cep.OptionError):
            event("A").output(**keywords)
