"""``INDEX``: the number of an event in the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cepheid as cep

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

EVENTS = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6, 7],
        "type": list("AZBABBZ"),
        "k": [1, 1, 1, 2, 1, 2, 1],
        "x": [5, 0, 7, 1, 2, 3, 4],
    }
)
EVALUATIONS = ("reference", "auto", "nfa_b", "lazy_chain", "lazy_tree")


@pytest.mark.parametrize(
    ("pattern", "condition", "expected"),
    [
        ("SEQ(A a, B b)", "b.INDEX - a.INDEX = 1", ["{'a': 3, 'b': 4}"]),
        ("SEQ(A a, B b)", "b.INDEX = a.INDEX + 2", ["{'a': 0, 'b': 2}", "{'a': 3, 'b': 5}"]),
        ("SEQ(A a, B b)", "a.INDEX = 3 AND b.index > 4", ["{'a': 3, 'b': 5}"]),
        ("SEQ(A a, B b)", "[k] AND b.INDEX < 5 AND a.x < b.x", ["{'a': 0, 'b': 2}"]),
        (
            "SEQ(A a, B+ b[])",
            "b[i].INDEX = b[i-1].INDEX + 1 AND b[1].INDEX > 3 AND b[b.LEN].INDEX > a.INDEX + 4",
            ["{'a': 0, 'b': [4, 5]}", "{'a': 0, 'b': [5]}"],
        ),
        ("SEQ(A a, ~(Z z), B b)", "z.INDEX = 1", [f"{{'a': 3, 'b': {b}}}" for b in (4, 5)]),
        ("SEQ(A a, ~(B c), B b)", "c.INDEX = b.INDEX - 1", [
            "{'a': 0, 'b': 2}", "{'a': 0, 'b': 4}", "{'a': 3, 'b': 4}",
        ]),
        ("SEQ(A a, B+ b[])", "max(b[].INDEX - a.INDEX) > 4", None),
    ],
)  # fmt: skip
def test_conditions(
    pattern: str,
    condition: str,
    expected: list[str] | None,
    tune: Callable[..., None],
) -> None:
    tune(chunk_events=2, few_events=0)
    text = f"PATTERN {pattern} WHERE {condition} WITHIN 9"
    if expected is None:
        with pytest.raises(cep.QuerySemanticError, match="names no other variable"):
            cep.query(text)
        return
    query = cep.query(text)
    for evaluation in EVALUATIONS:
        found = sorted(map(str, query.match(EVENTS, evaluation=evaluation).bindings()))
        assert found == expected, evaluation
    session = query.session()
    rows = []
    for low in range(0, 7, 2):
        rows += map(str, session.feed(EVENTS.slice(low, 2)).bindings())
        session = query.restore(session.snapshot())
    rows += map(str, session.advance().bindings())
    assert sorted(rows) == expected


RETURNED = """
    PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { b[i].INDEX - a.INDEX > 1 } WITHIN 4
    RETURN a.INDEX, b[].INDEX AS l, b[b.LEN].INDEX - a.INDEX AS n, max(b[].INDEX) AS m
"""


def test_returned_values(tune: Callable[..., None]) -> None:
    tune(few_events=0)
    query = cep.query(RETURNED)
    names = ["a.INDEX", "l", "n", "m"]
    rows = query.match(EVENTS).to_arrow().select(names).to_pylist()
    assert sorted(map(str, rows)) == [
        "{'a.INDEX': 0, 'l': [2], 'n': 2, 'm': 2}",
        "{'a.INDEX': 3, 'l': [5], 'n': 2, 'm': 5}",
    ]
    session, found = query.session(), []
    for low in range(7):
        found += session.feed(EVENTS.slice(low, 1)).to_arrow().select(names).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, rows))


def test_composite_events_may_have_it() -> None:
    script = cep.script(
        "PATTERN A a RETURN Seen(at = a.INDEX); PATTERN SEQ(Seen s, B b) RETURN s.at, b.INDEX AS i"
    )
    whole = script.match(EVENTS)["query_2"].to_arrow().select(["s.at", "i"]).to_pylist()
    # The second query also reads two composite events, which are counted.
    assert {"s.at": 3, "i": 6} in whole
    session, found = script.session(), []
    for low in range(7):
        matches = session.feed(EVENTS.slice(low, 1))["query_2"]
        found += matches.to_arrow().select(["s.at", "i"]).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, whole))


def test_a_column_of_that_name_wins() -> None:
    events = EVENTS.append_column("INDEX", pa.array([0] * 7))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.INDEX = b.INDEX RETURN b.INDEX AS i")
    for evaluation in ("auto", "reference"):
        assert query.match(events, evaluation=evaluation).to_arrow()["i"].to_pylist() == [0] * 5


def test_uncertain_times_have_none() -> None:
    with pytest.raises(cep.EvaluationError, match="has no INDEX"):
        cep.query("PATTERN SEQ(A a, B b) WHERE b.INDEX > 1 WITHIN 9").match(EVENTS, uncertainty=1)


@pytest.mark.filterwarnings("ignore:all events go to one worker")
def test_spark_counts_all_events(spark: SparkSession) -> None:
    rows = [tuple(row.values()) for row in EVENTS.to_pylist()]
    frame = spark.createDataFrame(rows, "ts long, type string, k long, x long").repartition(3)
    query = cep.query(RETURNED.replace("{ b", "{ [k] AND b"))
    local = sorted(map(str, query.match(EVENTS).to_arrow().select(["l", "n", "m"]).to_pylist()))
    assert local
    found = query.match(frame).select("l", "n", "m").collect()
    assert sorted(str(row.asDict()) for row in found) == local
