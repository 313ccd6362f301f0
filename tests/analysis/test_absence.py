"""Negations with a window of their own, and WITHOUT: what is accepted, and how it is shown."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.explain.automaton import nfa_b_automata
from cepheid.language.builder import event, many, no, seq


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("AND(A a, ~(B b) WITHIN 5) WITHIN 9", "is in an AND"),
        ("SEQ(AND(A a, SEQ(C c, ~(B b) WITHIN 5)), D d)", "is in an AND"),
        ("SEQ(A a, ~(B b) WITHIN 5 EVENTS)", "cannot count events"),
        ("SEQ(A a, ~(B b) WITHIN 0)", "longer than 0"),
        ("SEQ(A a, ~(B b) WITHIN T)", "'T' has no value"),
        ("SEQ(A a, ~(B b) WITHIN 5, ~(C c))", "the negation of 'c' needs a window"),
        ("A+ a[] WITHOUT (B b) RETURN b.x", "'b' is negated"),
        ("SEQ(B b, A+ a[] WITHOUT (B b))", "'b' is declared twice"),
    ],
)
def test_what_makes_no_sense_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(cep.QuerySemanticError, match=message):
        cep.query(f"PATTERN {pattern}")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("A a WITHOUT (B b)", "WITHOUT follows a list"),
        ("A+ a[] WITHOUT (B+ b[])", "a component of one event"),
        ("A+ a[] WITHOUT B b", "in brackets"),
    ],
)
def test_without_excludes_one_event_from_a_list(pattern: str, message: str) -> None:
    with pytest.raises(cep.QuerySyntaxError, match=message):
        cep.query(f"PATTERN {pattern}")


@pytest.mark.parametrize(
    "pattern", ["SEQ(A a, ~(B b) WITHIN 3) WITHIN 4", "A+ a[] WITHOUT (B b) WITHIN 4"]
)
def test_uncertain_times_have_neither(pattern: str) -> None:
    table = pa.table({"lo": [0, 1], "hi": [1, 2], "type": ["A", "B"]})
    with pytest.raises(cep.EvaluationError, match="uncertain"):
        cep.query(f"PATTERN {pattern}").match(table, time=("lo", "hi"))


def test_a_window_of_a_negation_can_be_a_parameter() -> None:
    query = cep.query("PATTERN SEQ(A a, ~(B b) WITHIN T)", parameters={"T": "10 minutes"})
    assert str(query) == "PATTERN SEQ(A a, ~(B b) WITHIN 10 minutes)"


def test_the_builder_makes_both() -> None:
    buy, restart = event("Buy", "b"), event("Restart", "r")
    errors = many("Error", "e", at_least=3).without(restart)
    built = seq(errors, event("Cart", "c"), no(buy, within="30 minutes"))
    text = "PATTERN SEQ(Error{3,} e[] WITHOUT (Restart r), Cart c, ~(Buy b) WITHIN 30 minutes)"
    assert str(built) == text
    with pytest.raises(cep.OptionError, match="excluded"):
        many("Error", "e").without(many("Restart", "r"))


def test_explain_says_where_no_event_may_be() -> None:
    query = cep.query("PATTERN SEQ(A+ a[] WITHOUT (C c), ~(B b) WITHIN 5 minutes)")
    shown = query.explain()
    assert "no B b after a, within 5 minutes, known when the window ends" in shown
    assert "no C c inside a" in shown
    [automaton] = nfa_b_automata(analyse(query.tree))
    formulas = [str(each.formula) for each in automaton.filters]
    assert formulas == ["b ∈ B ∧ b.time < a[LEN].time + 5 minutes", "c ∈ C"]


def test_diagnosis_names_the_event_that_violates() -> None:
    table = pa.table({"ts": [0, 1, 2, 3, 9], "type": ["A", "C", "A", "B", "A"]})
    shown = str(cep.query("PATTERN A{2} a[] WITHOUT (C c) WITHIN 5").diagnose(table))
    assert "WITHOUT (C c): C came inside a" in shown
    shown = str(cep.query("PATTERN SEQ(A a, ~(B b) WITHIN 2)").diagnose(table))
    assert "~(B b) WITHIN 2: B came after a, within 2" in shown
    assert "removed 1 of 3 matches" in shown
