"""A partial match that a negated component has violated is not extended."""

from __future__ import annotations

from typing import Any

import pytest

import cepheid as cep
from cepheid.samples import retail_theft
from cepheid.sessions.alternative_run import AlternativeRun

ANY_THEFT = retail_theft.QUERY.replace("skip_till_next_match", "skip_till_any_match")


def built_and_kept(
    monkeypatch: pytest.MonkeyPatch, text: str, events: Any, evaluation: str
) -> tuple[int, int]:
    """The number of matches that the engine builds, and of those without a violation."""
    built = 0
    blocks = AlternativeRun._blocks

    def counted(self: AlternativeRun, *given: Any) -> Any:
        nonlocal built
        for block in blocks(self, *given):
            built += len(block)
            yield block

    monkeypatch.setattr(AlternativeRun, "_blocks", counted)
    kept = len(cep.query(text).match(events, evaluation=evaluation))
    return built, kept


@pytest.mark.parametrize(
    ("text", "evaluation"),
    [
        (retail_theft.QUERY, "nfa_b"),
        (ANY_THEFT, "nfa_b"),
        (ANY_THEFT, "instance_stacks"),
    ],
)
def test_thefts(monkeypatch: pytest.MonkeyPatch, text: str, evaluation: str) -> None:
    """Without the early test, about twenty-five sequences are built for each theft."""
    events = retail_theft.generate(20_000, seed=3)
    built, kept = built_and_kept(monkeypatch, text, events, evaluation)
    assert kept == 200
    assert built <= 1.2 * kept


@pytest.mark.parametrize("evaluation", ["nfa_b", "instance_stacks"])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, ~(X x), B b, C c)",
        "SEQ(A a, B b, ~(X x), C c)",
        "SEQ(A a, ~(X x), B b, ~(Y y), C c)",
        "SEQ(A a, ~(X x), ~(Y y), B b, C c)",
        "SEQ(A a, ~(B x), B b, ~(A y), C c)",
        "SEQ(A a, ~(A x), A b, C c)",
        "SEQ(A a, ~(ANY(X, C) x), A b, C c)",
    ],
)
@pytest.mark.parametrize("where", ["", "WHERE [k]", "WHERE [k] AND a.v <= c.v"])
def test_what_is_built_is_kept(
    monkeypatch: pytest.MonkeyPatch, pattern: str, where: str, evaluation: str
) -> None:
    """Every sequence that violates is cut, in a stream in which each key has every order."""
    types = "ABXCAYBCXABCCBAYXBABCAXCBBCAACYBCXAACB"
    events = {
        "ts": range(len(types)),
        "type": list(types),
        "k": [place % 2 for place in range(len(types))],
        "v": [place * 7 % 5 for place in range(len(types))],
    }
    text = f"PATTERN {pattern} {where} WITHIN 20"
    built, kept = built_and_kept(monkeypatch, text, events, evaluation)
    assert built == kept
    assert kept == len(cep.query(text).match(events, evaluation="reference"))


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A+ a[], ~(X x), C c)",
        "SEQ(A+ a[] WITHOUT (X x), C c)",
        "SEQ(A+ a[] WITHOUT (A x), C c)",
        "SEQ(C c, A{1,3} a[] WITHOUT (X x) WITHOUT (B y))",
        "SEQ(A a, ~(X x), B+ b[] WITHOUT (C y), C c)",
    ],
)
def test_lists(monkeypatch: pytest.MonkeyPatch, pattern: str, strategy: str) -> None:
    types = "AABXCAABCXABCCBAXBABCAXCBBCAAC"
    events = {"ts": range(len(types)), "type": list(types)}
    text = f"PATTERN {pattern} WHERE {strategy} WITHIN 9"
    built, kept = built_and_kept(monkeypatch, text, events, "nfa_b")
    assert built == kept > 0
    assert kept == len(cep.query(text).match(events, evaluation="reference"))
