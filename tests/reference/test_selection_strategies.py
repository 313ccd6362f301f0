"""The four selection strategies; skip_till_next_match event by event."""

import pytest
from streams import answers, matches


def check(strategy: str, pattern: str, condition: str, events: str, expected: str) -> None:
    query = f"PATTERN {pattern} WHERE {strategy} {{ {condition} }}"
    assert matches(query, events) == answers(expected)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("skip_till_any_match", "a [b1] c | a [b2] c | a [b3] c | a [b1 b2] c | a [b1 b3] c"
         " | a [b2 b3] c | a [b1 b2 b3] c"),
        ("skip_till_next_match", "a [b1 b2 b3] c"),
        ("partition_contiguity", "a [b1 b2 b3] c"),
        ("strict_contiguity", "a [b1 b2 b3] c"),
    ],
)  # fmt: skip
def test_each_strategy_on_the_same_stream(strategy: str, expected: str) -> None:
    check(strategy, "SEQ(A a, B+ b[], C c)", "", "a b1 b2 b3 c", expected)


@pytest.mark.parametrize(
    "where",
    [
        "skip_till_next_match(a, b)",
        "skip_till_next_match(a, b) { }",
        "skip till next match",
        "skip_till_next_match(a, b) { a.x = b.x }",
        "a.x = b.x AND skip_till_next_match(a, b)",
    ],
)
def test_the_strategy_may_stand_before_the_conditions_or_among_them(where: str) -> None:
    events = "a(x=1) b1(x=1) b2(x=1)"
    assert matches(f"PATTERN SEQ(A a, B b) WHERE {where}", events) == {"a b1"}


