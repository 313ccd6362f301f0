"""Negated components: which conditions are theirs, and between which events they stand."""

import pytest

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import Alternative, NegatedComponent, Place
from cepheid.language.parser import parse
from cepheid.language.printer import print_expression


def only_alternative(text: str) -> Alternative:
    [alternative] = analyse(parse(text)).alternatives
    return alternative


def split(text: str) -> dict[str, list[str]]:
    """The clauses of the match, and of each negated variable."""
    query = parse(text)
    [alternative] = analyse(query).alternatives
    clauses = {"match": alternative.clauses}
    clauses |= {each.component.variable: each.clauses for each in alternative.negations}
    return {
        name: [print_expression(clause.expression, query) for clause in found]
        for name, found in clauses.items()
    }


def test_a_condition_belongs_to_the_negated_variable_that_it_names() -> None:
    assert split("""
        PATTERN SEQ(A a, ~(B b), C c, ~(D d), E e)
        WHERE a.id = c.id AND b.id = a.id AND c.x < d.x AND d.y = 1 AND e.x > 2
    """) == {
        "match": ["a.id = c.id", "e.x > 2"],
        "b": ["b.id = a.id"],
        "d": ["c.x < d.x", "d.y = 1"],
    }


def test_a_negated_conjunction_is_split_before_it_is_shared_out() -> None:
    assert split("PATTERN SEQ(A a, ~(B b), C c) WHERE NOT (a.x = 1 OR b.x = 2)") == {
        "match": ["NOT a.x = 1"],
        "b": ["NOT b.x = 2"],
    }


def test_a_disjunction_on_one_negated_variable_stays_whole() -> None:
    assert split("PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = a.x OR b.x = c.x OR b.y = 1") == {
        "match": [],
        "b": ["b.x = a.x OR b.x = c.x OR b.y = 1"],
    }


def test_a_condition_on_a_negated_variable_is_placed_among_the_positive_components() -> None:
    alternative = only_alternative(
        "PATTERN SEQ(A a, ~(B b), C+ c[]) WHERE b.x = 1 AND b.y = a.y AND b.z < c[i].z"
    )
    [negation] = alternative.negations
    assert [clause.component_ix for clause in negation.clauses] == [None, 0, 1]
    assert [dict(clause.ranges) for clause in negation.clauses] == [{}, {}, {"c": 1}]
    assert negation.clauses[2].variables == {"b", "c"}


def test_a_condition_is_dropped_where_its_variable_is_in_another_branch() -> None:
    query = parse("PATTERN OR(SEQ(A a, ~(B b), C c), SEQ(A a, D d)) WHERE b.x = c.x AND d.x = 1")
    first, second = analyse(query).alternatives
    assert (len(first.clauses), len(first.negations[0].clauses)) == (0, 1)
    assert (len(second.clauses), second.negations) == (1, ())


def negation(pattern: str) -> tuple[NegatedComponent, list[str]]:
    alternative = only_alternative(f"PATTERN {pattern} WITHIN 10")
    [found] = alternative.negations
    return found, [component.variable for component in alternative.components]


@pytest.mark.parametrize(
    ("pattern", "after", "before", "place", "waits"),
    [
        ("SEQ(A a, ~(N n), B b)", "a", "b", Place.MIDDLE, False),
        ("SEQ(A a, B b, ~(N n), C c, D d)", "ab", "cd", Place.MIDDLE, False),
        ("SEQ(~(N n), A a, B b)", "", "ab", Place.START, False),
        ("SEQ(A a, B b, ~(N n))", "ab", "", Place.END, True),
        ("AND(A a, ~(N n), B b)", "", "", Place.ANYWHERE, True),
        ("SEQ(A a, AND(B b, ~(N n)), C c)", "a", "c", Place.MIDDLE, False),
        ("SEQ(AND(A a, ~(N n)), B b)", "", "b", Place.START, False),
        ("SEQ(A a, AND(B b, ~(N n)))", "a", "", Place.END, True),
        ("AND(SEQ(A a, ~(N n), B b), C c)", "a", "b", Place.MIDDLE, False),
        ("AND(SEQ(A a, ~(N n)), B b)", "a", "", Place.END, True),
        ("SEQ(A+ a[], ~(N n), B+ b[])", "a", "b", Place.MIDDLE, False),
    ],
)
def test_a_negated_component_stands_between_these_events(
    pattern: str, after: str, before: str, place: Place, waits: bool
) -> None:
    found, names = negation(pattern)
    assert "".join(names[ix] for ix in sorted(found.after)) == after
    assert "".join(names[ix] for ix in sorted(found.before)) == before
    assert found.place is place
    assert found.waits is waits


def test_neighbouring_negations_do_not_bound_each_other() -> None:
    alternative = only_alternative("PATTERN SEQ(A a, ~(M m), ~(N n), B b)")
    assert [(set(n.after), set(n.before)) for n in alternative.negations] == [({0}, {1})] * 2


def test_a_star_that_is_absent_bounds_no_negation() -> None:
    short, long = analyse(parse("PATTERN SEQ(A* a[], ~(N n), B b)")).alternatives
    assert short.negations[0].place is Place.START
    assert long.negations[0].place is Place.MIDDLE


def test_a_match_waits_when_one_of_its_negations_does() -> None:
    assert only_alternative("PATTERN SEQ(A a, ~(M m), B b, ~(N n)) WITHIN 5").waits
    assert not only_alternative("PATTERN SEQ(A a, ~(M m), B b) WITHIN 5").waits
