"""Long conditions are compiled in parts, and not at all if that would take minutes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cepheid as cep

EVENTS = {
    "ts": list(range(14)),
    "type": list("ABABBAABABABAB"),
    "x": [(5 * n) % 7 if n % 4 else None for n in range(14)],
    "s": [f"s{n % 3}" for n in range(14)],
}
KINDS = {"x": "integer", "s": "string"}


def assert_agreement(text: str, evaluation: str) -> None:
    found, wanted = (
        sorted(cep.query(text).match(EVENTS, evaluation=each).bindings(), key=str)
        for each in (evaluation, "reference")
    )
    assert found == wanted
    assert wanted


@pytest.mark.parametrize("evaluation", ["nfa_b", "instance_stacks"])
def test_parts_agree_with_the_definition(tune: Callable[..., None], evaluation: str) -> None:
    tune(predicate_part=150, predicates_on_event=150)
    across = " AND ".join(f"(a.x + {n} < b.x + 9 OR b.x IS NULL)" for n in range(4))
    on_event = " AND ".join(f"b.x <> {n + 20}" for n in range(4))
    text = f"PATTERN SEQ(A a, B b) WHERE {across} AND ({on_event} OR b.x IS NULL)"
    assert_agreement(f"{text} WITHIN 9", evaluation)


def test_parts_of_row_patterns_agree_with_the_definition(tune: Callable[..., None]) -> None:
    tune(predicate_part=150)
    conditions = " AND ".join(f"(sum(A.x) > {n} OR PREV(x, {n + 1}) > A.x)" for n in range(4))
    measures = "MEASURES FIRST(ts) AS f, count(*) AS n"
    text = f"MATCH_RECOGNIZE (ORDER BY ts {measures} PATTERN (A B+) DEFINE B AS {conditions})"
    query = cep.query(text)
    found, wanted = (
        query.match(EVENTS, evaluation=each).to_arrow() for each in ("row_pattern", "reference")
    )
    assert found == wanted
    assert len(wanted)


@pytest.mark.parametrize(
    "condition",
    [
        "NOT a.x + b.x IN (3, 5, 7)",
        "a.x + b.x IN (3, 5.0, 7.5) OR a.x IS NULL",
        "a.x + b.x IN (3, NULL, 7)",
        "CASE WHEN a.x > b.x THEN a.s ELSE b.s END IN ('s0', 's2')",
    ],
)
def test_constants_of_in_agree_with_the_definition(condition: str) -> None:
    assert_agreement(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 6", "nfa_b")


def test_conditions_that_take_too_long_to_compile_are_interpreted() -> None:
    many = " AND ".join(f"a.x + {n} < b.x + {n + 9}" for n in range(400))
    text = f"PATTERN SEQ(A a, B b) WHERE {many} WITHIN 3"
    assert "its conditions are too long to compile" in cep.query(text).explain(
        {"A": KINDS, "B": KINDS}
    )
    with pytest.raises(cep.EvaluationError, match="its conditions are too long to compile"):
        cep.query(text).match(EVENTS, evaluation="nfa_b")
    assert len(cep.query(text).match(EVENTS))


def test_clauses_that_take_too_long_to_compile_are_interpreted() -> None:
    many = " AND ".join(f"sum(A.x) + {n} > x" for n in range(400))
    query = cep.query(f"MATCH_RECOGNIZE (ORDER BY ts PATTERN (A+) DEFINE A AS {many})")
    events = {"ts": np.arange(20), "x": np.arange(20)}
    assert len(query.match(events)) == len(query.match(events, evaluation="reference"))
    with pytest.raises(cep.EvaluationError, match="its conditions are too long to compile"):
        query.match(events, evaluation="row_pattern")