# --- skip_till_next_match


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A a, B b)", "", "a1 a2 b1 b2", "a1 b1 | a2 b1"),
        ("SEQ(A a, B b)", "", "a c b", "a b"),
        ("SEQ(A a, A b)", "", "a1 a2 a3", "a1 a2 | a2 a3"),
        ("SEQ(A a, B b)", "b.x > a.x", "a(x=2) b1(x=1) b2(x=3) b3(x=4)", "a b2"),
        ("SEQ(A a, B b)", "b.x > a.x", "a(x=2) b1(x=null) b2(x=3)", "a b2"),
        ("SEQ(A a, B b)", "a.x = 1", "a1(x=1) a2(x=2) b", "a1 b"),
        ("SEQ(A a, B b)", "[x]", "a1(x=1) a2(x=2) b2(x=2) b1(x=1)", "a1 b1 | a2 b2"),
    ],
)
def test_a_run_that_waits_takes_the_first_event_that_it_can(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("skip_till_next_match", pattern, condition, events, expected)


def test_a_run_has_no_choice_even_where_it_ends_in_nothing() -> None:
    pattern, condition, events = "SEQ(A a, B b, C c)", "c.x = b.x", "a b1(x=1) b2(x=2) c(x=2)"
    check("skip_till_next_match", pattern, condition, events, "")
    check("skip_till_any_match", pattern, condition, events, "a b2 c")


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A+ a[], B b)", "", "a1 b1 a2 b2", "[a1] b1 | [a1 a2] b2 | [a2] b2"),
        ("SEQ(A a, B+ b[], C c)", "", "a b1 c1 b2 c2", "a [b1] c1 | a [b1 b2] c2"),
        ("SEQ(A a, B+ b[], C c)", "", "a b c1 c2", "a [b] c1 | a [b] c2"),
        ("SEQ(A a, B+ b[], C c, D d)", "", "a b1 c1 b2 c2 d", "a [b1] c1 d | a [b1 b2] c2 d"),
        ("SEQ(A+ a[], B+ b[], C c)", "", "a1 b1 a2 b2 c",
         "[a1] [b1 b2] c | [a1 a2] [b2] c | [a2] [b2] c"),
        ("SEQ(A+ a[], B b)", "a[i].x > a[i-1].x", "a1(x=1) a2(x=3) a3(x=2) a4(x=4) b",
         "[a1 a2 a4] b | [a2 a4] b | [a3 a4] b | [a4] b"),
        ("SEQ(A+ a[], B b)", "a[i].x < b.x", "a1(x=1) a2(x=5) b1(x=3) b2(x=9)",
         "[a1 a2] b2 | [a2] b2"),
        ("SEQ(A+ a[], B b)", "a[2].x > 5", "a1(x=1) a2(x=3) a3(x=7) b",
         "[a1 a3] b | [a2 a3] b"),
    ],
)  # fmt: skip
def test_inside_a_kleene_component_what_can_be_taken_is_taken(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("skip_till_next_match", pattern, condition, events, expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a1 a2", "[a1] a2"),
        ("a1 a2 a3", "[a1] a2 | [a1 a2] a3 | [a2] a3"),
        ("a1 a2 a3 a4", "[a1] a2 | [a1 a2] a3 | [a1 a2 a3] a4 | [a2] a3 | [a2 a3] a4 | [a3] a4"),
    ],
)
def test_one_event_can_both_extend_and_finish(events: str, expected: str) -> None:
    check("skip_till_next_match", "SEQ(A+ a[], A b)", "", events, expected)


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("SEQ(A{1,2} a[], B b)", "a1 a2 a3 b", "[a1 a2] b | [a2 a3] b | [a3] b"),
        ("SEQ(A{2} a[], B b)", "a1 b1 a2 b2", "[a1 a2] b2"),
        ("SEQ(A{2,} a[], B b)", "a1 b1 a2 b2 a3 b3", "[a1 a2] b2 | [a1 a2 a3] b3 | [a2 a3] b3"),
        ("SEQ(A{1} a[], A b)", "a1 a2 a3", "[a1] a2 | [a2] a3"),
        ("SEQ(A{1,2} a[], A b)", "a1 a2 a3 a4",
         "[a1] a2 | [a1 a2] a3 | [a2] a3 | [a2 a3] a4 | [a3] a4"),
        ("SEQ(A{1,2} a[], B b)", "a1 a2 b1 b2", "[a1 a2] b1 | [a2] b1 | [a2] b2"),
        ("SEQ(A{0,1} a[], B b)", "a1 a2 b", "b | [a1] b | [a2] b"),
    ],
)  # fmt: skip
def test_a_kleene_component_is_left_at_once_at_its_upper_bound(
    pattern: str, events: str, expected: str
) -> None:
    check("skip_till_next_match", pattern, "", events, expected)


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A a, B+ b[])", "", "a b1 b2", "a [b1] | a [b1 b2]"),
        ("SEQ(A a, B{2,3} b[])", "", "a b1 b2 b3 b4", "a [b1 b2] | a [b1 b2 b3]"),
        ("SEQ(A a, B+ b[])", "b[i].x > b[i-1].x", "a b1(x=1) b2(x=3) b3(x=2) b4(x=4)",
         "a [b1] | a [b1 b2] | a [b1 b2 b4]"),
        ("A+ a[]", "", "a1 a2 a3", "[a1] | [a1 a2] | [a1 a2 a3] | [a2] | [a2 a3] | [a3]"),
        ("SEQ(A a, B+ b[])", "b[b.LEN].x = 0", "a b1(x=0) b2(x=1) b3(x=0)",
         "a [b1] | a [b1 b2 b3]"),
        ("SEQ(A a, B+ b[])", "b.LEN = 2", "a b1 b2 b3", "a [b1 b2]"),
        ("SEQ(A a, B+ b[])", "b[2].x = 1", "a b1(x=1) b2(x=0) b3(x=1)", "a [b1 b3]"),
    ],
)  # fmt: skip
def test_a_kleene_component_at_the_end_yields_at_every_event_it_takes(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("skip_till_next_match", pattern, condition, events, expected)


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A+ a[], B b)", "a.LEN >= 2", "a1 b1 a2 b2", "[a1 a2] b2"),
        ("SEQ(A+ a[], B b)", "avg(a[].x) > 4", "a1(x=1) b1 a2(x=9) b2", "[a1 a2] b2 | [a2] b2"),
        ("SEQ(A+ a[], B b)", "max(a[].x) < 5", "a1(x=1) a2(x=9) b", ""),
        ("SEQ(A+ a[], B b)", "a[a.LEN].x < 5", "a1(x=1) a2(x=9) b1 a3(x=2) b2",
         "[a1 a2 a3] b2 | [a2 a3] b2 | [a3] b2"),
        ("SEQ(A{1,2} a[], B b)", "sum(a[].x) = 3", "a1(x=1) a2(x=2) b", "[a1 a2] b"),
        ("SEQ(A{1,2} a[], B b)", "sum(a[].x) = 1", "a1(x=1) a2(x=2) b", ""),
        ("SEQ(A+ a[], B b)", "b.x < a[a.LEN].x", "a1(x=5) b1(x=6) b2(x=1)", "[a1] b2"),
        ("SEQ(A+ a[], B b, C c)", "c.x > a.LEN", "a1 b1 a2 c1(x=2) b2 c2(x=3)",
         "[a1] b1 c1 | [a1 a2] b2 c2 | [a2] b2 c2"),
    ],
)  # fmt: skip
def test_conditions_on_the_whole_of_a_variable_are_tested_when_the_run_leaves_it(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("skip_till_next_match", pattern, condition, events, expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [("a b c1 c2", ""), ("a1 b a2 c", "a2 c"), ("a c1 b c2", "a c1")],
)
def test_a_negation_filters_and_does_not_change_what_a_run_selects(
    events: str, expected: str
) -> None:
    check("skip_till_next_match", "SEQ(A a, ~(B b), C c)", "", events, expected)


def test_a_star_is_the_union_of_the_runs_without_it_and_with_plus() -> None:
    pattern = "SEQ(A a, B* b[], C c)"
    check(
        "skip_till_next_match", pattern, "", "a b1 b2 c1 c2", "a c1 | a [b1 b2] c1 | a [b1 b2] c2"
    )


def test_or_at_the_top_is_the_union_of_its_branches() -> None:
    pattern = "OR(SEQ(A a, B b), SEQ(A a, C c))"
    check("skip_till_next_match", pattern, "", "a b1 c1 b2 c2", "a b1 | a c1")
    check("strict_contiguity", pattern, "", "a1 b1 a2 c2", "a1 b1 | a2 c2")


def test_a_run_ends_with_its_window() -> None:
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match WITHIN 4"
    assert matches(query, "a1@1 a2@3 a3@4 b@6") == answers("[a2 a3] b | [a3] b")


# --- contiguity


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A a, B b)", "", "a1 a2 b1 b2", "a2 b1"),
        ("SEQ(A a, B b)", "", "a c b", ""),
        ("SEQ(A a, B b)", "b.x = 2", "a b1(x=1) b2(x=2)", ""),
        ("SEQ(A a, B b)", "", "c@1 a@1 b@1", "a b"),
        ("SEQ(A a, B b)", "", "a@1 b@900", "a b"),
        ("SEQ(A a, B+ b[], C c)", "", "a b1 d b2 c", ""),
        ("SEQ(A+ a[], B b)", "", "a1 a2 a3 b", "[a3] b | [a2 a3] b | [a1 a2 a3] b"),
        ("SEQ(A a, B+ b[])", "", "a b1 b2 c b3", "a [b1] | a [b1 b2]"),
        ("SEQ(A+ a[], A b)", "", "a1 a2 a3", "[a1] a2 | [a2] a3 | [a1 a2] a3"),
        ("SEQ(A a, B* b[], C c)", "", "a1 b c1 a2 c2", "a1 [b] c1 | a2 c2"),
        ("SEQ(A{2} a[], B b)", "", "a1 a2 a3 b", "[a2 a3] b"),
        ("SEQ(A a, B b)", "[x]", "a(x=1) c(x=2) b(x=1)", ""),
        ("SEQ(A a, ~(C c), B b)", "", "c1 a b c2", "a b"),
    ],
)
def test_under_strict_contiguity_successive_events_are_neighbours_in_the_stream(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("strict_contiguity", pattern, condition, events, expected)


@pytest.mark.parametrize(
    ("pattern", "condition", "events", "expected"),
    [
        ("SEQ(A a, B b)", "[x]", "a1(x=1) a2(x=2) b1(x=1) b2(x=2)", "a1 b1 | a2 b2"),
        ("SEQ(A a, B b)", "[x]", "a(x=1) c(x=1) b(x=1)", ""),
        ("SEQ(A a, B b)", "[x]", "a(x=1) c(x=2) b(x=1)", "a b"),
        ("SEQ(A a, B b)", "[x]", "a(x=1) c(x=null) b(x=1)", "a b"),
        ("SEQ(A a, B b)", "[x]", "a(x=1) c b(x=1)", ""),
        ("SEQ(A a, B b)", "[x]", "a(x=null) b(x=null)", ""),
        ("SEQ(A a, B b)", "[x, y]", "a(x=1,y=1) c(x=1,y=2) b(x=1,y=1)", "a b"),
        ("SEQ(A a, B b)", "[x, y]", "a(x=1,y=1) c(x=1) b(x=1,y=1)", ""),
        ("SEQ(A a, B b)", "[x=1]", "a(x=1) c(x=2) b(x=1)", "a b"),
        ("SEQ(A a, B b)", "a.x = b.x", "a(x=1) c(x=2) b(x=1)", ""),
        ("SEQ(A a, B b)", "", "a c b", ""),
        ("SEQ(A a, B b)", "", "a b", "a b"),
        ("SEQ(A+ a[], B b)", "[x]", "a1(x=1) a2(x=2) a3(x=1) b(x=1)", "[a3] b | [a1 a3] b"),
        ("SEQ(A a, B b)", "[x] AND b.y = 2", "a(x=1) b1(x=1,y=1) b2(x=1,y=2)", ""),
    ],
)
def test_under_partition_contiguity_they_are_neighbours_among_the_events_that_agree(
    pattern: str, condition: str, events: str, expected: str
) -> None:
    check("partition_contiguity", pattern, condition, events, expected)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("a d(x=2) b c(x=1)", "a b c"),
        ("a d(x=1) b c(x=1)", ""),
        ("a d(x=2) b c(x=null)", ""),
        ("a d b c(x=1)", ""),
        ("a b d(x=2) c(x=1)", "a b c"),
    ],
)
def test_the_partition_of_a_match_is_decided_by_all_its_events(events: str, expected: str) -> None:
    # A and B have no x: which events the match could have skipped is known only from c.
    check("partition_contiguity", "SEQ(A a, B b, C c)", "[x]", events, expected)
