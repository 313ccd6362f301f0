"""Negation: no event that violates it, at its place and within one window with the match."""

import pytest
from streams import answers, completions, matches


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, ~(B b), C c)", "a b c", ""),
        ("SEQ(A a, ~(B b), C c)", "a c b", "a c"),
        ("SEQ(A a, ~(B b), C c)", "b a c", "a c"),
        ("SEQ(A a, ~(B b), C c)", "a1 b a2 c", "a2 c"),
        ("SEQ(A a, ~(B b), C c)", "a c1 b c2", "a c1"),
        ("SEQ(A a, !(B b), C c)", "a b c", ""),
        ("SEQ(A a, NOT B b, C c)", "a b c", ""),
        ("SEQ(A a, ~(B b), C c)", "a@1 b@1 c@1", ""),
        ("SEQ(A a, ~(B b), C c)", "a@1 c@1 b@1", "a c"),
        ("SEQ(A a, ~(B b), C c)", "b@1 a@1 c@1", "a c"),
        ("SEQ(A a, ~(B b), ~(C c), D d)", "a1 b a2 c a3 d", "a3 d"),
        ("SEQ(A a, ~(ANY(B, C) b), D d)", "a1 b a2 c a3 d", "a3 d"),
        ("SEQ(A a, ~(B x), B y)", "a b1 b2", "a b1"),
        ("SEQ(A a, ~(A x), B b)", "a1 a2 b", "a2 b"),
        ("SEQ(A a, ~(B b), C c, ~(B e), D d)", "a c b d", ""),
        ("SEQ(A a, ~(B b), C c, D d)", "a c b d", "a c d"),
    ],
)
def test_between_two_parts_no_such_event_occurs(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A+ a[], ~(B b), C c)", "a1 b a2 c", "[a2] c | [a1 a2] c"),
        ("SEQ(A a, ~(B b), C+ c[])", "a c1 b c2", "a [c1] | a [c1 c2]"),
        ("SEQ(A a, B* b[], ~(C c), D d)", "a c b d", "a [b] d"),
        ("SEQ(A a, B* b[], ~(C c), D d)", "a b c d", ""),
        ("SEQ(A a, ~(C c), B* b[], D d)", "a b c d", "a [b] d"),
        ("SEQ(SEQ(A a, ~(B b)), C c)", "a1 b a2 c", "a2 c"),
        ("SEQ(A a, SEQ(~(B b), C c))", "a1 b a2 c", "a2 c"),
    ],
)
def test_the_place_is_after_all_events_before_it_and_before_all_events_after_it(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(~(B b), A a) WITHIN 5", "b@1 a@5", ""),
        ("SEQ(~(B b), A a) WITHIN 5", "b@1 a@6", "a"),
        ("SEQ(~(B b), A a) WITHIN 5", "a@1 b@2", "a"),
        ("SEQ(~(B b), A a) WITHIN 5", "b@1 a@1", ""),
        ("SEQ(~(B b), A a) WITHIN 5", "a@1 b@1", "a"),
        ("SEQ(~(B b), A a, C c) WITHIN 5", "b@1 a@3 c@5", ""),
        ("SEQ(~(B b), A a, C c) WITHIN 5", "b@1 a@3 c@6", "a c"),
        ("SEQ(~(B b), A a, C c) WITHIN 5", "a@3 b@4 c@5", "a c"),
        ("SEQ(~(B b), A a)", "b@1 a@900", ""),
        ("SEQ(~(B b), A a)", "a1 b a2", "a1"),
    ],
)
def test_first_in_a_sequence_the_place_reaches_back_one_window_from_the_last_event(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 a2@3 b@7", "a1"),
        ("SEQ(A a, ~(B b)) WITHIN 5", "a@1 b@5", ""),
        ("SEQ(A a, ~(B b)) WITHIN 5", "a@1 b@6", "a"),
        ("SEQ(A a, ~(B b)) WITHIN 5", "a@1 b@1", ""),
        ("SEQ(A a, ~(B b)) WITHIN 5", "b@1 a@1", "a"),
        ("SEQ(A a, C c, ~(B b)) WITHIN 5", "a@1 c@3 b@5", ""),
        ("SEQ(A a, C c, ~(B b)) WITHIN 5", "a@1 c@3 b@6", "a c"),
        ("SEQ(A a, C c, ~(B b)) WITHIN 5", "a@1 b@2 c@3", "a c"),
        ("SEQ(A a, ~(A b)) WITHIN 5", "a1@1 a2@4 a3@9", "a2 | a3"),
        ("SEQ(~(B b), A a, ~(C c)) WITHIN 5", "b@1 a1@4 a2@7 c@12", "a2"),
    ],
)
def test_last_in_a_sequence_the_place_reaches_one_window_from_the_first_event(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("events", "violated"),
    [
        ("b@0 a@3 c@5", False),
        ("b@1 a@3 c@5", True),
        ("a@3 b@4 c@5", True),
        ("a@3 c@5 b@7", True),
        ("a@3 c@5 b@8", False),
        ("b@1 c@3 a@5", True),
        ("a@3 c@5", False),
    ],
)
def test_in_a_conjunction_the_place_is_anywhere_in_one_window_with_the_match(
    events: str, violated: bool
) -> None:
    found = matches("PATTERN AND(A a, C c, ~(B b)) WITHIN 5", events)
    assert found == (set() if violated else {"a c"})


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, AND(C c, ~(B b)), D d)", "a b c d", ""),
        ("SEQ(A a, AND(C c, ~(B b)), D d)", "a c b d", ""),
        ("SEQ(A a, AND(C c, ~(B b)), D d)", "b1 a c d b2", "a c d"),
        ("AND(SEQ(A a, ~(B b), C c), D d)", "a c b d", "a c d"),
        ("AND(SEQ(A a, ~(B b), C c), D d)", "a d b c", ""),
        ("AND(SEQ(A a, ~(B b), C c), D d)", "d b a c", "a c d"),
        ("AND(SEQ(A a, ~(B b)), D d) WITHIN 10", "b@1 a@2 d@3", "a d"),
        ("AND(SEQ(A a, ~(B b)), D d) WITHIN 10", "a@1 d@2 b@3", ""),
        ("AND(SEQ(A a, ~(B b)), D d) WITHIN 10", "a@1 b@2 d@3", ""),
        ("AND(SEQ(A a, ~(B b)), D d) WITHIN 10", "d@1 a@2 b@10", ""),
        ("AND(SEQ(A a, ~(B b)), D d) WITHIN 10", "d@1 a@2 b@11", "a d"),
        ("SEQ(AND(A a, ~(B b)), C c) WITHIN 5", "b@1 a@2 c@5", ""),
        ("SEQ(AND(A a, ~(B b)), C c) WITHIN 5", "b@1 a@2 c@6", "a c"),
        ("SEQ(AND(A a, ~(B b)), C c) WITHIN 5", "a@2 c@3 b@4", "a c"),
    ],
)
def test_only_enclosing_sequences_bound_the_place(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("AND(A a, ~(A b)) WITHIN 5", "a", ""),
        ("AND(A a, C c, ~(ANY(A, B) b)) WITHIN 5", "a c", ""),
        ("AND(A a, ~(A b)) WHERE a.x != b.x WITHIN 5", "a1(x=1)@1 a2(x=2)@3 a3(x=2)@6", "a3"),
        ("AND(A a, ~(A b)) WHERE a.x != b.x WITHIN 5", "a1(x=2)@1 a2(x=2)@3", "a1 | a2"),
    ],
)
def test_in_a_conjunction_an_event_of_the_match_itself_may_violate(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("condition", "b", "violates"),
    [
        ("b.x = a.x", "b(x=1)", True),
        ("b.x = a.x", "b(x=2)", False),
        ("b.x < c.x", "b(x=2)", True),
        ("b.x < c.x", "b(x=3)", False),
        ("b.x > 1 AND b.y = 7", "b(x=2,y=7)", True),
        ("b.x > 1 AND b.y = 7", "b(x=2,y=8)", False),
        ("b.x = 5 OR b.y = 7", "b(x=2,y=7)", True),
        ("NOT b.x = 2", "b(x=2)", False),
        ("NOT (b.x = 2 OR b.x = 3)", "b(x=4)", True),
        ("b.x = 1", "b(x=null)", False),
        ("b.x != 1", "b(x=null)", False),
        ("b.x = 1", "b", True),
        ("b.x = 1", "b(y=1)", True),
        ("b.x = 5 AND a.x = 1", "b(x=6)", False),
        ("a.x = 1 AND c.x = 3", "b", True),
    ],
)
def test_only_an_event_that_satisfies_the_conditions_on_it_violates(
    condition: str, b: str, violates: bool
) -> None:
    query = f"PATTERN SEQ(A a, ~(B b), C c) WHERE {condition}"
    assert matches(query, f"a(x=1) {b} c(x=3)") == (set() if violates else {"a c"})


