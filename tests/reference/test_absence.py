"""Absence: negations with a window of their own, and lists WITHOUT other events."""

import pytest
from streams import answers, completions, matches


def test_no_purchase_within_thirty_after_the_cart() -> None:
    query = "PATTERN SEQ(Cart c, ~(Buy p) WITHIN 30)"
    found = completions(query, "cart1@0 cart2@40 buy1@60 buy2@90")
    assert found == [("cart1", (30, 0))]


def test_three_errors_without_a_restart() -> None:
    query = "PATTERN Err{3} e[] WITHOUT (Restart r) WHERE skip_till_any_match"
    assert matches(query, "err1 err2 restart err3 err4 err5") == {"[err3 err4 err5]"}


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        # Last: less than d after the last event.
        ("SEQ(A a, ~(B b) WITHIN 5)", "a@1 b@5", ""),
        ("SEQ(A a, ~(B b) WITHIN 5)", "a@1 b@6", "a"),
        ("SEQ(A a, ~(B b) WITHIN 5)", "a@1 b@1", ""),
        ("SEQ(A a, ~(B b) WITHIN 5)", "b@1 a@1", "a"),
        ("SEQ(A a, ~(B b) WITHIN 5)", "a@1", "a"),
        ("SEQ(A a, C c, ~(B b) WITHIN 5)", "a@1 c@9 b@13", ""),
        ("SEQ(A a, C c, ~(B b) WITHIN 5)", "a@1 c@9 b@14", "a c"),
        ("SEQ(A a, C c, ~(B b) WITHIN 5)", "a@1 b@2 c@9", "a c"),
        ("SEQ(A+ a[], ~(B b) WITHIN 3)", "a1@1 a2@5 b@6", "[a1]"),
        ("SEQ(A+ a[], ~(B b) WITHIN 3)", "a1@1 a2@2 b@4", "[a1]"),
        ("SEQ(A a, ~(A b) WITHIN 3)", "a1@1 a2@3 a3@6", "a2 | a3"),
        ("SEQ(A a, ~(B b) WITHIN 5, ~(C c) WITHIN 9)", "a@1 b@7 c@9", ""),
        ("SEQ(A a, ~(B b) WITHIN 5, ~(C c) WITHIN 9)", "a@1 b@7 c@10", "a"),
        # Between: less than d after the latest event before it, and before the next one.
        ("SEQ(A a, ~(B b) WITHIN 3, C c)", "a@1 b@3 c@9", ""),
        ("SEQ(A a, ~(B b) WITHIN 3, C c)", "a@1 b@4 c@9", "a c"),
        ("SEQ(A a, ~(B b) WITHIN 30, C c)", "a@1 c@9 b@10", "a c"),
        ("SEQ(A+ a[], ~(B b) WITHIN 3, C c)", "a1@1 a2@4 b@5 c@9", "[a1] c"),
        ("SEQ(AND(A a, D d), ~(B b) WITHIN 3, C c)", "d@1 a@4 b@6 c@9", ""),
        ("SEQ(AND(A a, D d), ~(B b) WITHIN 3, C c)", "a@1 d@4 b@7 c@9", "a d c"),
        # First: less than d before the earliest event after it.
        ("SEQ(~(B b) WITHIN 4, A a)", "b@1 a@4", ""),
        ("SEQ(~(B b) WITHIN 4, A a)", "b@1 a@5", "a"),
        ("SEQ(~(B b) WITHIN 4, A a)", "b@1 a@1", ""),
        ("SEQ(~(B b) WITHIN 4, A a)", "a@1 b@1", "a"),
        ("SEQ(~(B b) WITHIN 4, A a, C c)", "b@1 a@4 c@90", ""),
        ("SEQ(~(B b) WITHIN 4, A a, C c)", "b@1 a@5 c@90", "a c"),
        ("SEQ(~(B b) WITHIN 4, AND(A a, C c))", "b@1 c@5 a@6", "a c"),
        ("SEQ(~(B b) WITHIN 4, AND(A a, C c))", "b@1 c@4 a@6", ""),
    ],
)
def test_a_negation_with_a_window_of_its_own(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        # The query's window says nothing of b, be it shorter or longer.
        ("SEQ(A a, ~(B b) WITHIN 9) WITHIN 2", "a@1 b@8", ""),
        ("SEQ(A a, ~(B b) WITHIN 2) WITHIN 9", "a@1 b@3", "a"),
        ("SEQ(~(B b) WITHIN 9, A a) WITHIN 2", "b@1 a@8", ""),
        ("SEQ(~(B b) WITHIN 2, A a, C c) WITHIN 9", "b@1 a@3 c@4", "a c"),
        ("SEQ(A a, C c, ~(B b) WITHIN 9) WITHIN 2", "a@1 c@3 b@90", ""),
        ("SEQ(A a, C c, ~(B b) WITHIN 9) WITHIN 3", "a@1 c@3 b@11", ""),
        # Beside a negation that has the query's window.
        ("SEQ(A a, C c, ~(B b), ~(D d) WITHIN 9) WITHIN 5", "a@1 c@3 b@6 d@12", "a c"),
        ("SEQ(A a, C c, ~(B b), ~(D d) WITHIN 9) WITHIN 5", "a@1 c@3 b@6 d@11", ""),
        ("SEQ(A a, C c, ~(B b), ~(D d) WITHIN 9) WITHIN 5", "a@1 c@3 b@5 d@12", ""),
        # A duration, even where the query's window counts events.
        ("SEQ(A a, ~(B b) WITHIN 5) WITHIN 1 EVENTS", "a@1 c@2 c@3 b@5", ""),
        ("SEQ(A a, ~(B b) WITHIN 5) WITHIN 9 EVENTS", "a@1 b@6", "a"),
        ("SEQ(~(B b) WITHIN 5, A a) WITHIN 1 EVENTS", "b@1 c@2 c@3 a@5", ""),
    ],
)
def test_the_window_of_the_query_bounds_the_positive_events_only(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        # With a list, less than 5 after it; without, less than 5 before c.
        ("SEQ(A* a[], ~(B b) WITHIN 5, C c)", "a@1 b@7 c@12", "c | [a] c"),
        ("SEQ(A* a[], ~(B b) WITHIN 5, C c)", "a@1 b@7 c@11", "[a] c"),
        ("SEQ(A* a[], ~(B b) WITHIN 5, C c)", "a@1 b@5 c@11", "c"),
        ("OR(SEQ(A a, ~(B b) WITHIN 5), SEQ(~(B b) WITHIN 3, C c))", "a@1 b@5 c@7", ""),
        ("OR(SEQ(A a, ~(B b) WITHIN 5), SEQ(~(B b) WITHIN 3, C c))", "a@1 b@5 c@8", "c"),
    ],
)
def test_what_stands_before_is_judged_branch_by_branch(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "completed"),
    [
        ("SEQ(A a, C c, ~(B b) WITHIN 5)", (9, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5) WITHIN 20", (9, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5) WITHIN 9 EVENTS", (9, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5, ~(D d) WITHIN 7)", (11, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5, ~(D d)) WITHIN 20", (22, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5, ~(D d)) WITHIN 3", (9, 1)),
        ("SEQ(A a, C c, ~(B b) WITHIN 5, ~(D d)) WITHIN 9 EVENTS", (9, 1)),
        ("SEQ(A a, ~(B b) WITHIN 5, C c)", (4, 1)),
        ("SEQ(~(B b) WITHIN 5, A a, C c)", (4, 1)),
    ],
)
def test_a_match_ends_at_the_latest_deadline(query: str, completed: tuple[int, int]) -> None:
    assert completions(f"PATTERN {query}", "a@2 c@4") == [("a c", completed)]


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("A{2} a[] WITHOUT (B b)", "a1 b a2 a3", "[a2 a3]"),
        ("A{2} a[] WITHOUT (B b)", "b1 a1 a2 b2", "[a1 a2]"),
        ("A+ a[] WITHOUT (B b)", "a1 b a2", "[a1] | [a2]"),
        ("A{2} a[] WITHOUT (B b) WITHOUT (C c)", "a1 b a2 c a3 a4", "[a3 a4]"),
        ("A{2} a[] WITHOUT (ANY(B, C) b)", "a1 b a2 c a3 a4", "[a3 a4]"),
        # An event of the list itself does not violate, another one of its type does.
        ("A{2} a[] WITHOUT (A b)", "a1 a2 a3", "[a1 a2] | [a2 a3]"),
        ("A{3} a[] WITHOUT (A b)", "a1 a2 a3", "[a1 a2 a3]"),
        ("ANY(A, B){2} a[] WITHOUT (B b)", "a1 b a2", "[a1 b] | [b a2]"),
        # Stream order decides, also at equal times.
        ("A{2} a[] WITHOUT (B b)", "a1@1 b@1 a2@1", ""),
        ("A{2} a[] WITHOUT (B b)", "a1@1 a2@1 b@1", "[a1 a2]"),
        # Conditions on b, alone and with events of the match.
        ("A{2} a[] WITHOUT (B b) WHERE b.x > 1", "a1 b1(x=1) a2 b2(x=2) a3", "[a1 a2]"),
        ("A{2} a[] WITHOUT (B b) WHERE b.x > a[1].x", "a1(x=1) b(x=2) a2(x=3)", ""),
        ("A{2} a[] WITHOUT (B b) WHERE b.x > a[1].x", "a1(x=2) b(x=2) a2(x=3)", "[a1 a2]"),
        ("A{2} a[] WITHOUT (B b) WHERE b.x < a[i].x", "a1(x=3) b(x=2) a2(x=1)", "[a1 a2]"),
        ("A{2} a[] WITHOUT (B b) WHERE [x]", "a1(x=1) b(x=2) a2(x=1)", "[a1 a2]"),
        ("A{2} a[] WITHOUT (B b) WHERE [x]", "a1(x=1) b(x=1) a2(x=1)", ""),
        # In a larger pattern, only events inside the list count.
        ("SEQ(A a, B{2} b[] WITHOUT (C c), D d)", "a c1 b1 b2 c2 d", "a [b1 b2] d"),
        ("SEQ(A a, B{2} b[] WITHOUT (C c), D d)", "a b1 c b2 d", ""),
        ("SEQ(A a, B* b[] WITHOUT (C c), D d)", "a b1 c b2 d", "a d | a [b1] d | a [b2] d"),
        ("AND(A{2} a[] WITHOUT (B b), B c)", "a1 b a2", ""),
        ("AND(A{2} a[] WITHOUT (B b), B c)", "a1 a2 b", "[a1 a2] b"),
        # It filters: the run takes the same events with and without it.
        ("SEQ(A+ a[] WITHOUT (B b), C c) WHERE skip_till_next_match", "a1 b a2 c", "[a2] c"),
    ],
)
def test_a_list_without_other_events_inside(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


def test_without_does_not_wait() -> None:
    query = "PATTERN A{2} a[] WITHOUT (B b) WITHIN 9"
    assert completions(query, "a1@1 a2@3") == [("[a1 a2]", (3, 1))]
