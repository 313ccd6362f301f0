"""WITH TIMED OUT: for each first event without a match, its furthest partial match."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import cepheid as cep

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EVALUATIONS = ("reference", "nfa_b", "instance_stacks", "lazy_chain", "lazy_tree")


def events(text: str) -> dict[str, list[Any]]:
    """Events such as ``a0 b2=7``: the type, the time, and x (5 by default); k is 1, or 2 with '."""
    rows = []
    for word in text.split():
        word, _, value = word.partition("=")
        key = 2 if word.endswith("'") else 1
        rows.append((int(word[1:].rstrip("'")), word[0].upper(), int(value or 5), key))
    ts, types, x, k = zip(*rows, strict=True)
    return {"ts": [*ts], "type": [*types], "x": [*x], "k": [*k]}


def shown(matches: cep.Matches, names: dict[str, list[Any]]) -> list[str]:
    """Each match as its events, with its end if it timed out."""

    def name(row: int) -> str:
        return f"{names['type'][row].lower()}{names['ts'][row]}"

    found = []
    for match in matches:
        bound = [
            "[" + " ".join(map(name, each)) + "]" if isinstance(each, list) else name(each)
            for each in match.bindings.values()
        ]
        found.append(" ".join(bound) + (f" | {match.end}" if match.timed_out else ""))
    return found


