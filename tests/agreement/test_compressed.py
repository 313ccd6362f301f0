"""Compressed output with negations and alternatives has the matches of the reference evaluation."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

TYPES = "ABCX"


@st.composite
def sequences(draw: st.DrawFn, names: str) -> str:
    """A sequence of these variables, with negations between and inside them."""
    parts: list[str] = []
    for name in names:
        if parts and draw(st.booleans()):
            negated = draw(st.sampled_from(["X", "B", "ANY(X, C)"]))
            parts.append(f"~({negated} n{name})")
        kind = draw(st.sampled_from(TYPES[:3]))
        many = draw(st.sampled_from(["", "", "+", "*", "{1,2}", "{2,}"]))
        part = f"{kind}{many} {name}[]" if many else f"{kind} {name}"
        if many and draw(st.booleans()):
            part += f" WITHOUT ({draw(st.sampled_from('XAB'))} w{name})"
        parts.append(part)
    return f"SEQ({', '.join(parts)})"


@st.composite
def queries(draw: st.DrawFn) -> str:
    pattern = draw(sequences("ab"[: draw(st.integers(1, 2))] + "c"))
    if draw(st.integers(0, 3)) == 0:
        pattern = f"OR({pattern}, {draw(sequences('de'))})"
    strategy = draw(
        st.sampled_from(
            ["skip_till_any_match", "skip_till_any_match", "skip_till_next_match",
             "partition_contiguity", "strict_contiguity"]
        )
    )  # fmt: skip
    where = [strategy]
    if draw(st.booleans()) or strategy == "partition_contiguity":
        where.append("[k]")
    if "nc" in pattern and draw(st.booleans()):
        where.append("nc.v > 1")
    window = draw(st.sampled_from(["", " WITHIN 4", " WITHIN 7", " WITHIN 5 EVENTS"]))
    return f"PATTERN {pattern} WHERE {' AND '.join(where)}{window}"


@st.composite
def streams(draw: st.DrawFn) -> dict[str, list[Any]]:
    size = draw(st.integers(3, 11))
    gaps = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    return {
        "ts": [sum(gaps[: place + 1]) for place in range(size)],
        "type": draw(st.lists(st.sampled_from(TYPES), min_size=size, max_size=size)),
        "k": draw(st.lists(st.sampled_from([0, 0, 1]), min_size=size, max_size=size)),
        "v": draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)),
    }


@settings(suppress_health_check=list(HealthCheck))
@given(text=queries(), events=streams())
def test_negations_and_alternatives(text: str, events: dict[str, list[Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            query = cep.query(text)
            expected = query.match(events, evaluation="reference").bindings()
            matches = query.match(events, output="compressed")
        except (cep.OptionError, cep.QuerySemanticError) as refused:
            event(f"refused: {str(refused)[-40:]}")
            return
    event(f"matches: {min(len(expected), 3)}, parts: {min(len(matches._parts), 3)}")
    found = matches.expand().bindings()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert matches.count() == len(expected)
    assert {*map(str, matches.sample(3, seed=1).bindings())} <= {*map(str, expected)}
    assert len(matches.sample(3, seed=1)) == (3 if expected else 0)
    bound = [row for match in expected for row in rows_of(match.get("c"))]
    values = [Fraction(events["v"][row]) for row in bound]
    assert matches.aggregate("sum", "c.v") == (sum(values) if values else None)
    assert matches.aggregate("min", "c.v") == min(values, default=None)
    assert matches.aggregate("count", "c.v") == len(values)


def rows_of(bound: Any) -> list[int]:
    return bound if isinstance(bound, list) else [] if bound is None else [bound]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("SEQ(A a, ~(B b)) WITHIN 5", "depends on more than the order"),
        ("SEQ(~(B b), A a) WITHIN 5", "depends on more than the order"),
        ("SEQ(A a, ~(B b) WITHIN 3, C c)", "depends on more than the order"),
        ("SEQ(A a, ~(B b), C c) WHERE b.v < c.v", "compares the negated b"),
    ],
)
def test_what_is_refused(pattern: str, reason: str) -> None:
    events = {"ts": [1], "type": ["A"], "v": [1]}
    with pytest.raises(cep.OptionError, match=reason):
        cep.query(f"PATTERN {pattern}").match(events, output="compressed")