def test_conditions_on_positive_components_hold_besides() -> None:
    query = "PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = 9 AND c.x > a.x"
    assert matches(query, "a(x=2) b(x=8) c1(x=1) c2(x=3)") == {"a c2"}


def test_a_condition_with_a_kleene_variable_speaks_of_each_of_its_events() -> None:
    query = "PATTERN SEQ(A+ a[], ~(B b), C c) WHERE b.x < a[i].x"
    expected = answers("[a1] c | [a1 a2] c")  # 2 < 1 is false; 2 < 5 is true
    assert matches(query, "a1(x=1) a2(x=5) b(x=2) c") == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a b(x=1) d", ""),
        ("a b(x=1) c(x=2) d", "a [c] d"),
        ("a b(x=2) c(x=2) d", ""),
        ("a c(x=2) d", "a d | a [c] d"),
    ],
)
def test_a_condition_with_a_variable_that_has_no_event_is_dropped(
    events: str, expected: str
) -> None:
    query = "PATTERN SEQ(A a, ~(B b), C* c[], D d) WHERE b.x = c[1].x"
    assert matches(query, events) == answers(expected)


def test_each_negated_variable_has_conditions_of_its_own() -> None:
    query = "PATTERN SEQ(A a, ~(B b), ~(C c), D d) WHERE b.x = 1 AND c.x = 2"
    events = "a1 b1(x=1) a2 c1(x=2) a3 b2(x=2) c2(x=1) d"
    assert matches(query, events) == {"a3 d"}


