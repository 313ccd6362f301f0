"""WITHIN: strictly less than so much time, or than so many events."""

import pytest
from streams import answers, matches


@pytest.mark.parametrize(
    ("within", "events", "expected"),
    [
        ("5", "a@1 b@5", "a b"),
        ("5", "a@1 b@6", ""),
        ("5", "a1@1 a2@2 b@6", "a2 b"),
        ("1", "a@3 b@3", "a b"),
        ("1", "a@3 b@4", ""),
        ("2.5", "a@1 b@3", "a b"),
        ("2.5", "a@1 b@4", ""),
        ("5", "a@-3 b@1", "a b"),
        ("5", "a@-3 b@2", ""),
    ],
)
def test_the_last_event_is_strictly_less_than_the_window_after_the_first(
    within: str, events: str, expected: str
) -> None:
    assert matches(f"PATTERN SEQ(A a, B b) WITHIN {within}", events) == answers(expected)


def test_only_the_first_and_the_last_event_matter() -> None:
    query = "PATTERN SEQ(A a, B b, C c) WITHIN 4"
    assert matches(query, "a1@1 a2@2 b@3 c1@4 c2@5") == answers("a1 b c1 | a2 b c1 | a2 b c2")


def test_one_event_fits_into_any_window() -> None:
    assert matches("PATTERN A a WITHIN 1", "a@1") == {"a"}
    assert matches("PATTERN A a WITHIN 1 EVENTS", "a@1") == {"a"}


def test_the_extent_of_a_window_with_a_unit_is_given_in_ticks() -> None:
    query = "PATTERN SEQ(A a, B b) WITHIN 2 minutes"
    assert matches(query, "a@0 b1@119 b2@120", window=120) == {"a b1"}


@pytest.mark.parametrize(
    ("within", "events", "expected"),
    [
        ("3 EVENTS", "a d b", "a b"),
        ("3 EVENTS", "a d d b", ""),
        ("2 EVENTS", "a b", "a b"),
        ("1 EVENTS", "a b", ""),
        ("3 EVENTS", "a@1 d@50 b@900", "a b"),
        ("2 EVENTS", "a@1 d@1 b@1", ""),
    ],
)
def test_a_window_of_events_counts_positions_in_the_whole_stream(
    within: str, events: str, expected: str
) -> None:
    events = events.replace("d d", "d1 d2")
    assert matches(f"PATTERN SEQ(A a, B b) WITHIN {within}", events) == answers(expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a(x=1) b(x=1)", "a b"),
        ("a(x=1) c(x=1) b(x=1)", "a b"),
        ("a(x=1) c(x=1) d(x=1) b(x=1)", ""),
        ("a(x=1) c(x=2) d(x=2) b(x=1)", "a b"),
        ("a(x=1) c(x=1) d(x=2) b(x=1)", "a b"),
        ("a(x=1) c(x=null) d(x=null) b(x=1)", "a b"),
        ("a(x=1) c d b(x=1)", ""),
        ("a c(x=1) d(x=2) b(x=1)", "a b"),
        ("a c(x=1) d(x=1) b(x=1)", ""),
    ],
)
def test_events_per_partition_counts_among_those_that_agree_with_the_match(
    events: str, expected: str
) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE [x] WITHIN 3 EVENTS PER PARTITION"
    assert matches(query, events) == answers(expected)


def test_without_equivalence_tests_the_stream_is_one_partition() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 3 EVENTS PER PARTITION"
    assert matches(query, "a(x=1) c(x=2) b1(x=1) b2(x=1)") == {"a b1"}


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b, C c)", "AND(A a, B b, C c)"])
def test_all_events_of_the_match_decide_its_partition(pattern: str) -> None:
    # A and B have no x, so that only c tells that the d's do not count.
    query = f"PATTERN {pattern} WHERE [x] WITHIN 3 EVENTS PER PARTITION"
    assert matches(query, "a d1(x=2) d2(x=2) b c(x=1)") == {"a b c"}


def test_under_skip_till_next_match_the_window_does_not_choose_what_a_run_takes() -> None:
    # The run takes b1, with which it has left the window; it does not go on to b2.
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [x] } WITHIN 2 EVENTS PER PARTITION"
    assert matches(query, "a c(x=1) b1(x=1) b2(x=2)") == set()
    assert matches(query.replace("next", "any"), "a c(x=1) b1(x=1) b2(x=2)") == {"a b2"}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("skip_till_any_match", "[a1] b | [a2] b | [a1 a2] b"),
        ("skip_till_next_match", "[a1 a2] b | [a2] b"),
        ("partition_contiguity", "[a2] b | [a1 a2] b"),
        ("strict_contiguity", "[a2] b"),
    ],
)
def test_every_strategy_has_partition_windows(strategy: str, expected: str) -> None:
    query = f"PATTERN SEQ(A+ a[], B b) WHERE {strategy} {{ [x] }} WITHIN 3 EVENTS PER PARTITION"
    events = "a0(x=1) a1(x=1) c1(x=2) c2(x=2) a2(x=1) b(x=1)"
    assert matches(query, events) == answers(expected)
