"""OUTPUT: which matches are reported. Every case was derived by hand from the definition."""

import pytest
from streams import answers, completions, matches


def reported(query: str, events: str) -> list[str]:
    """The matches in the order of their completion."""
    return [match for match, _ in completions(f"PATTERN {query}", events)]


NEXT = "WHERE skip_till_next_match"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("ALL", "[a1 a2 a3] b | [a2 a3] b | [a3] b"),
        ("FIRST", "[a1 a2 a3] b | [a2 a3] b | [a3] b"),
        ("LONGEST", "[a1 a2 a3] b | [a2 a3] b | [a3] b"),
        ("LEFTMOST", "[a1 a2 a3] b"),
        ("NON_OVERLAPPING", "[a3] b"),
    ],
)
def test_the_modes_differ_on_a_run_of_events(output: str, expected: str) -> None:
    query = f"PATTERN SEQ(A+ a[], B b) WHERE partition_contiguity OUTPUT {output}"
    assert matches(query, "a1 a2 a3 b") == answers(expected)


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B b)", "a b1 b2", ["a b1"]),
        ("SEQ(A a, B b)", "a1 a2 b1 b2", ["a1 b1", "a2 b1"]),
        ("SEQ(A a, B b)", "a1@1 b1@1 b2@1", ["a1 b1"]),
        ("SEQ(A a, B+ b[])", "a b1 b2", ["a [b1]"]),
        # All complete on c; a list comes before its continuations.
        ("SEQ(A a, B+ b[], C c)", "a b1 b2 c", ["a [b1] c"]),
        ("AND(A a, B b)", "b1 a1 b2", ["a1 b1", "a1 b2"]),
        ("AND(A a, A b)", "a1 a2", ["a1 a2"]),
        (f"SEQ(A+ a[], B b) {NEXT}", "a1 a2 b1 b2", ["[a1 a2] b1", "[a2] b1"]),
        ("OR(SEQ(A a, B b), SEQ(A a, C c))", "a c b", ["a c"]),
        # b is unbound in one of the two, and comes first.
        ("SEQ(A a, OR(B b, C c), D d)", "a b c d", ["a c d"]),
        ("SEQ(A a, B* b[], C c)", "a b c", ["a c"]),
        # Modes choose among the matches whose negations hold.
        ("SEQ(A a, B b, ~(C c), D d)", "a b1 c b2 d", ["a b2 d"]),
        ("SEQ(A a, B b, ~(C c)) WITHIN 10", "a@1 b1@2 b2@3", ["a b1"]),
        ("SEQ(A a, B b, ~(C c)) WITHIN 10", "a@1 b1@2 c@4 b2@5", ["a b2"]),
        # The first match of each first event, however many partitions there are.
        ("SEQ(A a, B b) WHERE [x]", "a(x=1) b1(x=2) b2(x=1) b3(x=1)", ["a b2"]),
    ],
)
def test_first(query: str, events: str, expected: list[str]) -> None:
    assert reported(f"{query} OUTPUT FIRST", events) == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B+ b[], C c)", "a b1 b2 c", ["a [b1 b2] c"]),
        ("SEQ(A a, B+ b[], C c)", "a b1 c1 b2 c2", ["a [b1 b2] c2"]),
        # As many events: the one that completes last; then the smallest.
        ("SEQ(A a, B b)", "a b1 b2", ["a b2"]),
        ("SEQ(A a, B b, C c)", "a b1 b2 c", ["a b1 c"]),
        ("SEQ(A a, B{1,2} b[])", "a b1 b2 b3", ["a [b1 b3]"]),
        ("SEQ(A+ a[], B b)", "a1 a2 b", ["[a1 a2] b", "[a2] b"]),
        ("SEQ(A a, B+ b[]) WITHIN 3", "a@1 b1@2 b2@3 b3@4", ["a [b1 b2]"]),
        ("SEQ(A a, B* b[], C c)", "a c1 b c2", ["a [b] c2"]),
        (f"SEQ(A a, B+ b[]) {NEXT}", "a b1 b2", ["a [b1 b2]"]),
        ("SEQ(A a, B+ b[], ~(D d), C c)", "a b1 c1 b2 d c2", ["a [b1] c1"]),
        ("SEQ(A a, B b, ~(C c)) WITHIN 9", "a@1 b1@2 b2@3", ["a b2"]),
    ],
)
def test_longest(query: str, events: str, expected: list[str]) -> None:
    assert reported(f"{query} OUTPUT LONGEST", events) == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, B b)", "a1 a2 b1 b2 a3 b3", ["a1 b3"]),
        ("SEQ(A a, B b) WITHIN 4", "a1 a2 b1 b2 a3 b3", ["a1 b2", "a3 b3"]),
        ("A+ a[] WHERE strict_contiguity", "a1 a2 b a3", ["[a1 a2]", "[a3]"]),
        ("SEQ(A a, B b) WHERE [x]", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", ["a1 b1", "a2 b2"]),
        ("SEQ(A a, B b) WHERE a.x = b.x", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", ["a1 b1"]),
        # The earliest first event that has a match.
        ("SEQ(A a, B b) WHERE a.x = b.x", "a1(x=9) a2(x=1) b(x=1)", ["a2 b"]),
        (f"SEQ(A+ a[], B b) {NEXT}", "a1 a2 b1 a3 b2", ["[a1 a2 a3] b2"]),
        # It continues after the last event of a match, even if the match ends later.
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 a2@3", ["a1", "a2"]),
        ("AND(A a, B b) WITHIN 3", "b1@1 a1@2 b2@3 a2@4 b3@9", ["a1 b1", "a2 b2"]),
    ],
)
def test_leftmost(query: str, events: str, expected: list[str]) -> None:
    assert reported(f"{query} OUTPUT LEFTMOST", events) == expected


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
        # Of those that complete on the same event the shortest wins.
        ("SEQ(A a, B b)", "a1 a2 a3 b", ["a3 b"]),
        ("SEQ(A a, B b, C c)", "a b1 b2 c", ["a b1 c"]),
        ("SEQ(A a, B b, C c)", "a1 b1 a2 b2 c", ["a2 b2 c"]),
        ("SEQ(A+ a[], B b)", "a1 a2 b", ["[a2] b"]),
        ("SEQ(A a, B+ b[], C c)", "a b1 b2 c", ["a [b1] c"]),
        ("AND(A a, A b)", "a1 a2", ["a1 a2"]),
        ("A+ a[]", "a1 a2", ["[a1]", "[a2]"]),
        (f"SEQ(A+ a[], B b) {NEXT}", "a1 a2 b1 a3 b2", ["[a2] b1", "[a3] b2"]),
        # Partitions.
        (
            "SEQ(A a, B b) WHERE [x]",
            "a1(x=1) a2(x=2) b1(x=1) b2(x=2) a3(x=1) b3(x=1)",
            ["a1 b1", "a2 b2", "a3 b3"],
        ),
        ("SEQ(A a, B b) WHERE a.x = b.x", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", ["a1 b1"]),
        ("SEQ(ANY(A, B) a, C c) WHERE [x]", "a(x=1) b(x=1.0) c(x=1)", ["b c"]),
    ],
)
def test_non_overlapping(query: str, events: str, expected: list[str]) -> None:
    assert reported(f"{query} OUTPUT NON_OVERLAPPING", events) == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 a2@3 a3@6 a4@7", ["a1", "a3"]),
        # A match that starts exactly at a deadline starts after it.
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 a2@5 a3@6", ["a1", "a3"]),
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 b@2 a2@3", ["a2"]),
        # Equal deadlines: the match whose last event is earlier completes first.
        ("SEQ(A a, ~(B b)) WITHIN 5", "a1@1 a2@1", ["a1"]),
        ("SEQ(A a, B b, ~(C c)) WITHIN 5", "a@1 b1@2 b2@3", ["a b1"]),
        # Equal deadlines and the same last event: the shortest.
        ("SEQ(A a, B b, ~(C c)) WITHIN 5", "a1@1 a2@1 b@2", ["a2 b"]),
        ("SEQ(A a, B b, ~(C c)) WITHIN 5", "a1@1 b1@2 a2@5 b2@5 a3@6 b3@7", ["a1 b1", "a3 b3"]),
        # A match of two branches has the earlier end.
        ("OR(SEQ(A a, ~(B n)), A a) WITHIN 5", "a1@1 a2@2", ["a1", "a2"]),
        # With a window of events the end is that of the last event.
        ("SEQ(A a, ~(B b)) WITHIN 3 EVENTS", "a1 a2 c d", ["a1", "a2"]),
    ],
)
def test_a_match_that_waits_ends_with_its_deadline(
    query: str, events: str, expected: list[str]
) -> None:
    assert reported(f"{query} OUTPUT NON_OVERLAPPING", events) == expected


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("A a OUTPUT AT MOST ONCE PER 5", "a1@1 a2@3 a3@6 a4@10 a5@11", ["a1", "a3", "a5"]),
        # Measured from the last match reported, and not from one that was left out.
        ("A a OUTPUT AT MOST ONCE PER 5", "a1@1 a2@4 a3@6", ["a1", "a3"]),
        ("A a OUTPUT ALL AT MOST ONCE PER 1", "a1@1 a2@1 a3@2", ["a1", "a3"]),
        (
            "A a WHERE [x] OUTPUT AT MOST ONCE PER 5",
            "a1(x=1)@1 a2(x=2)@2 a3(x=1)@3 a4(x=2)@7",
            ["a1", "a2", "a4"],
        ),
        # Those that complete together are in pattern order.
        ("SEQ(A a, B b) OUTPUT AT MOST ONCE PER 5", "a1 a2 b", ["a1 b"]),
        ("SEQ(A a, B+ b[]) OUTPUT AT MOST ONCE PER 1", "a b1 b2", ["a [b1]", "a [b1 b2]"]),
        # After the mode.
        (
            "SEQ(A a, B b) OUTPUT NON_OVERLAPPING AT MOST ONCE PER 3",
            "a1@1 b1@2 a2@3 b2@4 a3@5 b3@6",
            ["a1 b1", "a3 b3"],
        ),
        (
            "SEQ(A a, B b) WHERE a.x = b.x OUTPUT LONGEST AT MOST ONCE PER 2",
            "a1(x=1) a2(x=2) b1(x=2) b2(x=1)",
            ["a2 b1"],
        ),
        (
            "A+ a[] WHERE strict_contiguity OUTPUT LEFTMOST AT MOST ONCE PER 3",
            "a1@1 a2@2 b@3 a3@4 b@5 a4@6 a5@7",
            ["[a1 a2]", "[a4 a5]"],
        ),
        # The end of a match that waits is its deadline.
        ("SEQ(A a, ~(B b)) WITHIN 5 OUTPUT AT MOST ONCE PER 3", "a1@1 a2@3 a3@4", ["a1", "a3"]),
        ("SEQ(A a, B b) OUTPUT FIRST AT MOST ONCE PER 3", "a1 b1 a2 b2 a3 b3", ["a1 b1", "a3 b3"]),
    ],
)
def test_at_most_once(query: str, events: str, expected: list[str]) -> None:
    assert reported(query, events) == expected


def test_all_is_the_default() -> None:
    query = "PATTERN SEQ(A a, B b)"
    assert (
        matches(query, "a1 a2 b1")
        == answers("a1 b1 | a2 b1")
        == matches(f"{query} OUTPUT ALL", "a1 a2 b1")
    )