@pytest.mark.parametrize(
    ("b", "violates"),
    [("b(x=1)", True), ("b(x=2)", False), ("b(x=null)", False), ("b", True)],
)
def test_an_equivalence_test_speaks_of_negated_events_too(b: str, violates: bool) -> None:
    query = "PATTERN SEQ(A a, ~(B b), C c) WHERE [x]"
    assert matches(query, f"a(x=1) {b} c(x=1)") == (set() if violates else {"a c"})


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, ~(B b)) WITHIN 3 EVENTS", "a c b", ""),
        ("SEQ(A a, ~(B b)) WITHIN 3 EVENTS", "a c d b", "a"),
        ("SEQ(~(B b), A a) WITHIN 3 EVENTS", "b c a", ""),
        ("SEQ(~(B b), A a) WITHIN 3 EVENTS", "b c d a", "a"),
        ("SEQ(A a, ~(B b)) WHERE [x] WITHIN 2 EVENTS PER PARTITION",
         "a(x=1) c(x=2) b(x=1)", ""),
        ("SEQ(A a, ~(B b)) WHERE [x] WITHIN 2 EVENTS PER PARTITION",
         "a(x=1) c(x=1) b(x=1)", "a"),
    ],
)  # fmt: skip
def test_a_window_of_events_bounds_the_place_in_the_same_way(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "completed"),
    [
        ("SEQ(A a, C c, ~(B b)) WITHIN 5", (7, 1)),
        ("AND(A a, C c, ~(B b)) WITHIN 5", (7, 1)),
        ("AND(SEQ(A a, ~(B b)), C c) WITHIN 5", (7, 1)),
        ("SEQ(A a, AND(C c, ~(B b))) WITHIN 5", (7, 1)),
        ("SEQ(A a, ~(B b), C c) WITHIN 5", (4, 1)),
        ("SEQ(~(B b), A a, C c) WITHIN 5", (4, 1)),
        ("SEQ(AND(A a, ~(B b)), C c) WITHIN 5", (4, 1)),
        ("AND(SEQ(~(B b), A a), C c) WITHIN 5", (4, 1)),
        ("SEQ(A a, C c, ~(B b)) WITHIN 5 EVENTS", (4, 1)),
    ],
)
def test_a_match_waits_for_its_window_where_a_violation_can_still_come(
    query: str, completed: tuple[int, int]
) -> None:
    assert completions(f"PATTERN {query}", "a@2 c@4") == [("a c", completed)]


def test_waiting_matches_are_reported_among_the_others_by_time() -> None:
    query = "PATTERN OR(SEQ(A a, ~(B b)), C c) WITHIN 5"
    expected = [("c1", (3, 1)), ("a", (6, 0)), ("c2", (6, 2))]
    assert completions(query, "a@1 c1@3 c2@6") == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, OR(~(B b), ~(C c)), D d)", "a d", "a d"),
        ("SEQ(A a, OR(~(B b), ~(C c)), D d)", "a b d", "a d"),
        ("SEQ(A a, OR(~(B b), ~(C c)), D d)", "a c d", "a d"),
        ("SEQ(A a, OR(~(B b), ~(C c)), D d)", "a b c d", ""),
        ("OR(SEQ(A a, ~(B b), D d), SEQ(A a, C c, D d))", "a b c d", "a d c"),
    ],
)
def test_negations_in_a_disjunction_belong_to_their_branch(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


def test_a_match_of_two_branches_is_reported_at_the_earlier_completion() -> None:
    query = "PATTERN OR(SEQ(A a, ~(B b)), A a) WITHIN 5"
    assert completions(query, "a@1") == [("a", (1, 0))]