CASES = [
    # The second a begins no match; b1 and c3 are before it or not enough.
    ("SEQ(A a, B b, C c)", "", "a0 b1 a2 c3", ["a0 b1 c3", "a2 | 7"]),
    # All components that can be bound, and of these the first events.
    ("SEQ(A a, B b, C c)", "", "a0 b1 b2", ["a0 b1 | 5"]),
    ("SEQ(A a, B b, C c)", "", "b0 c1", []),
    # An event exactly a window later is not in it.
    ("SEQ(A a, B b)", "", "a0 b5", ["a0 | 5"]),
    ("SEQ(A a, B b)", "", "a0 b4", ["a0 b4"]),
    # Conditions are tested as soon as they can be.
    ("SEQ(A a, B b)", "a.x < b.x", "a0=3 b1=2 b2=3", ["a0 | 5"]),
    ("SEQ(A a, B b)", "a.x > 3", "a0=3 a1=4", ["a1 | 6"]),
    ("SEQ(A a, B b, C c)", "b.x > c.x AND a.x < b.x", "a0=1 b1=2 c2=9", ["a0 b1 | 5"]),
    # Equivalence tests, too.
    ("SEQ(A a, B b)", "[k]", "a0 b1' a2' b3'", ["a2 b3", "a0 | 5"]),
    # Lists: the most events; below the lower bound; conditions on all of them are not tested.
    ("SEQ(A a, B+ b[], C c)", "", "a0 b1 b2", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B{3,} b[])", "", "a0 b1 b2", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B{3,} b[])", "", "a0 b1 b2 b3", ["a0 [b1 b2 b3]"]),
    ("SEQ(A a, B+ b[], C c)", "avg(b[].x) > 5", "a0 b1=1 b2=2", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B+ b[], C c)", "avg(b[].x) > 5", "a0 b1=1 b2=2 c3", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B+ b[], C c)", "b.LEN = 3", "a0 b1 b2 c3", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B+ b[], C c)", "b[i].x > b[i-1].x", "a0 b1=1 b2=3 b3=2", ["a0 [b1 b2] | 5"]),
    ("SEQ(A a, B+ b[], C c)", "b[2].x > 3", "a0 b1=1 b2=1", ["a0 [b1] | 5"]),
    ("A{3} a[]", "", "a0 a1 a9", ["[a0 a1] | 5", "[a1] | 6", "[a9] | 14"]),
    # A star may be absent.
    ("SEQ(A a, B* b[], C c)", "", "a0 b1", ["a0 [b1] | 5"]),
    ("SEQ(A a, B* b[], C c)", "", "a0", ["a0 | 5"]),
    ("SEQ(A a, B* b[], C c)", "", "a0 c1", ["a0 c1"]),
    # Negations are not asked of partial matches; a violated match begins none.
    ("SEQ(A a, ~(N n), B b)", "", "a0 n1 b2", ["a0 b2 | 5"]),
    ("SEQ(A a, ~(N n), B b, C c)", "", "a0 n1 b2", ["a0 b2 | 5"]),
    ("SEQ(A a, B b, ~(N n))", "", "a0 b1 n4", ["a0 b1 | 5"]),
    ("SEQ(A a, B b, ~(N n))", "", "a0 b1 n5", ["a0 b1"]),
    # A negation that is decided long after the window has passed.
    ("SEQ(A a, B b, ~(N n) WITHIN 20)", "", "a0 b1 n18", ["a0 b1 | 5"]),
    ("SEQ(A a, B b, ~(N n) WITHIN 20)", "", "a0 b1 n21", ["a0 b1"]),
    # WITHOUT is a negation.
    ("SEQ(A a, B{2} b[] WITHOUT (N n))", "", "a0 b1 n2 b3", ["a0 [b1 b3] | 5"]),
]
STRATEGIES = [
    ("skip_till_next_match", "SEQ(A a, B b, C c)", "b.x > 3", "a0 b1=1 b2=4 b3=9", ["a0 b2 | 5"]),
    ("skip_till_next_match", "SEQ(A a, B+ b[], C c)", "b[i].x > b[i-1].x", "a0 b1=1 b2=3 b3=2",
     ["a0 [b1 b2] | 5"]),
    ("strict_contiguity", "SEQ(A a, B b, C c)", "", "a0 b1 z2 c3", ["a0 b1 | 5"]),
    ("strict_contiguity", "SEQ(A a, B b, C c)", "", "a0 z1 b2 c3", ["a0 | 5"]),
    ("partition_contiguity", "SEQ(A a, B b, C c)", "[k]", "a0 b1 z2' c3", ["a0 b1 c3"]),
    ("partition_contiguity", "SEQ(A a, B b, C c)", "[k]", "a0 b1 z2 c3", ["a0 b1 | 5"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "pattern", "condition", "text", "expected"),
    [*(("skip_till_any_match", *case) for case in CASES), *STRATEGIES],
)
def test_cases(strategy: str, pattern: str, condition: str, text: str, expected: list[str]) -> None:
    given = events(text)
    query = cep.query(
        f"PATTERN {pattern} WHERE {strategy} {{ {condition} }} WITHIN 5 OUTPUT WITH TIMED OUT"
    )
    ran = []
    for evaluation in EVALUATIONS:
        try:
            matches = query.match(given, evaluation=evaluation)
        except cep.EvaluationError:
            continue
        ran.append(evaluation)
        assert sorted(shown(matches, given)) == sorted(expected), evaluation
        session, found = query.session(evaluation=evaluation), []
        for ix in range(len(given["ts"])):
            row = {name: values[ix : ix + 1] for name, values in given.items()}
            found += shown(session.feed(row), given)
            session = query.restore(session.snapshot())
        found += shown(session.advance(), given)
        assert sorted(found) == sorted(expected), evaluation
    assert {"reference", "nfa_b"} <= {*ran}


def test_it_is_said_by_an_option_as_well() -> None:
    given = events("a0 b1 a2")
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 5")
    table = query.match(given, timed_out=True).to_arrow()
    assert table["timed_out"].to_pylist() == [False, True]
    assert table["b"].to_pylist()[1] is None
    assert "timed_out" not in query.match(given).columns
    assert query.count(given, timed_out=True) == 2
    clause = cep.query("PATTERN SEQ(A a, B b) WITHIN 5 OUTPUT WITH TIMED OUT")
    with pytest.raises(cep.OptionError, match="does not agree with the OUTPUT clause"):
        clause.match(given, timed_out=False)


def test_modes_and_throttles_leave_partial_matches_alone() -> None:
    given = events("a0 b1 b2 a10 a11 b12 a20")
    text = "PATTERN SEQ(A a, B b) WITHIN 5 OUTPUT FIRST AT MOST ONCE PER 100 WITH TIMED OUT"
    query = cep.query(text)
    assert str(query).endswith("OUTPUT FIRST AT MOST ONCE PER 100 WITH TIMED OUT")
    matches = query.match(given)
    # a10 and a11 begin matches, which the throttle leaves out.
    assert shown(matches, given) == ["a0 b1", "a20 | 25"]
    assert matches.metrics.left_out == 2


def test_a_partial_match_is_reported_when_its_window_has_passed() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 5 OUTPUT WITH TIMED OUT").session()
    assert not len(session.feed(events("a0 a3")))
    assert session.next_completion == 5
    assert not len(session.advance(4))
    assert session.advance(5).bindings() == [{"a": 0}]
    assert session.feed(events("b7")).to_arrow()["timed_out"].to_pylist() == [False]
    assert not len(session.advance())


def test_a_script_may_make_events_of_them() -> None:
    script = cep.script(
        """
        PATTERN SEQ(A a, B b) WITHIN 5 RETURN Done(x = a.x) OUTPUT WITH TIMED OUT;
        PATTERN SEQ(Done d, C c) WITHIN 3 RETURN d.x, c.x AS y
        """
    )
    given = events("a0=1 a4=2 b5 c6=9 c11=8")
    expected = [{"d.x": 1, "y": 9}, {"d.x": 2, "y": 9}]
    found = script.match(given)["query_2"].to_arrow().select(["d.x", "y"]).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    session, parts = script.session(), []
    for ix in range(5):
        fed = session.feed({name: values[ix : ix + 1] for name, values in given.items()})
        parts += fed["query_2"].to_arrow().select(["d.x", "y"]).to_pylist()
        session = script.restore(session.snapshot())
    parts += session.advance()["query_2"].to_arrow().select(["d.x", "y"]).to_pylist()
    assert sorted(map(str, parts)) == sorted(map(str, expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(A a, B b) OUTPUT WITH TIMED OUT", "needs a window of time"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 EVENTS OUTPUT WITH TIMED OUT", "needs a window of time"),
        ("PATTERN AND(A a, B b) WITHIN 5 OUTPUT ALL WITH TIMED OUT", "is for sequences"),
        ("PATTERN OR(A a, B b) WITHIN 5 OUTPUT with timed out", "is for sequences"),
    ],
)
def test_what_cannot_time_out_is_refused(text: str, message: str) -> None:
    with pytest.raises(cep.QuerySemanticError, match=message):
        cep.query(text)
    option = cep.query(text[: text.index(" OUTPUT")])
    with pytest.raises(cep.OptionError, match=message):
        option.match(events("a0"), timed_out=True)


