"""[x]: all events of the match have the same value of x."""

import pytest
from streams import answers, matches


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("[x]", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", "a1 b1 | a2 b2"),
        ("[x]", "a(x='p') b1(x='P') b2(x='p')", "a b2"),
        ("[x]", "a(x=1) b(x=1.0)", "a b"),
        ("[x]", "a(x=1) b(x='1')", ""),
        ("[x] AND [y]", "a(x=1,y=1) b1(x=1,y=2) b2(x=1,y=1)", "a b2"),
        ("[x, y]", "a(x=1,y=1) b1(x=1,y=2) b2(x=1,y=1)", "a b2"),
        ("[x] AND b.y > a.y", "a(x=1,y=1) b1(x=1,y=0) b2(x=2,y=2) b3(x=1,y=2)", "a b3"),
        ("[x=1]", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", "a1 b1"),
        ("[x='p', y]", "a(x='p',y=1) b1(x='p',y=2) b2(x='p',y=1) b3(x='q',y=1)", "a b2"),
        ("[x] AND [x=2]", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", "a2 b2"),
    ],
)
def test_all_events_have_the_same_value(condition: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN SEQ(A a, B b) WHERE {condition}", events) == answers(expected)


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("[x]", "a(x=null) b(x=null)", ""),
        ("[x]", "a(x=null) b(x=1)", ""),
        ("[x]", "a(x=1) b1(x=null) b2(x=1)", "a b2"),
        ("[x=1]", "a(x=null) b(x=1)", ""),
        ("[x, y]", "a(x=1,y=null) b(x=1,y=null)", ""),
        ("[x]", "a b(x=null)", ""),
    ],
)
def test_null_agrees_with_nothing(condition: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN SEQ(A a, B b) WHERE {condition}", events) == answers(expected)


def test_null_does_not_even_agree_with_itself() -> None:
    assert matches("PATTERN A a WHERE [x]", "a1(x=1) a2(x=null) a3") == answers("a1 | a3")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a(x=1) b c(x=1)", "a b c"),
        ("a(x=1) b c(x=2)", ""),
        ("a b(x=1) c(x=1)", "a b c"),
        ("a b(x=1) c(x=2)", ""),
        ("a b c", "a b c"),
        ("a(x=1) b c", "a b c"),
    ],
)
def test_an_event_whose_type_lacks_the_attribute_agrees_with_everything(
    events: str, expected: str
) -> None:
    assert matches("PATTERN SEQ(A a, B b, C c) WHERE [x]", events) == answers(expected)


def test_a_value_does_not_bind_a_type_without_the_attribute() -> None:
    assert matches("PATTERN SEQ(A a, B b) WHERE [x=1]", "a(x=1) b") == {"a b"}


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("A+ a[]", "a1(x=1) a2(x=2) a3(x=1)", "[a1] | [a2] | [a3] | [a1 a3]"),
        ("AND(A a, B b)", "b1(x=1) b2(x=2) a(x=2)", "a b2"),
        ("SEQ(A a, B* b[], C c)", "a(x=1) b1(x=1) b2(x=2) c(x=1)", "a c | a [b1] c"),
        ("SEQ(A a, OR(B b, C c))", "a(x=1) b(x=2) c(x=1)", "a c"),
        ("SEQ(A a, ~(B b), C c)", "a(x=1) b(x=2) c(x=1)", "a c"),
        ("SEQ(A a, ~(B b), C c)", "a(x=1) b(x=1) c(x=1)", ""),
        ("SEQ(A a, ~(B b), C c)", "a b(x=7) c", ""),
    ],
)
def test_every_event_of_the_match_is_meant(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query} WHERE [x]", events) == answers(expected)


def test_an_equivalence_test_is_equality_between_all_variables() -> None:
    events = "a1(x=1) a2(x=2) b1(x=2) b2(x=1) c1(x=1) c2(x=2)"
    short = matches("PATTERN SEQ(A a, ~(B b), C c) WHERE [x]", events)
    long = matches("PATTERN SEQ(A a, ~(B b), C c) WHERE a.x = b.x AND a.x = c.x", events)
    assert short == long == set()
    assert matches("PATTERN SEQ(A a, C c) WHERE [x]", events) == answers("a1 c1 | a2 c2")


def test_a_run_takes_the_next_event_that_agrees() -> None:
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { [x] }"
    events = "a1(x=1) a2(x=2) a3(x=1) b1(x=2) b2(x=1)"
    assert matches(query, events) == answers("[a1 a3] b2 | [a3] b2 | [a2] b1")


def test_a_run_without_the_attribute_yet_takes_the_first_value_it_meets() -> None:
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [x] }"
    assert matches(query, "a b1(x=null) b2(x=2) b3(x=1) c1(x=1) c2(x=2)") == {"a b2 c2"}
