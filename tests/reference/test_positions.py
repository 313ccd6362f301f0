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


# --- PARTITION_INDEX

PARTITIONED = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6, 7, 8],
        "type": list("AAZBBABB"),
        "k": ["p", "q", "p", "p", "q", None, None, "q"],
    }
)
"""The events of p are rows 0, 2 and 3, and those of q are rows 1, 4 and 7."""


@pytest.mark.parametrize(
    ("pattern", "condition", "expected"),
    [
        ("SEQ(A a, B b)", "[k] AND b.PARTITION_INDEX - a.PARTITION_INDEX = 1", [{"a": 1, "b": 4}]),
        ("SEQ(A a, B b)", "[k] AND b.PARTITION_INDEX - a.PARTITION_INDEX = 2",
         [{"a": 0, "b": 3}, {"a": 1, "b": 7}]),
        ("SEQ(A a, B b)", "b.partition_index - a.partition_index = 1",
         [{"a": 5, "b": 6}]),
        ("SEQ(A a, B{2} b[])", "[k] AND b[i].PARTITION_INDEX - b[i-1].PARTITION_INDEX = 1",
         [{"a": 1, "b": [4, 7]}]),
        ("SEQ(A a, ~(Z z), B b)", "[k] AND z.PARTITION_INDEX - a.PARTITION_INDEX = 1",
         [{"a": 1, "b": 4}, {"a": 1, "b": 7}]),
    ],
)  # fmt: skip
def test_positions_in_partitions(
    pattern: str, condition: str, expected: list[dict], tune: Callable[..., None]
) -> None:
    tune(chunk_events=2, few_events=0, few_partitions=0)
    query = cep.query(f"PATTERN {pattern} WHERE {condition} WITHIN 9")
    wanted = sorted(map(str, expected))
    for evaluation in EVALUATIONS:
        found = query.match(PARTITIONED, evaluation=evaluation)
        assert sorted(map(str, found.bindings())) == wanted, evaluation
        assert query.count(PARTITIONED, evaluation=evaluation) == len(wanted)
        session, parts = query.session(evaluation=evaluation), []
        for low in range(8):
            parts += session.feed(PARTITIONED.slice(low, 1)).bindings()
            session = query.restore(session.snapshot(), evaluation=evaluation)
        parts += session.advance().bindings()
        assert sorted(map(str, parts)) == wanted, evaluation


def test_distances_are_returned_and_no_column_is_added(tune: Callable[..., None]) -> None:
    tune(few_events=0, few_partitions=0)
    query = cep.query(
        "PATTERN SEQ(A a, B b) WHERE [k] RETURN b.PARTITION_INDEX - a.PARTITION_INDEX AS d"
    )
    assert query.match(PARTITIONED).to_arrow()["d"].to_pylist() == [2, 1, 2]
    whole = cep.query(
        "PATTERN SEQ(A a, B b) WHERE [k] AND b.PARTITION_INDEX - a.PARTITION_INDEX = 1"
    ).match(PARTITIONED)
    assert whole.to_rows().column_names == ["match", "variable", "index", "ts", "type", "k"]


def test_a_column_called_partition_index_wins() -> None:
    events = PARTITIONED.append_column("PARTITION_INDEX", pa.array([7] * 8))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [k] AND a.PARTITION_INDEX = 7")
    for evaluation in ("auto", "reference"):
        assert len(query.match(events, evaluation=evaluation)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WHERE b.PARTITION_INDEX > 1",
        "PATTERN SEQ(A a, B b) WHERE b.PARTITION_INDEX = a.PARTITION_INDEX + 1",
        "PATTERN SEQ(A a, B b) RETURN b.PARTITION_INDEX",
        "PATTERN SEQ(A a, B b) WHERE b.PARTITION_INDEX - a.INDEX = 1",
        "PATTERN SEQ(A+ a[], B b) WHERE max(a[].PARTITION_INDEX) = 1",
    ],
)
def test_only_differences_have_a_meaning(text: str) -> None:
    with pytest.raises(cep.QuerySemanticError, match="only be used in the difference of two"):
        cep.query(text).match(PARTITIONED)


def test_events_of_every_partition_are_not_counted() -> None:
    query = cep.query(
        "PATTERN SEQ(A a, B b) WHERE [k] AND b.PARTITION_INDEX - a.PARTITION_INDEX = 1"
    )
    with pytest.raises(cep.EvaluationError, match="Z has no attribute 'k'"):
        query.match(PARTITIONED, schema={"A": ["k"], "B": ["k"], "Z": []})


def test_queries_of_a_script_count_their_own_partitions() -> None:
    script = cep.script(
        """
        PATTERN SEQ(A a, B b) WHERE [k] AND b.PARTITION_INDEX - a.PARTITION_INDEX = 2
        RETURN Pair(k = a.k, d = b.PARTITION_INDEX - a.PARTITION_INDEX);
        PATTERN SEQ(Pair p, B b) WHERE [k] AND b.PARTITION_INDEX - p.PARTITION_INDEX = 1
        RETURN p.d, b.ts
        """
    )
    events = pa.concat_tables([PARTITIONED, pa.table({"ts": [9], "type": ["B"], "k": ["p"]})])
    whole = script.match(events)["query_2"].to_arrow().select(["p.d", "b.ts"]).to_pylist()
    assert whole == [{"p.d": 2, "b.ts": 9}]
    session, found = script.session(), []
    for low in range(9):
        found += session.feed(events.slice(low, 1))["query_2"].to_arrow().to_pylist()
        session = script.restore(session.snapshot())
    assert [{"p.d": each["p.d"], "b.ts": each["b.ts"]} for each in found] == whole


def test_spark_counts_the_events_of_partitions(spark: SparkSession) -> None:
    rows = [tuple(row.values()) for row in PARTITIONED.to_pylist()]
    frame = spark.createDataFrame(rows, "ts long, type string, k string").repartition(3)
    query = cep.query(
        "PATTERN SEQ(A a, B b) WHERE [k] AND b.PARTITION_INDEX - a.PARTITION_INDEX > 1 "
        "RETURN a.k, b.PARTITION_INDEX - a.PARTITION_INDEX AS d"
    )
    found = [(row["a.k"], row["d"]) for row in query.match(frame).collect()]
    assert sorted(found) == [("p", 2), ("q", 2)]