def test_other_outputs_refuse_it() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 5")
    with pytest.raises(cep.OptionError, match="WITH TIMED OUT adds partial ones"):
        query.match(events("a0"), timed_out=True, output="compressed")
    with pytest.raises(cep.OptionError, match="there is no WITH TIMED OUT"):
        query.match(events("a0"), timed_out=True, uncertainty=1)


def test_the_builder_says_it() -> None:
    from cepheid.language.builder import event

    built = event("A", "a").within(5).output(timed_out=True)
    assert str(built).endswith("OUTPUT WITH TIMED OUT")


def test_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from cepheid.cli.app import app

    path = tmp_path / "events.csv"
    path.write_text("ts,type\n0,A\n1,B\n2,A\n")
    arguments = ["match", "-q", "PATTERN SEQ(A a, B b) WITHIN 5", str(path), "--timed-out"]
    done = CliRunner().invoke(app, [*arguments, "--format", "jsonl"])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["timed_out"] for line in lines] == [False, True]
    assert lines[1]["bindings"] == {"a": 2}
    table = CliRunner().invoke(app, [*arguments, "--format", "table"])
    assert "timed_out" in table.stdout


def test_spark(spark: SparkSession) -> None:
    given = events("a0 b1 b2 a10 a11 b12 a20 a21'")
    rows = [*zip(*given.values(), strict=True)]
    frame = spark.createDataFrame(rows, "ts long, type string, x long, k long").repartition(3)
    query = cep.query(
        "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 RETURN a.ts, b.ts AS b OUTPUT WITH TIMED OUT"
    )
    local = query.match(given).to_arrow().to_pylist()
    found = [row.asDict() for row in query.match(frame).collect()]
    assert sorted(map(str, found)) == sorted(map(str, local))
    assert sum(row["timed_out"] for row in found) == 2
