"""Metrics of queries with negations count what negations exclude, and their tests."""

from __future__ import annotations

import pytest

import cepheid as cep

EVENTS = {
    "ts": [1, 2, 3, 4, 5, 6, 7],
    "type": ["A", "B", "A", "C", "B", "A", "C"],
    "x": [1, 1, 2, 3, 3, 3, 4],
}


@pytest.mark.parametrize("evaluation", ["nfa_b", "instance_stacks", "lazy_chain", "lazy_tree"])
@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("PATTERN SEQ(A a, ~(B b), C c) WITHIN 10", 0),
        ("PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = a.x WITHIN 10", 1),
        ("PATTERN SEQ(A a, C c, ~(B b)) WITHIN 10", 0),
        ("PATTERN SEQ(A a, C c, ~(B b)) WHERE b.x > a.x WITHIN 10", 1),
    ],
)
def test_matches_are_counted_after_negations(evaluation: str, text: str, tests: int) -> None:
    query = cep.query(text)
    options = {"negation": "post_processing"} if evaluation.startswith("lazy") else {}
    keywords = {"evaluation": evaluation, "options": options}
    found = query.match(EVENTS, **keywords)
    assert found.metrics.matches == len(found)
    assert found.metrics.mean_match_length == 2.0
    assert bool(found.metrics.evaluations.get("b_negated", 0)) == bool(tests)
    session = query.session(**keywords)
    session.feed({name: values[:5] for name, values in EVENTS.items()})
    session = query.restore(session.snapshot(), **keywords)
    session.feed({name: values[5:] for name, values in EVENTS.items()})
    session.advance()
    if evaluation == "nfa_b":  # The others begin to count anew.
        assert session.metrics.matches == len(found)
