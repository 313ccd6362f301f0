"""Times below zero, such as timestamps before 1970, are times like any other."""

from __future__ import annotations

from datetime import datetime

import pytest

import cepheid as cep

EVENTS = {"ts": [-7, -4, -4, -1, 2], "type": ["A", "B", "A", "B", "C"], "k": [1, 1, 1, 1, 1]}

KLEENE = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match"
QUERIES = (
    "PATTERN SEQ(A a, B b)",
    "PATTERN SEQ(A a, B b, C c) WHERE [k]",
    KLEENE,
    "PATTERN SEQ(~(C n), B a, C c)",
)

WAYS = (
    ("instance_stacks", {}),
    ("instance_stacks", {"equivalence": "multi_pais"}),
    ("nfa_b", {}),
    ("nfa_b", {"algorithm": "backtrack"}),
    ("nfa_b", {"buffer": "versioned"}),
    ("lazy_chain", {}),
    ("lazy_tree", {}),
)


@pytest.mark.parametrize(
    ("text", "evaluation", "options"),
    [
        (text, *way)
        for text in QUERIES
        for way in WAYS
        # Only nfa_b runs lists under skip_till_next_match.
        if text != KLEENE or way[0] == "nfa_b"
    ],
)
def test_finds_the_same_as_the_reference(text: str, evaluation: str, options: dict) -> None:
    query = cep.query(text)
    expected = query.match(EVENTS, evaluation="reference").bindings()
    assert expected
    found = query.match(EVENTS, evaluation=evaluation, options=options).bindings()
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("evaluation", ["instance_stacks", "lazy_chain", "lazy_tree"])
def test_the_others_refuse_lists_under_skip_till_next_match(evaluation: str) -> None:
    with pytest.raises(cep.EvaluationError, match=f"{evaluation} cannot run this query"):
        cep.query(KLEENE).match(EVENTS, evaluation=evaluation)


@pytest.mark.parametrize("text", QUERIES[:3])
def test_counts_and_sessions_agree(text: str) -> None:
    query = cep.query(text)
    expected = len(query.match(EVENTS, evaluation="reference"))
    assert query.count(EVENTS, evaluation="nfa_b") == expected
    session = query.session(evaluation="nfa_b")
    found = 0
    for row in range(5):
        found += len(session.feed({name: values[row : row + 1] for name, values in EVENTS.items()}))
        session = query.restore(session.snapshot(), evaluation="nfa_b")
    assert found + len(session.advance()) == expected


def test_timestamps_before_1970() -> None:
    events = {"ts": [datetime(1969, 7, day) for day in (16, 20, 24)], "type": ["A", "B", "C"]}
    query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
    assert query.match(events).bindings() == [{"a": 0, "b": [1], "c": 2}]
