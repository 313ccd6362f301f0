"""Aggregates over compressed matches are those over all matches, listed."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import pytest
from agreement.strategies import Case, cases, sequence_cases
from agreement.test_nfa_b import is_valid
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

EVENTS = {
    "ts": [1, 2, 3, 4, 5, 6],
    "type": list("ABBCBC"),
    "x": [10, 1, None, 2, 4, 5],
    "k": ["p", "p", "p", "p", "p", "p"],
}


def compressed(text: str, events: Any = EVENTS) -> Any:
    return cep.query(text).match(events, output="compressed")


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        # [b1] c1, [b2] c1, [b1 b2] c1, then all 7 subsets of b1, b2, b3 with c2.
        ("count", "b.x", 2 + 4 + 4),
        ("sum", "b.x", 2 * 1 + 4 * 1 + 4 * 4),
        ("avg", "b[].x", 2.2),
        ("min", "b.x", 1),
        ("max", "b.x", 4),
        ("sum", "a.x", 100),
        ("max", "c.x", 5),
        ("max", "c.k", "p"),
    ],
)
def test_by_hand(function: str, value: str, expected: Any) -> None:
    matches = compressed("PATTERN SEQ(A a, B+ b[], C c)")
    assert matches.count() == 10
    assert matches.aggregate(function, value) == expected


def test_by_partition() -> None:
    events = {
        "ts": [1, 2, 3, 4, 5],
        "type": list("AABBB"),
        "x": [1, 2, 3, 4, 5],
        "k": ["p", "q", "p", "q", "q"],
    }
    matches = compressed("PATTERN SEQ(A a, B b) WHERE [k]", events)
    assert matches.aggregate("sum", "b.x", by_partition=True) == {"p": 3, "q": 9}
    assert matches.aggregate("sum", "b.x") == 12


def test_no_matches_and_no_values() -> None:
    nothing = compressed("PATTERN SEQ(C c, A a)")
    assert nothing.aggregate("sum", "a.x") is None
    assert nothing.aggregate("count", "a.x") == 0
    assert nothing.aggregate("min", "a.x", by_partition=True) == {}


def test_more_matches_than_anybody_could_list() -> None:
    count = 2_000
    events = {"ts": range(count + 2), "type": ["A", *["B"] * count, "C"], "x": [0.5] * (count + 2)}
    matches = compressed("PATTERN SEQ(A a, B+ b[], C c)", events)
    assert matches.aggregate("avg", "b.x") == 0.5
    assert matches.aggregate("count", "b.x") == count * 2 ** (count - 1)
    assert matches.aggregate("sum", "b.x") == math.inf


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("agv", "b.x", "there is no aggregate 'agv'; there are sum, min, max, avg and count"),
        ("sum", "d.x", "there is no variable 'd'"),
        ("sum", "b.y", "there is no attribute 'y'"),
        ("sum", "b.k", "needs numbers"),
    ],
)
def test_what_there_is_not(function: str, value: str, message: str) -> None:
    with pytest.raises(cep.OptionError, match=message):
        compressed("PATTERN SEQ(A a, B+ b[], C c)").aggregate(function, value)


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=st.one_of(cases(negation=False), sequence_cases(False)), attribute=st.sampled_from("xy")
)
def test_they_agree_with_listed_matches(case: Case, attribute: str) -> None:
    assume(is_valid(case.query))
    query, table = cep.query(case.query), case.table()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            matches = query.match(table, output="compressed", evaluation="nfa_b")
    except (cep.OptionError, cep.EvaluationError, cep.QuerySemanticError):
        assume(False)
    column = table[attribute].to_pylist()
    listed = matches.expand().bindings()
    event(f"matches: {min(len(listed), 5)}")
    for variable in matches.expand()[0].bindings if listed else ():
        bound = [binding[variable] for binding in listed]
        rows = [row for each in bound for row in (each if isinstance(each, list) else [each])]
        values = [Fraction(column[row]) for row in rows if column[row] is not None]
        given = f"{variable}.{attribute}"
        assert matches.aggregate("count", given) == len(values)
        if values:
            assert matches.aggregate("sum", given) == sum(values)
            assert matches.aggregate("min", given) == min(values)
            assert matches.aggregate("max", given) == max(values)
            assert matches.aggregate("avg", given) == float(sum(values) / len(values))
