"""[Kolchinsky17]: the patterns (1) to (9), all under skip_till_any_match within an hour."""

import pytest
from streams import answers, bindings, completions, matches

HOUR = 60


def found(query: str, events: str) -> set[str]:
    return matches(f"PATTERN {query} WITHIN 1 hour", events, window=HOUR)


def test_example_1_has_four_matches() -> None:
    # [§1, Example 1; Pattern (1) of §2.1], with 10 for the threshold T
    query = """
        SEQ (A a, B b, C c)
        WHERE skip_till_any_match { a.price > 10 AND b.price > 10 AND c.price > 10 }
    """
    events = "a1(price=11) a2(price=11) b1(price=11) b2(price=11) c(price=11)"
    assert found(query, events) == answers("a1 b1 c | a2 b1 c | a1 b2 c | a2 b2 c")
    assert found(query, events.replace("b1(price=11)", "b1(price=10)")) == answers(
        "a1 b2 c | a2 b2 c"
    )


def test_example_1_ends_after_an_hour() -> None:
    assert found("SEQ(A a, B b, C c)", "a1@0 a2@1 b@30 c@60") == {"a2 b c"}


@pytest.mark.parametrize("events", ["a b c", "a c b", "b a c", "b c a", "c a b", "c b a"])
def test_a_conjunction_accepts_every_order(events: str) -> None:
    # [§4.2, Pattern (2), Figure 5]
    assert found("AND (A a, B b, C c)", events) == {"a b c"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a b c d e", "a b c d e"),
        ("e c d a b", "a b c d e"),
        ("c a e d b", "a b c d e"),
        ("a c b e d", "a b c d e"),
        ("b a c d e", ""),
        ("a b d c e", ""),
    ],
)
def test_a_partial_sequence_orders_only_its_sequences(events: str, expected: str) -> None:
    # [§4.3, Pattern (3)]
    query = "AND (SEQ (A a, B b), SEQ (C c, D d), E e)"
    assert found(query, events) == answers(expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a b(x=1) c(y=2) d", ""),
        ("a b(x=2) c(y=2) d", "a c d"),
        ("b(x=1) a c(y=2) d", "a c d"),
        ("a c(y=2) b(x=1) d", "a c d"),
        ("a b(x=1) c1(y=0) c2(y=2) d", "a c1 d"),
        ("a1 b(x=1) a2 c(y=2) d", "a2 c d"),
    ],
)
def test_only_negated_events_with_the_condition_are_forbidden(events: str, expected: str) -> None:
    # [§4.4, Pattern (4)]
    query = "SEQ (A a, NOT (B b), C c, D d) WHERE skip_till_any_match {b.x < c.y}"
    assert found(query, events) == answers(expected)


@pytest.mark.parametrize("query", ["SEQ(A a, C c, NOT(B b))", "AND(A a, C c, NOT(B b))"])
def test_a_negation_at_the_end_or_in_a_conjunction_waits_for_the_window(query: str) -> None:
    # [§4.4.1]
    query = f"PATTERN {query} WITHIN 1 hour"
    assert completions(query, "a@1 c@2", window=HOUR) == [("a c", (61, 1))]
    assert completions(query, "a@1 c@2 b@60", window=HOUR) == []
    assert completions(query, "a@1 c@2 b@61", window=HOUR) == [("a c", (61, 1))]


def test_an_iteration_gives_every_subset() -> None:
    # [§4.5, Pattern (5)]
    expected = """
        a [b1] c | a [b2] c | a [b3] c | a [b1 b2] c | a [b1 b3] c | a [b2 b3] c | a [b1 b2 b3] c
    """
    assert found("SEQ (A a, B + b[], C c)", "a b1 b2 b3 c") == answers(expected)


def test_an_aggregate_is_taken_of_each_subset() -> None:
    # [§4.5.1, Pattern (6)]: averages 1, 3, 8; 2, 4.5, 5.5; 4
    query = "SEQ (A a, B + b[], C c) WHERE skip_till_any_match {AVG (b[i].x) < c.y}"
    events = "a b1(x=1) b2(x=3) b3(x=8) c(y=4)"
    assert found(query, events) == answers("a [b1] c | a [b2] c | a [b1 b2] c")


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("{1,2}", "a [b1] c | a [b2] c | a [b3] c | a [b1 b2] c | a [b1 b3] c | a [b2 b3] c"),
        ("{2,3}", "a [b1 b2] c | a [b1 b3] c | a [b2 b3] c | a [b1 b2 b3] c"),
        ("{3}", "a [b1 b2 b3] c"),
    ],
)
def test_a_repetition_bounds_the_size_of_the_subsets(bounds: str, expected: str) -> None:
    # [§4.5.2]
    assert found(f"SEQ (A a, B{bounds} b[], C c)", "a b1 b2 b3 c") == answers(expected)


def test_group_by_attribute_leaves_subsets_of_one_value() -> None:
    # [§4.5.3, Pattern (7)]
    query = "SEQ (A a, B + b[], C c) WHERE skip_till_any_match {b [i] .x = b [i - 1] .x}"
    events = "a b1(x=1) b2(x=2) b3(x=1) c"
    assert found(query, events) == answers("a [b1] c | a [b2] c | a [b3] c | a [b1 b3] c")


def test_a_disjunction_may_use_an_event_in_both_branches() -> None:
    # [§5.1, Pattern (8)]
    query = "PATTERN OR (SEQ (A a, B b, C c), SEQ (C c, D d, E e)) WITHIN 1 hour"
    assert bindings(query, "a b c d e", window=HOUR) == [
        {"a": "a", "b": "b", "c": "c"},
        {"c": "c", "d": "d", "e": "e"},
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SEQ (A a, OR (B b, C c), D d)",
        "OR(SEQ(A a, B b, D d), SEQ(A a, C c, D d))",
    ],
)
def test_a_composite_pattern_equals_its_disjunctive_form(query: str) -> None:
    # [§5.2, Pattern (9)]
    query += " WHERE skip_till_any_match {a.price > d.price}"
    events = "a1(price=3) b a2(price=1) c d(price=2)"
    expected = {frozenset(("a1", "b", "d")), frozenset(("a1", "c", "d"))}
    assert {frozenset(match.split()) for match in found(query, events)} == expected


@pytest.mark.parametrize("events", ["a d", "a b d", "a c d"])
def test_a_match_that_satisfies_both_branches_is_reported_once(events: str) -> None:
    # [§5.2]: the same pair may satisfy both sub-patterns, where B and C are negated.
    assert found("SEQ (A a, OR (~(B b), ~(C c)), D d)", events) == {"a d"}
