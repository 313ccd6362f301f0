"""AND and OR: no order between the parts; exactly one of the parts."""

import pytest
from streams import answers, bindings, matches


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("AND(A a, B b)", "a b", "a b"),
        ("AND(A a, B b)", "b a", "a b"),
        ("AND(A a, B b)", "a1 b a2", "a1 b | a2 b"),
        ("AND(A a, B b)", "a", ""),
        ("AND(A a, B b, C c)", "c b a", "a b c"),
        ("AND(A a, AND(B b, C c))", "c a b", "a b c"),
        ("AND(SEQ(A a, B b), SEQ(C c, D d))", "a c b d", "a b c d"),
        ("AND(SEQ(A a, B b), SEQ(C c, D d))", "c a d b", "a b c d"),
        ("AND(SEQ(A a, B b), SEQ(C c, D d))", "b a c d", ""),
        ("AND(SEQ(A a, B b), C c)", "a1 c b a2", "a1 b c"),
        ("SEQ(A a, AND(B b, C c), D d)", "a c b d", "a b c d"),
        ("SEQ(A a, AND(B b, C c), D d)", "b a c d", ""),
        ("SEQ(A a, AND(B b, C c), D d)", "a b1 c d b2", "a b1 c d"),
        ("SEQ(AND(A a, B b), AND(C c, D d))", "b a d c", "a b c d"),
        ("SEQ(AND(A a, B b), AND(C c, D d))", "b d a c", ""),
        ("AND(A+ a[], B b)", "a1 b a2", "[a1] b | [a2] b | [a1 a2] b"),
        ("AND(A a, B* b[])", "b a", "a | a [b]"),
        ("AND(SEQ(A a, B+ b[]), C c)", "a b1 c b2", "a [b1] c | a [b2] c | a [b1 b2] c"),
        ("AND(A a)", "a1 a2", "a1 | a2"),
    ],
)
def test_a_conjunction_asks_for_no_order_between_its_parts(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("AND(A x, A y)", "a", ""),
        ("AND(A x, A y)", "a1 a2", "a1 a2 | a2 a1"),
        ("AND(ANY(A, B) x, A y)", "a b", "b a"),
        ("AND(A+ x[], A y)", "a1 a2 a3",
         "[a1] a2 | [a1] a3 | [a2] a1 | [a2] a3 | [a3] a1 | [a3] a2"
         " | [a1 a2] a3 | [a1 a3] a2 | [a2 a3] a1"),
        ("AND(A+ x[], A+ y[])", "a1 a2", "[a1] [a2] | [a2] [a1]"),
        ("AND(SEQ(A a, B x), SEQ(B y, C c))", "a b c", ""),
        ("AND(SEQ(A a, B x), SEQ(B y, C c))", "a b1 b2 c", "a b1 b2 c | a b2 b1 c"),
    ],
)  # fmt: skip
def test_one_event_is_never_bound_to_two_components(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("OR(A a, B b)", "a b c", "a | b"),
        ("OR(A a, OR(B b, C c))", "a b c", "a | b | c"),
        ("OR(SEQ(A a, B b), SEQ(B b, A a))", "a1 b a2", "a1 b | a2 b"),
        ("SEQ(A a, OR(B b, C c), D d)", "a b c d", "a b d | a c d"),
        ("SEQ(A a, OR(B b, SEQ(C c, D d)))", "a c d b", "a b | a c d"),
        ("AND(A a, OR(B b, C c))", "c a b", "a b | a c"),
        ("OR(A+ a[], B b)", "a1 b a2", "[a1] | [a2] | [a1 a2] | b"),
        ("OR(A a, B* b[])", "a b", "a | [b]"),
        ("SEQ(OR(A a, B b), OR(C c, D d))", "a d b c", "a d | a c | b c"),
    ],
)
def test_a_disjunction_takes_exactly_one_of_its_parts(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("OR(SEQ(A a, B b), SEQ(A a, B b))", "a b", "a b"),
        ("OR(SEQ(A a, B b), AND(A a, B b))", "a1 b a2", "a1 b | a2 b"),
        ("OR(A+ a[], A{2} a[])", "a1 a2", "[a1] | [a2] | [a1 a2]"),
        ("OR(ANY(A, B) x, ANY(B, C) x)", "a b c", "a | b | c"),
    ],
)
def test_a_match_that_two_branches_find_is_reported_once(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


def test_the_same_events_under_other_names_are_another_match() -> None:
    found = bindings("PATTERN OR(A a, A b)", "a")
    assert sorted(found, key=str) == [{"a": "a"}, {"b": "a"}]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.x > a.x", "a c"),
        ("c.x > a.x", "a b"),
        ("b.x > 0 AND c.x > a.x", "a b"),
        ("b.x = 9 OR c.x = 9", "a b | a c"),
        ("b.x = 9 OR a.x = 9", "a c"),
        ("a.x = 9", ""),
        ("NOT (b.x = 1 OR c.x = 1)", ""),
        ("NOT (b.x = 1 AND c.x = 1)", "a b | a c"),
    ],
)
def test_a_condition_on_a_branch_that_is_not_taken_is_dropped(
    condition: str, expected: str
) -> None:
    query = f"PATTERN SEQ(A a, OR(B b, C c)) WHERE {condition}"
    assert matches(query, "a(x=5) b(x=1) c(x=1)") == answers(expected)


def test_variables_of_other_branches_are_missing_from_the_binding() -> None:
    assert bindings("PATTERN SEQ(A a, OR(B b, C+ c[]))", "a c") == [{"a": "a", "c": ["c"]}]


@pytest.mark.parametrize(
    ("events", "expected"),
    [("b@1 a@5", "a b"), ("b@1 a@6", ""), ("a1@1 b@5 a2@9", "a1 b | a2 b")],
)
def test_the_window_is_between_the_first_and_last_event_in_the_stream(
    events: str, expected: str
) -> None:
    assert matches("PATTERN AND(A a, B b) WITHIN 5", events) == answers(expected)


def test_conditions_join_the_parts_of_a_conjunction() -> None:
    query = "PATTERN AND(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x"
    events = "c1(x=3) b1(x=2) c2(x=2) a1(x=1) a2(x=2)"
    assert matches(query, events) == {"a1 b1 c1"}
