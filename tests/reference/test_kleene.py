"""Kleene plus, Kleene star and repetition under skip_till_any_match."""

import pytest
from streams import answers, bindings, matches

SEVEN = "a [b1] c | a [b2] c | a [b3] c | a [b1 b2] c | a [b1 b3] c | a [b2 b3] c | a [b1 b2 b3] c"


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B+ b[], C c)", "a b1 b2 b3 c", SEVEN),
        ("SEQ(A a, B+ b[], C c)", "a c", ""),
        ("SEQ(A a, B+ b[], C c)", "b1 a b2 c b3", "a [b2] c"),
        ("A+ a[]", "a1 a2", "[a1] | [a2] | [a1 a2]"),
        ("SEQ(A+ a[], B b)", "a1 b1 a2 b2", "[a1] b1 | [a1] b2 | [a2] b2 | [a1 a2] b2"),
        ("SEQ(A a, B+ b[])", "a b1 c b2", "a [b1] | a [b2] | a [b1 b2]"),
        ("SEQ(A+ a[], B+ b[])", "a1 a2 b1", "[a1] [b1] | [a2] [b1] | [a1 a2] [b1]"),
        ("SEQ(A+ a[], B+ b[])", "a1 b1 a2 b2", "[a1] [b1] | [a1] [b2] | [a1] [b1 b2]"
         " | [a2] [b2] | [a1 a2] [b2]"),
        ("SEQ(A+ a[], A+ b[])", "a1 a2 a3", "[a1] [a2] | [a1] [a3] | [a2] [a3]"
         " | [a1] [a2 a3] | [a1 a2] [a3]"),
        ("SEQ(A+ a[], A b)", "a1 a2 a3", "[a1] a2 | [a1] a3 | [a2] a3 | [a1 a2] a3"),
        ("ANY(A, B)+ x[]", "a b", "[a] | [b] | [a b]"),
    ],
)  # fmt: skip
def test_plus_is_every_non_empty_list_of_events_in_order(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("{1}", "a [b1] | a [b2] | a [b3]"),
        ("{2}", "a [b1 b2] | a [b1 b3] | a [b2 b3]"),
        ("{3}", "a [b1 b2 b3]"),
        ("{4}", ""),
        ("{2,}", "a [b1 b2] | a [b1 b3] | a [b2 b3] | a [b1 b2 b3]"),
        ("{4,}", ""),
        ("{3,9}", "a [b1 b2 b3]"),
        ("{1,2}", "a [b1] | a [b2] | a [b3] | a [b1 b2] | a [b1 b3] | a [b2 b3]"),
        ("{0,1}", "a | a [b1] | a [b2] | a [b3]"),
        ("{0,}", "a | a [b1] | a [b2] | a [b3] | a [b1 b2] | a [b1 b3] | a [b2 b3]"
         " | a [b1 b2 b3]"),
    ],
)  # fmt: skip
def test_a_repetition_bounds_the_length_of_the_list(bounds: str, expected: str) -> None:
    assert matches(f"PATTERN SEQ(A a, B{bounds} b[])", "a b1 b2 b3") == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B* b[], C c)", "a b c", "a c | a [b] c"),
        ("SEQ(A a, B* b[], C c)", "a c", "a c"),
        ("SEQ(A* a[], B b)", "a b", "b | [a] b"),
        ("SEQ(A a, B* b[])", "a b", "a | a [b]"),
        ("SEQ(A a, B* b[], C* c[], D d)", "a b c d", "a d | a [b] d | a [c] d | a [b] [c] d"),
        ("SEQ(A a, B* b[], C c)", "b a c", "a c"),
        ("A* a[]", "a1 b", "[a1]"),
        ("A* a[]", "b", ""),
        ("SEQ(A* a[], B* b[])", "b a", "[a] | [b]"),
    ],
)
def test_star_is_the_pattern_without_the_component_and_the_pattern_with_plus(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b[i].x > 1", "a c | a [b2] c"),
        ("b[1].x = 7", "a c"),
        ("b.LEN = 2", "a c | a [b1 b2] c"),
        ("avg(b[].x) > a.x", "a c | a [b2] c"),
        ("b[i].x > 7 OR a.x = 7", "a c"),
        ("b[i].x > 7 AND a.x = 7", ""),
    ],
)
def test_conditions_on_a_star_are_dropped_where_it_is_empty(condition: str, expected: str) -> None:
    query = f"PATTERN SEQ(A a, B* b[], C c) WHERE {condition}"
    assert matches(query, "a(x=1.6) b1(x=1) b2(x=2) c") == answers(expected)


def test_an_empty_star_is_missing_from_the_binding() -> None:
    assert bindings("PATTERN SEQ(A a, B* b[])", "a") == [{"a": "a"}]


def test_a_kleene_variable_is_a_list_even_of_one_event() -> None:
    assert bindings("PATTERN A{1} a[]", "a") == [{"a": ["a"]}]


def test_the_whole_list_fits_into_the_window() -> None:
    expected = answers("[a1] | [a2] | [a3] | [a1 a2] | [a2 a3]")
    assert matches("PATTERN A+ a[] WITHIN 5", "a1@1 a2@4 a3@6") == expected
