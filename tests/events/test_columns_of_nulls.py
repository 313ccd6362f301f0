"""A column that has nothing but nulls is of no kind, and goes with everything."""

from datetime import datetime

import pytest

import cepheid as cep

EVENTS = {
    "ts": [1, 2],
    "type": ["A", "B"],
    "none": [None, None],
    "x": [1, 2],
    "s": ["p", "q"],
    "t": [datetime(2024, 5, 1), datetime(2024, 5, 2)],
    "f": [True, False],
}


@pytest.mark.parametrize(
    "condition",
    [
        "a.none = 'p'",
        "a.none != a.s",
        "a.s IN (a.none, 'q')",
        "a.none LIKE 'p%'",
        "a.none = TRUE",
        "a.none != a.f",
        "a.none > '2024-05-01'",
        "a.none BETWEEN a.t AND a.t",
        "a.none > 1 second",
        "a.none + 1 hour > 1 hour",
        "a.t - a.none > 1 hour",
        "-a.none < 2 * 1 hour",
        "a.none * 1 hour > 1 hour",
        "a.none / 2 > 1",
        "length(a.none) >= 0",
        "lower(a.none) = 'p'",
    ],
)
@pytest.mark.parametrize("evaluation", ["auto", "nfa_b", "reference"])
def test_a_comparison_with_nulls_of_no_kind_is_unknown(condition: str, evaluation: str) -> None:
    assert not cep.query(f"PATTERN A a WHERE {condition}").match(EVENTS, evaluation=evaluation)
    absent = cep.query(f"PATTERN SEQ(B b, ~(A a)) WHERE {condition} WITHIN 5")
    assert len(absent.match(EVENTS, evaluation=evaluation)) == 1


@pytest.mark.parametrize(
    "item", ["a.none = 'p'", "a.none + 1 hour", "-a.none", "length(a.none)", "a.none LIKE '_'"]
)
def test_what_is_made_of_nulls_of_no_kind_is_null(item: str) -> None:
    [match] = cep.query(f"PATTERN A a RETURN {item} AS made").match(EVENTS)
    assert match["made"] is None


def test_nulls_of_no_kind_agree_with_no_text() -> None:
    assert not cep.query("PATTERN A a WHERE [none = 'p']").match(EVENTS)


def test_a_kind_that_is_known_late_must_be_what_the_query_compares_with():
    session = cep.query("PATTERN SEQ(A a, B b) WHERE a.x = 'p' WITHIN 10").session()
    session.feed({"ts": [1], "type": ["A"], "x": [None]})
    with pytest.raises(cep.QuerySemanticError, match="an integer cannot be compared with a string"):
        session.feed({"ts": [2], "type": ["A"], "x": [5]})
    session.feed({"ts": [3], "type": ["A"], "x": ["p"]})
    assert len(session.feed({"ts": [4], "type": ["B"], "x": [None]})) == 1


@pytest.mark.parametrize(
    ("window", "difference"), [("10 minutes", "5 minutes"), ("10", "5"), ("9 EVENTS", "5 s")]
)
def test_a_file_with_only_a_header_has_no_matches(tmp_path, window, difference):
    path = tmp_path / "events.csv"
    path.write_text("ts,type,x\n")
    text = f"""PATTERN SEQ(A a, B b, ~(C c)) WHERE [x] AND b.ts - a.ts < {difference} AND b.x > 1
               WITHIN {window} RETURN b.ts - a.ts AS after, b.x + 1 AS y"""
    for evaluation in ("auto", "reference"):
        assert len(cep.query(text).match(path, evaluation=evaluation)) == 0
