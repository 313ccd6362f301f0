"""RETURN: the values of its items for a match."""

from typing import Any

import pytest
from streams import rows


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("a.x", [1]),
        ("a.x, a.y", [1, None]),
        ("a.x + 1 AS next", [2]),
        ("next = a.x + 1", [2]),
        ("Alert(site = a.x, reached = b[].x)", [1, [2, None, 4]]),
        ("b[].x", [[2, None, 4]]),
        ("a", [{"x": 1, "y": None}]),
        ("b", [[{"x": 2}, {"x": None}, {"x": 4}]]),
        ("b[]", [[{"x": 2}, {"x": None}, {"x": 4}]]),
        ("b.LEN, count(b[]), count(b[].x)", [3, 3, 2]),
        ("sum(b[].x), avg(b[].x), min(b[].x), max(b[].x)", [6, 3, 2, 4]),
        ("first(b[].x), last(b[].x)", [2, 4]),
        ("b[1].x, b[2].x, b[b.LEN].x", [2, None, 4]),
        ("b[4].x", [None]),
        ("b[2].x + 1", [None]),
        ("a.x / 0", [None]),
        ("a.z", [None]),
        ("a.z > 1, NOT a.z > 1, a.z NOT IN (1, 2), a.z IS NOT NULL", [None] * 4),
        ("a.x = 1 OR a.z > 1, NOT b[4].x > 1, a.x = 1 AND b[4].x > 1", [None] * 3),
        ("b[].z", [[None, None, None]]),
        ("a.x > 0, a.y > 0", [True, None]),
        ("'text', 7", ["text", 7]),
        ("abs(a.x - 3)", [2]),
    ],
)
def test_the_items_of_a_match(items: str, expected: list[Any]) -> None:
    query = f"PATTERN SEQ(A a, B{{3}} b[]) RETURN {items}"
    assert rows(query, "a(x=1,y=null) b1(x=2) b2(x=null) b3(x=4)") == [expected]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("b.x, a.x", [None, 1]),
        ("b", [None]),
        ("c", [None]),
        ("c[].x", [None]),
        ("c[1].x", [None]),
        ("sum(c[].x)", [None]),
        ("c.LEN, count(c[]), count(c[].x)", [0, 0, 0]),
        ("a.x + b.x", [None]),
    ],
)
def test_a_variable_without_an_event_is_null_and_of_no_length(
    items: str, expected: list[Any]
) -> None:
    query = f"PATTERN SEQ(A a, OR(B b, D d), C* c[]) RETURN {items}"
    assert rows(query, "a(x=1) d") == [expected]


def test_there_is_a_row_for_each_match_in_the_order_of_completion() -> None:
    query = "PATTERN SEQ(A a, B b) RETURN a.x, b.x"
    assert rows(query, "a(x=1) b1(x=2) b2(x=3)") == [[1, 2], [1, 3]]
