"""Decimals are compared as the numbers that a query writes."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import plain_decimals


@given(
    st.lists(st.none() | st.integers(-(10**30), 10**30), min_size=1),
    st.sampled_from([1, 2, 6, 22, 25]),
    st.integers(0, 3),
)
def test_they_are_the_nearest_floats(unscaled: list[int | None], scale: int, skipped: int) -> None:
    values = [None if number is None else Decimal(f"{number}e-{scale}") for number in unscaled]
    array = pa.array(values, pa.decimal128(38, scale))[skipped:]
    expected = [None if value is None else float(value) for value in values[skipped:]]
    assert plain_decimals(array).to_pylist() == expected


@pytest.mark.parametrize("kind", [pa.decimal128(10, 2), pa.decimal256(50, 2)])
def test_prices_equal_their_literals(kind: pa.DataType) -> None:
    prices = [Decimal(cents).scaleb(-2) for cents in range(1, 2_000)]
    array = pa.array(prices, kind)
    assert plain_decimals(array).to_pylist() == [float(str(price)) for price in prices]


@pytest.mark.parametrize("evaluation", ["auto", "reference"])
@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("a.p = 3.3", 1),
        ("a.p <= 3.3", 1),
        ("a.p > 3.3", 0),
        ("a.p IN (3.3)", 1),
        ("a.p BETWEEN 3.3 AND 3.3", 1),
        ("a.p = b.q", 1),
        ("a.p + 0 = b.q", 1),
        ("sum(c[].p) = 3.3", 1),
    ],
)
def test_conditions_on_decimals(evaluation: str, condition: str, found: int) -> None:
    events = pa.table(
        {
            "ts": [1, 2, 3],
            "type": ["A", "B", "C"],
            "p": pa.array([Decimal("3.30"), None, Decimal("3.30")], pa.decimal128(10, 2)),
            "q": [0.0, 3.3, 0.0],
        }
    )
    query = cep.query(f"PATTERN SEQ(A a, B b, C+ c[]) WHERE {condition}")
    assert len(query.match(events, evaluation=evaluation)) == found


@pytest.mark.parametrize("evaluation", ["auto", "reference"])
def test_whole_ones_are_exact(evaluation: str) -> None:
    ids = [Decimal(1234567890123456789), Decimal(1234567890123456790), Decimal(1234567890123456789)]
    events = pa.table(
        {"ts": [1, 2, 3], "type": ["A", "B", "B"], "id": pa.array(ids, pa.decimal128(38, 0))}
    )
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] RETURN a.id, b.id + 0 AS same")
    matches = query.match(events, evaluation=evaluation)
    assert matches.bindings() == [{"a": 0, "b": 2}]
    assert matches.to_arrow().select(["a.id", "same"]).to_pylist() == [
        {"a.id": ids[0], "same": int(ids[0])}
    ]
    query = cep.query("PATTERN A a WHERE a.id = 1234567890123456790")
    assert not len(query.match(events, evaluation=evaluation))


def test_whole_ones_beyond_64_bits_are_refused() -> None:
    ids = pa.array([Decimal(10**30)], pa.decimal128(38, 0))
    events = pa.table({"ts": [1], "type": ["A"], "id": ids})
    returned = cep.query("PATTERN A a RETURN a.id").match(events).to_arrow()
    assert returned["a.id"][0].as_py() == 10**30
    with pytest.raises(EventError, match=r"decimal128\(38, 0\) has a number that does not fit"):
        cep.query("PATTERN SEQ(A a, A b) WHERE a.id = b.id").match(events)
