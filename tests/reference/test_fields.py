"""Fields of structs and elements of lists, in conditions and RETURN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = pa.table(
    {
        "ts": [1, 2, 3, 4],
        "type": list("ABAB"),
        "device": [
            {"os": "x", "v": {"n": 1}},
            {"os": "x", "v": {"n": 2}},
            None,
            {"os": "y", "v": None},
        ],
        "l": [[1, 2], [3], None, [4, 5, 6]],
        "items": [[{"p": 1.5}], [{"p": 2.5}], [], None],
        "device.os": ["p", "q", "r", "s"],
    }
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.device.os = b.device.os", [(0, 1)]),
        ("a.device.v.n + 1 = b.device.v.n", [(0, 1)]),
        ("a.l[2] < b.l[1]", [(0, 1), (0, 3)]),
        ("a.l[1] * 3 = b.l[1] OR b.l[3] = 6", [(0, 1), (0, 3), (2, 3)]),
        ("b.l[2] IS NULL", [(0, 1)]),
        ("a.device.os IS NULL", [(2, 3)]),
        ("a.items[1].p < b.items[1].p", [(0, 1)]),
        ("a.`device.os` = 'r'", [(2, 3)]),
    ],
)
def test_conditions(condition: str, expected: list[tuple[int, int]]) -> None:
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {condition}")
    for evaluation in ("reference", "auto", "nfa_b", "instance_stacks", "lazy_chain"):
        matches = query.match(EVENTS, evaluation=evaluation)
        assert sorted((each["a"], each["b"]) for each in matches.bindings()) == expected
    session = query.session()
    found = []
    for row in range(4):
        found += session.feed(EVENTS.slice(row, 1)).bindings()
        session = query.restore(session.snapshot())
    assert sorted((each["a"], each["b"]) for each in found) == expected


RETURNED = """
    PATTERN SEQ(A a, B+ b[]) WHERE a.l[1] = 1 WITHIN 9
    RETURN a.device.os, b[].l[1] AS l, sum(b[].l[1]) AS n
"""


def test_returned_values() -> None:
    rows = cep.query(RETURNED).match(EVENTS).to_arrow().select(["a.device.os", "l", "n"])
    assert sorted(map(str, rows.to_pylist())) == [
        "{'a.device.os': 'x', 'l': [3, 4], 'n': 7}",
        "{'a.device.os': 'x', 'l': [3], 'n': 3}",
        "{'a.device.os': 'x', 'l': [4], 'n': 4}",
    ]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("a.device.so = 'x'", "'device' has no field 'so'"),
        ("a.ts.f = 1", "'ts' is an integer, not a struct"),
        ("a.device[1] = 1", "not a list"),
        ("a.l[0] = 1", "the first element of a list has number 1, not 0"),
        ("a.devise.os = 'x'", "Did you mean 'device'"),
        ("a.l[1] = 'x'", "an integer cannot be compared with a string"),
    ],
)
def test_mistakes_are_explained(condition: str, message: str) -> None:
    with pytest.raises(cep.QueryError, match=message):
        cep.query(f"PATTERN A a WHERE {condition}").match(EVENTS)


def test_spark(spark: SparkSession) -> None:
    columns = "ts long, type string, device struct<os:string,v:struct<n:long>>, l array<long>"
    rows = [
        tuple(row[name] for name in ("ts", "type", "device", "l")) for row in EVENTS.to_pylist()
    ]
    frame = spark.createDataFrame(rows, columns)
    query = cep.query(RETURNED.replace("WHERE", "WHERE b[i].device.os >= a.device.os AND"))
    local = sorted(map(str, query.match(EVENTS).to_arrow().select(["l", "n"]).to_pylist()))
    assert local
    found = query.match(frame).select("l", "n").collect()
    assert sorted(str(row.asDict()) for row in found) == local
