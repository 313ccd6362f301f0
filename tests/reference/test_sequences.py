"""SEQ: every event of a part is before every event of the next."""

import pytest
from streams import answers, bindings, completions, matches


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B b, C c)", "a1 a2 b1 b2 c", "a1 b1 c | a2 b1 c | a1 b2 c | a2 b2 c"),
        ("SEQ(A a, B b)", "b a", ""),
        ("SEQ(A a, B b)", "a c d b", "a b"),
        ("SEQ(A a, B b)", "a", ""),
        ("SEQ(A a, B b)", "", ""),
        ("SEQ(A a, A b)", "a1 a2 a3", "a1 a2 | a1 a3 | a2 a3"),
        ("SEQ(A a, B b, A c)", "a1 b a2", "a1 b a2"),
        ("SEQ(A a, SEQ(B b, C c))", "a b1 c1 b2 c2", "a b1 c1 | a b1 c2 | a b2 c2"),
        ("SEQ(SEQ(A a, B b), C c)", "a b1 c1 b2 c2", "a b1 c1 | a b1 c2 | a b2 c2"),
        ("SEQ(SEQ(A a, B b), SEQ(C c, D d))", "a c b d", ""),
        ("SEQ(A, B, A)", "a1 b a2", "a1 b a2"),
        ("(A a, B b)", "a b", "a b"),
        ("A a", "a1 b a2", "a1 | a2"),
        ("SEQ(A a)", "a1 b a2", "a1 | a2"),
        ("SEQ(Z z, A a)", "a b", ""),
    ],
)
def test_a_sequence_is_every_choice_of_events_in_order(
    query: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(ANY(A, B) x, C c)", "a b c", "a c | b c"),
        ("SEQ(ANY(A, B) x, C c)", "d c", ""),
        ("SEQ(ANY(A, B) x, ANY(A, B) y)", "a b", "a b"),
        ("SEQ(A x, ANY(A, B) y)", "a", ""),
        ("ANY(A, C) x", "a b c", "a | c"),
    ],
)
def test_any_is_one_event_of_any_of_the_types(query: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN {query}", events) == answers(expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [("a@1 b@1", "a b"), ("b@1 a@1", ""), ("a1@1 b@1 a2@1", "a1 b"), ("a@-3 b@-3", "a b")],
)
def test_events_of_one_instant_follow_one_another_in_stream_order(
    events: str, expected: str
) -> None:
    assert matches("PATTERN SEQ(A a, B b)", events) == answers(expected)


def test_without_within_there_is_no_bound() -> None:
    assert matches("PATTERN SEQ(A a, B b)", "a@1 b@1000000000") == {"a b"}


def test_a_binding_has_the_event_of_each_variable() -> None:
    assert bindings("PATTERN SEQ(A first, B second)", "a b") == [{"first": "a", "second": "b"}]


def test_a_component_without_a_variable_is_called_like_its_type() -> None:
    assert bindings("PATTERN SEQ(A, B)", "a b") == [{"A": "a", "B": "b"}]


def test_a_query_of_one_component_may_write_attributes_bare() -> None:
    assert matches("EVENT A WHERE x > 1 AND y = 'q'", "a1(x=1,y='q') a2(x=2,y='q')") == {"a2"}


def test_type_names_may_contain_a_hyphen() -> None:
    query = "EVENT SEQ(SHELF-READING x, EXIT-READING y)"
    assert matches(query, "SHELF-READING EXIT-READING") == {"SHELF-READING EXIT-READING"}


def test_a_match_is_complete_at_its_last_event() -> None:
    assert completions("PATTERN SEQ(A a, B b)", "a1@1 b1@4 b2@4") == [
        ("a1 b1", (4, 1)),
        ("a1 b2", (4, 2)),
    ]


def test_matches_are_reported_in_the_order_of_completion() -> None:
    found = completions("PATTERN SEQ(A a, B b)", "a1 b1 a2 b2 b3")
    times = [completed for _, completed in found]
    assert times == [(2, 1), (4, 3), (4, 3), (5, 4), (5, 4)]
