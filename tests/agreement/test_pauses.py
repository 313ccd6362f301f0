"""Kernels that pause after every piece of work find the same matches as kernels that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cepheid as cep

SEQUENCE = "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x WITHIN 30"
KEYS = "PATTERN SEQ(A a, B b, C c) WHERE [k, x] AND a.y < c.y WITHIN 60"
LISTS = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x WITHIN 12"
LAST = "PATTERN SEQ(A a, B+ b[]) WHERE [k] WITHIN 12"
NEXT = LISTS.replace(" WITHIN", " AND skip_till_next_match WITHIN")
NEGATED = "PATTERN SEQ(A a, ~(B b), C c) WHERE [k] AND b.x > a.x WITHIN 20"
ANY_ORDER = "PATTERN AND(A a, B b, C+ c[]) WHERE a.x < b.x AND c[i].x > a.x WITHIN 9"
UNCERTAIN = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 12"
UNCERTAIN_NEXT = UNCERTAIN.replace(" WITHIN", " AND skip_till_next_match WITHIN")
UNCERTAIN_AND = "PATTERN AND(A a, B b) WHERE a.x < b.x WITHIN 12"


def nfa_b(**options: str) -> dict[str, Any]:
    return {"evaluation": "nfa_b", "options": options}


def stacks(**options: str) -> dict[str, Any]:
    return {"evaluation": "instance_stacks", "options": options}


def imprecise(**options: str) -> dict[str, Any]:
    return {"uncertainty": 2, "options": options}


CASES: list[tuple[str, dict[str, Any]]] = [
    *((text, nfa_b()) for text in (SEQUENCE, LISTS, LAST, NEXT, NEGATED)),
    *((text, nfa_b(algorithm="basic")) for text in (LISTS, LAST)),
    *((text, nfa_b(algorithm="backtrack")) for text in (LISTS, LAST)),
    *((text, nfa_b(buffer="versioned")) for text in (LISTS, LAST)),
    (KEYS, stacks()),
    (SEQUENCE, stacks(construction="basic")),
    (KEYS, stacks(equivalence="multi_pais")),
    (NEGATED, stacks()),
    *((text, {"evaluation": "lazy_chain"}) for text in (SEQUENCE, LISTS, NEGATED, ANY_ORDER)),
    *((text, {"evaluation": "lazy_tree"}) for text in (SEQUENCE, LISTS, ANY_ORDER)),
    *((UNCERTAIN, imprecise(method=each)) for each in ("query_order", "selectivity")),
    *((UNCERTAIN, imprecise(method=each)) for each in ("any_state", "point")),
    (UNCERTAIN_NEXT, imprecise()),
    (NEGATED, imprecise()),
    (UNCERTAIN_AND, imprecise()),
]


def events(count: int) -> dict[str, Any]:
    random = np.random.default_rng(20)
    return {
        "ts": np.cumsum(random.integers(0, 3, count)),
        "type": random.choice(list("ABCD"), count),
        "k": random.integers(0, 2, count),
        "x": random.integers(0, 5, count),
        "y": random.integers(0, 50, count),
    }


def shown(matches: Any) -> list[str]:
    return sorted(f"{match.bindings} {match.confidence}" for match in matches)


@pytest.mark.parametrize(("text", "options"), CASES)
@pytest.mark.parametrize("work", [1, 5])
def test_matches_do_not_depend_on_pauses(
    text: str, options: dict[str, Any], work: int, tune: Callable[..., None]
) -> None:
    query, stream = cep.query(text), events(120)
    expected = shown(query.match(stream, **options))
    assert expected
    tune(pause_work=work, scored_matches=1)
    assert shown(query.match(stream, **options)) == expected


@pytest.mark.parametrize("text", [LISTS, LAST])
def test_counts_do_not_depend_on_pauses(text: str, tune: Callable[..., None]) -> None:
    query, stream = cep.query(text), events(120)
    expected = query.count(stream)
    tune(pause_work=1)
    assert query.count(stream) == expected
    assert query.match(stream, evaluation="nfa_b", output="compressed").count() == expected
