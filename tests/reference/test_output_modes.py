"""non_overlapping: each match starts after the previous one of its partition ended."""

import pytest
from streams import answers, completions, matches


def reported(query: str, events: str) -> list[str]:
    found = completions(f"PATTERN {query}", events, output="non_overlapping")
    return [match for match, _ in found]


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B b)", "a1 b1 a2 b2", ["a1 b1", "a2 b2"]),
        ("SEQ(A a, B b)", "a1 a2 b1 b2", ["a2 b1"]),
        ("SEQ(A a, A b)", "a1 a2 a3 a4", ["a1 a2", "a3 a4"]),
        ("SEQ(A a, A b)", "a1 a2 a3", ["a1 a2"]),
        ("A a", "a1 a2 a3", ["a1", "a2", "a3"]),
        ("SEQ(A a, B b)", "a1@1 b1@1 a2@1 b2@1", ["a1 b1", "a2 b2"]),
        ("AND(A a, B b)", "a1 b1 a2 b2", ["a1 b1", "a2 b2"]),
        ("OR(SEQ(A a, B b), C c)", "a c b", ["c"]),
        ("SEQ(A a, B b)", "b a", []),
    ],
)
def test_a_match_starts_after_the_previous_one_ended(
    query: str, events: str, expected: list[str]
) -> None:
    assert reported(query, events) == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B b)", "a1 a2 a3 b", ["a3 b"]),
        ("SEQ(A a, B b, C c)", "a b1 b2 c", ["a b1 c"]),
        ("SEQ(A a, B b, C c)", "a1 b1 a2 b2 c", ["a2 b2 c"]),
        ("SEQ(A+ a[], B b)", "a1 a2 b", ["[a2] b"]),
        ("SEQ(A a, B+ b[], C c)", "a b1 b2 c", ["a [b1] c"]),
        ("AND(A a, A b)", "a1 a2", ["a1 a2"]),
        ("A+ a[]", "a1 a2", ["[a1]", "[a2]"]),
    ],
)
def test_of_those_that_complete_together_the_shortest_wins(
    query: str, events: str, expected: list[str]
) -> None:
    assert reported(query, events) == expected


def test_partitions_do_not_hinder_one_another() -> None:
    events = "a1(x=1) a2(x=2) b1(x=1) b2(x=2) a3(x=1) b3(x=1)"
    assert reported("SEQ(A a, B b) WHERE [x]", events) == ["a1 b1", "a2 b2", "a3 b3"]


def test_without_equivalence_tests_the_stream_is_one_partition() -> None:
    events = "a1(x=1) a2(x=2) b1(x=1) b2(x=2)"
    assert reported("SEQ(A a, B b) WHERE a.x = b.x", events) == ["a1 b1"]


def test_values_that_are_equal_are_one_partition() -> None:
    assert reported("SEQ(ANY(A, B) a, C c) WHERE [x]", "a(x=1) b(x=1.0) c(x=1)") == ["b c"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a1@1 a2@3 a3@6 a4@7", ["a1", "a3"]),
        ("a1@1 a2@5 a3@6", ["a1", "a3"]),
        ("a1@1 a2@1", ["a2"]),
        ("a1@1 b@2 a2@3", ["a2"]),
    ],
)
def test_a_match_that_waits_for_its_window_ends_with_it(events: str, expected: list[str]) -> None:
    assert reported("SEQ(A a, ~(B b)) WITHIN 5", events) == expected


def test_skip_till_next_match_without_overlap() -> None:
    query = "SEQ(A+ a[], B b) WHERE skip_till_next_match"
    assert reported(query, "a1 a2 b1 a3 b2") == ["[a2] b1", "[a3] b2"]


def test_all_is_the_default() -> None:
    found = matches("PATTERN SEQ(A a, B b)", "a1 a2 b1")
    assert (
        found
        == answers("a1 b1 | a2 b1")
        == matches("PATTERN SEQ(A a, B b)", "a1 a2 b1", output="all")
    )
