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
NEGATED = st.sampled_from(["X", "B", "ANY(X, C)"])
OWN = st.sampled_from(["", "", " WITHIN 2", " WITHIN 4"])


@st.composite
def sequences(draw: st.DrawFn, names: str) -> str:
    """A sequence of these variables, with negations between, around and inside them."""
    parts: list[str] = []
    for name in names:
        if draw(st.booleans()):
            parts.append(f"~({draw(NEGATED)} n{name}){draw(OWN)}")
        kind = draw(st.sampled_from(TYPES[:3]))
        many = draw(st.sampled_from(["", "", "+", "*", "{1,2}", "{2,}"]))
        part = f"{kind}{many} {name}[]" if many else f"{kind} {name}"
        if many and draw(st.booleans()):
            part += f" WITHOUT ({draw(st.sampled_from('XAB'))} w{name})"
        parts.append(part)
    if draw(st.integers(0, 3)) == 0:
        parts.append(f"~({draw(NEGATED)} m{names[-1]}){draw(OWN)}")
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
    negated = [name for name in ("na", "nb", "nc", "mc", "wa", "wb") if f" {name})" in pattern]
    single = [name for name in "abcde" if f" {name}," in pattern or f" {name})" in pattern]
    for name in negated:
        if draw(st.booleans()):
            other = f"{draw(st.sampled_from(single))}.v" if single and draw(st.booleans()) else "1"
            where.append(f"{name}.v {draw(st.sampled_from(['>', '<=']))} {other}")
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
            every = query.match(events, evaluation="reference")
            expected = every.bindings()
            matches = query.match(events, output="compressed")
        except (cep.OptionError, cep.QuerySemanticError) as refused:
            event(f"refused: {str(refused)[-40:]}")
            return
    event(f"matches: {min(len(expected), 3)}, parts: {min(len(matches._parts), 3)}")
    assert sorted(map(str, matches.expand())) == sorted(map(str, every))
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
        ("SEQ(A a, B+ b[], ~(D d), C c) WHERE d.v < b[1].v", "compares the negated d with .* b"),
        ("SEQ(A a, B+ b[], ~(D d), C c) WHERE d.v < sum(b[].v)", "compares the negated d"),
        ("SEQ(A+ a[] WITHOUT (A n), C c) WHERE n.v < c.v", "whether n is in a itself"),
    ],
)
def test_what_is_refused(pattern: str, reason: str) -> None:
    events = {"ts": [1], "type": ["A"], "v": [1]}
    with pytest.raises(cep.OptionError, match=reason):
        cep.query(f"PATTERN {pattern}").match(events, output="compressed")


def test_a_column_called_index_does_not_stand_for_positions() -> None:
    events = {"ts": [1], "type": ["A"], "INDEX": [1]}
    with pytest.raises(cep.OptionError, match="a column is called INDEX"):
        cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5").match(events, output="compressed")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(A a, B+ b[], ~(X x)) WITHIN 1000", 2**200 - 1),
        ("SEQ(~(X x), A a, B+ b[], C c) WITHIN 1000", 2**200 - 1),
        ("SEQ(A a, B+ b[], ~(X x), C c) WHERE x.v > a.v WITHIN 1000", 2**200 - 1),
        ("SEQ(A a, ~(X x) WITHIN 51, B+ b[]) WITHIN 1000", 2**200 - 1),
        ("SEQ(A a, ~(C x) WITHIN 3, B+ b[], ~(C y) WITHIN 100) WITHIN 1000", 2**101 - 1),
    ],
)
def test_matches_that_nobody_could_list_with_negations(pattern: str, expected: int) -> None:
    size = 202
    events = {"ts": [*range(size)], "type": ["A", *["B"] * 200, "C"], "v": [*range(size)]}
    matches = cep.query(f"PATTERN {pattern}").match(events, output="compressed")
    assert matches.count() == expected


def test_a_match_that_waits_ends_with_its_window() -> None:
    events = {"ts": [1, 2, 4], "type": ["A", "B", "B"]}
    matches = cep.query("PATTERN SEQ(A a, B b, ~(C c)) WITHIN 9").match(events, output="compressed")
    assert [(match.bindings, match.end) for match in matches.expand()] == [
        ({"a": 0, "b": 1}, 10),
        ({"a": 0, "b": 2}, 10),
    ]
