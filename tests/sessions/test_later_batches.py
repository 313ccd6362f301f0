"""Batches of a session that do not look like the first one."""

from __future__ import annotations

from typing import Any

import pytest

import cepheid as cep

QUERY = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9"
FIRST = {"ts": [1, 2], "type": ["A", "C"], "x": [1.5, 2.5], "y": [0, 0]}


def fed(first: dict[str, Any], second: dict[str, Any], stores: bool) -> list[dict]:
    query = cep.query(QUERY)
    session = query.session()
    session.feed(first)
    if stores:
        session = query.restore(session.snapshot())
    return session.feed(second).bindings()


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize(
    "later",
    [
        {"ts": [3], "type": ["B"], "x": [7.5], "y": [0], "z": ["more"]},
        {"y": [0], "x": [7.5], "type": ["B"], "ts": [3]},
        {"ts": [3], "type": ["B"], "x": [7], "y": [None]},
    ],
    ids=["a column more", "another order", "integers and nulls"],
)
def test_is_made_like_the_first(later: dict[str, Any], stores: bool) -> None:
    assert fed(FIRST, later, stores) == [{"a": 0, "b": 2}]


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize(
    ("later", "message"),
    [
        ({"ts": [3], "type": ["B"], "x": [7.5]}, "no column 'y'"),
        ({"ts": [3], "type": ["B"], "x": ["seven"], "y": [0]}, "'x' is string in this batch"),
        ({"ts": [3], "type": ["B"], "x": ["7.5"], "y": [0]}, "'x' is string in this batch"),
        ({"ts": [3], "type": ["B"], "x": [7.5], "y": [True]}, "'y' is bool in this batch"),
        ({"ts": [3], "type": ["B"], "x": [7.5], "y": [0.5]}, "'y' is double in .* as 'float'"),
        ({"ts": [3.5], "type": ["B"], "x": [7.5], "y": [0]}, "'ts' is double in this batch"),
    ],
)
def test_is_refused_where_something_would_be_lost(
    later: dict[str, Any], message: str, stores: bool
) -> None:
    with pytest.raises(cep.CepheidError, match=message):
        fed(FIRST, later, stores)


@pytest.mark.parametrize("stores", [False, True])
def test_an_empty_list_has_no_events(stores: bool) -> None:
    query = cep.query(QUERY)
    session = query.session()
    session.feed(FIRST)
    if stores:
        session = query.restore(session.snapshot())
    assert len(session.feed([])) == 0
    assert len(session.feed({**FIRST, "ts": [3, 4], "type": ["B", "B"]})) == 1


def test_a_column_of_nulls_may_get_values() -> None:
    first = {**FIRST, "y": [None, None]}
    assert fed(first, {"ts": [3], "type": ["B"], "x": [7.5], "y": [4]}, False) == [{"a": 0, "b": 2}]


def test_a_time_that_does_not_fit_is_refused() -> None:
    session = cep.query(QUERY).session()
    session.feed(FIRST)
    with pytest.raises(cep.OptionError, match="is not a time"):
        session.advance(2**70)
