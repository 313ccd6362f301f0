"""The running example of [Zhang10 Figure 1], and those of figures 2 and 3.

The text gives the four events 5, 3, 3 and 5 possible times; the figure shows 5, 3, 5 and 3, and
only these make 225 worlds with the printed matches.
"""

from fractions import Fraction

import pytest
from oracles.reference_worlds import UncertainEvent, evaluate_worlds

import cepheid as cep
from cepheid.engines.base.options import METHODS
from cepheid.language.parser import parse

EVENTS = {"lower": [1, 3, 3, 4], "upper": [5, 5, 7, 6], "type": ["A", "C", "B", "C"]}
QUERY = "PATTERN SEQ(A a, B b, C c) WITHIN 4"


def test_the_possible_worlds_give_15_and_24_of_225():
    events = [
        UncertainEvent.uniform(kind, lower, upper)
        for kind, lower, upper in zip(EVENTS["type"], EVENTS["lower"], EVENTS["upper"], strict=True)
    ]
    answers = evaluate_worlds(parse(QUERY), events, 4)
    assert [(answer.start, answer.end, answer.confidence) for answer in answers.values()] == [
        (1, 5, Fraction(15, 225)),
        (1, 6, Fraction(24, 225)),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_signatures_of_figure_1(method):
    matches = cep.query(QUERY).match(EVENTS, time=("lower", "upper"), options={"method": method})
    assert matches.bindings() == [{"a": 0, "b": 2, "c": 1}, {"a": 0, "b": 2, "c": 3}]
    found = matches.to_arrow()
    assert found.column_names == ["start", "end", "confidence", "a", "b", "c"]
    assert found["start"].to_pylist() == [1, 1]
    assert found["end"].to_pylist() == [5, 6]
    assert found["confidence"].to_pylist() == pytest.approx([15 / 225, 24 / 225], abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_an_event_after_the_nelt_is_never_next(method):
    """Figure 2(b): b4 starts after a1 ends, and ends first; so b6, which is later, is no match."""
    events = {
        "lower": [2, 1, 2, 5, 6, 8],
        "upper": [4, 3, 5, 7, 9, 9],
        "type": ["A", "B", "B", "B", "B", "B"],
    }
    query = cep.query("PATTERN SEQ(A a, B b) WHERE skip_till_next_match")
    matches = query.match(events, time=("lower", "upper"), options={"method": method})
    assert {binding["b"] for binding in matches.bindings()} == {1, 2, 3, 4}


@pytest.mark.parametrize("method", METHODS)
def test_the_window_prunes_what_is_in_order_but_too_far_apart(method):
    """Figure 3(c): a1, b5 and c6 can be in order, but c6 is never within 4 of a1."""
    events = {"lower": [1, 1, 6], "upper": [2, 3, 7], "type": ["A", "B", "C"]}
    assert not cep.query(QUERY).match(events, time=("lower", "upper"), options={"method": method})
