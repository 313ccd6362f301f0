"""What conditions mean: unknown, missing attributes, arithmetic, elements and aggregates."""

from datetime import UTC, datetime, timedelta

import pytest
from streams import Stream, answers, matches

from cepheid.reference.interpreter import Event

A = "a(x=3,y=null,t='shelf',ok=true)"  # A has no z


def holds(condition: str, event: str = A) -> bool:
    return matches(f"PATTERN A a WHERE {condition}", event) == {"a"}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x = 3", True),
        ("a.x == 3", True),
        ("a.x = 3.0", True),
        ("a.x != 3", False),
        ("a.x <> 4", True),
        ("a.x ≠ 3", False),
        ("a.x < 3", False),
        ("a.x <= 3", True),
        ("a.x ≤ 2", False),
        ("a.x > 2", True),
        ("a.x >= 4", False),
        ("a.x ≥ 3", True),
        ("3 = a.x", True),
        ("a.t = 'shelf'", True),
        ("a.t = 'Shelf'", False),
        ("a.t < 'shelg'", True),
        ("a.ok = TRUE", True),
        ("a.ok = FALSE", False),
        ("1 = 2", False),
        ("TRUE", True),
    ],
)
def test_a_comparison_compares(condition: str, expected: bool) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x = 3 AND a.t = 'shelf'", True),
        ("a.x = 3 ∧ a.t = 'counter'", False),
        ("a.x = 4 OR a.t = 'shelf'", True),
        ("a.x = 4 ∨ a.t = 'counter'", False),
        ("NOT a.x = 4", True),
        ("¬ a.x = 3", False),
        ("NOT (a.x = 3 AND a.t = 'counter')", True),
        ("NOT (a.x = 3 OR a.t = 'counter')", False),
        ("NOT NOT a.x = 3", True),
        ("a.x = 4 AND a.x = 3 OR a.x = 3", True),
        ("a.x = 4 AND (a.x = 3 OR a.x = 3)", False),
        ("a.x = 3 && a.x > 2 || a.x = 9", True),
    ],
)
def test_and_or_and_not_combine(condition: str, expected: bool) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.y = 1", False),
        ("a.y != 1", False),
        ("NOT a.y = 1", False),
        ("a.y = a.y", False),
        ("a.y = NULL", False),
        ("a.x = NULL", False),
        ("a.x != NULL", False),
        ("a.y IS NULL", True),
        ("a.y IS NOT NULL", False),
        ("a.x IS NULL", False),
        ("a.x IS NOT NULL", True),
        ("a.y + 1 IS NULL", True),
        ("a.y > 1 OR a.x = 3", True),
        ("a.y > 1 OR a.x = 4", False),
        ("a.y > 1 AND a.x = 3", False),
        ("a.y > 1 AND a.x = 3 OR a.x = 4", False),
        ("(a.y > 1 OR a.x = 4) AND a.x = 3", False),
        ("NOT (a.y > 1 AND a.x = 4)", True),
        ("NOT (a.y > 1 AND a.x = 3)", False),
        ("NOT (a.y > 1 OR a.x = 4)", False),
        ("a.y IN (1, 2)", False),
        ("a.y NOT IN (1, 2)", False),
        ("a.x IN (1, NULL)", False),
        ("a.x NOT IN (1, NULL)", False),
        ("a.x IN (3, NULL)", True),
        ("a.y BETWEEN 0 AND 9", False),
        ("a.y NOT BETWEEN 0 AND 9", False),
        ("a.x BETWEEN 4 AND a.y", False),
        ("a.x NOT BETWEEN 4 AND a.y", True),
        ("a.x NOT BETWEEN 1 AND a.y", False),
        ("a.y LIKE '%'", False),
        ("a.y NOT LIKE '%'", False),
        ("abs(a.y) = 1", False),
        ("-a.y IS NULL", True),
    ],
)
def test_null_makes_a_comparison_unknown_and_unknown_is_not_satisfied(
    condition: str, expected: bool
) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.z = 1", True),
        ("NOT a.z = 1", True),
        ("a.z = a.x", True),
        ("a.z + 1 > a.y", True),
        ("a.z IS NULL", True),
        ("a.z IS NOT NULL", True),
        ("a.z IN (1, 2)", True),
        ("a.z NOT IN (1, 2)", True),
        ("a.z BETWEEN 1 AND 2", True),
        ("a.z LIKE 'q%'", True),
        ("a.z NOT LIKE 'q%'", True),
        ("abs(a.z) = 1", True),
        ("a.z = 1 AND a.x = 4", False),
        ("a.z = 1 OR a.x = 4", True),
        ("NOT (a.z = 1 OR a.x = 4)", True),
        ("NOT (a.z = 1 OR a.x = 3)", False),
        ("NOT (a.z = 1 AND a.x = 3)", True),
        ("a.z = 1 AND a.y = 1", False),
    ],
)
def test_a_predicate_on_an_attribute_that_the_type_does_not_have_is_true_negated_or_not(
    condition: str, expected: bool
) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x + 2 * 4 = 11", True),
        ("(a.x + 2) * 4 = 20", True),
        ("a.x - 1 - 1 = 1", True),
        ("-a.x = -3", True),
        ("2 - -a.x = 5", True),
        ("a.x / 2 = 1.5", True),
        ("12 / 2 / 3 = 2", True),
        ("7 % a.x = 1", True),
        ("-7 % a.x = 2", True),
        ("7 % (-a.x) = -2", True),
        ("7.5 % a.x = 1.5", True),
        ("2000 %500==0", True),
        ("2100 %500==0", False),
        ("a.x < 80% * 4", True),
        ("a.x < 75% * 4", False),
        ("80% = 0.8", True),
        ("a.x = 300%", True),
        ("12.5% * 8 = 1", True),
        ("a.x / 0 = 1", False),
        ("NOT a.x / 0 = 1", False),
        ("a.x / 0 IS NULL", True),
        ("0 / 0 IS NULL", True),
        ("a.x / 0.0 IS NULL", True),
        ("a.x % 0 IS NULL", True),
        ("1 / (a.x - 3) IS NULL", True),
        ("abs(-a.x) = 3", True),
        ("upper(a.t) = 'SHELF'", True),
        ("sqrt(0 - a.x) IS NULL", True),
    ],
)
def test_arithmetic_computes_and_division_by_zero_is_null(condition: str, expected: bool) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x IN (1, 3)", True),
        ("a.x IN (1, 2)", False),
        ("a.x NOT IN (1, 2)", True),
        ("a.x IN (1, 1 + 2)", True),
        ("a.t IN ('counter', 'shelf')", True),
        ("a.x BETWEEN 3 AND 5", True),
        ("a.x BETWEEN 1 AND 3", True),
        ("a.x BETWEEN 5 AND 1", False),
        ("a.x NOT BETWEEN 4 AND 5", True),
        ("a.t LIKE 'sh%'", True),
        ("a.t LIKE '%elf'", True),
        ("a.t LIKE 'shelf%'", True),
        ("a.t LIKE 's_elf'", True),
        ("a.t LIKE 'sh'", False),
        ("a.t LIKE 'SH%'", False),
        ("a.t LIKE '_'", False),
        ("a.t LIKE 's.*'", False),
        ("a.t NOT LIKE 'c%'", True),
    ],
)
def test_in_between_and_like(condition: str, expected: bool) -> None:
    assert holds(condition) is expected


NOON = datetime(2024, 3, 4, 12)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.at - a.at = 90 minutes", True),
        ("b.at - a.at < 1.5 hours", False),
        ("a.at + 2 hours > b.at", True),
        ("a.at = '2024-03-04 12:00:00'", True),
        ("a.at < '2024-03-05'", True),
        ("'2024-03-04T12:30' BETWEEN a.at AND b.at", True),
        ("a.day = '2024-03-04'", True),
        ("a.at > a.day", True),
        ("a.at = b.zoned", True),
        ("a.day IN ('2024-03-03', '2024-03-04')", True),
    ],
)
def test_times_are_compared_as_times(condition: str, expected: bool) -> None:
    a = {"at": NOON, "day": NOON.date()}
    b = {"at": NOON + timedelta(minutes=90), "zoned": NOON.replace(tzinfo=UTC)}
    events = Stream([Event(0, 0, "A", a), Event(1, 1, "B", b)], ["a", "b"])
    found = matches(f"PATTERN SEQ(A a, B b) WHERE {condition}", events)
    assert found == ({"a b"} if expected else set())


def test_a_condition_may_compare_events() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.t = b.t"
    events = "a1(x=1,t='p') a2(x=5,t='p') b1(x=3,t='p') b2(x=3,t='q')"
    assert matches(query, events) == {"a1 b1"}


def test_a_disjunction_may_span_events() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.x = 1 OR b.x = 1"
    found = matches(query, "a1(x=1) a2(x=2) b1(x=1) b2(x=2)")
    assert found == answers("a1 b1 | a1 b2 | a2 b1")


def test_any_mixes_types_with_and_without_an_attribute() -> None:
    query = "PATTERN ANY(A, B) x WHERE x.p > 5"
    assert matches(query, "a1(p=4) a2(p=6) b1") == answers("a2 | b1")


# --- elements of a Kleene variable


def check(condition: str, events: str, expected: str) -> None:
    assert matches(f"PATTERN A+ a[] WHERE {condition}", events) == answers(expected)


UP = "a1(x=1) a2(x=2) a3(x=3)"


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("a[i].x > 1", UP, "[a2] | [a3] | [a2 a3]"),
        ("NOT a[i].x = 1", UP, "[a2] | [a3] | [a2 a3]"),
        ("NOT (a[i].x = 1 OR a[i].x = 3)", UP, "[a2]"),
        ("NOT (a[i].x > 1 AND a[i].x < 3)", UP, "[a1] | [a3] | [a1 a3]"),
        ("a[i].x = 1 OR a[i].x = 3", UP, "[a1] | [a3] | [a1 a3]"),
        ("a[i].x > 1 AND a[i].x < 3", UP, "[a2]"),
        ("a[1].x = 2", UP, "[a2] | [a2 a3]"),
        ("a[2].x = 2", UP, "[a1 a2] | [a1 a2 a3]"),
        ("a[3].x = 3", UP, "[a1 a2 a3]"),
        ("a[4].x = 3", UP, ""),
        ("NOT a[2].x = 3", UP, "[a1 a2] | [a1 a2 a3]"),
        ("a[2].x = 2 OR a[1].x = 3", UP, "[a1 a2] | [a1 a2 a3]"),
        ("a[2].x IS NULL", "a1(x=1) a2(x=null)", "[a1 a2]"),
        ("a[2].z = 1", "a1(x=1) a2(x=1)", "[a1 a2]"),
        ("a[a.LEN].x = 2", UP, "[a2] | [a1 a2]"),
        ("a[LEN].x = 2", UP, "[a2] | [a1 a2]"),
        ("a.LEN = 2", UP, "[a1 a2] | [a1 a3] | [a2 a3]"),
        ("a.LEN > 2", UP, "[a1 a2 a3]"),
        ("a.LEN % 2 = 0", UP, "[a1 a2] | [a1 a3] | [a2 a3]"),
        ("a[1].x + a[a.LEN].x = 4", UP, "[a2] | [a1 a3] | [a1 a2 a3]"),
        ("a[i].x <= 2 * a[1].x", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a2 a3]"),
    ],
)
def test_elements_are_numbered_from_one_and_i_is_every_one(
    condition: str, events: str, expected: str
) -> None:
    check(condition, events, expected)


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("a[i].x > a[i-1].x", "a1(x=2) a2(x=1) a3(x=3)", "[a1] | [a2] | [a3] | [a1 a3] | [a2 a3]"),
        ("a[i].x - a[i-1].x = 1", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a2 a3] | [a1 a2 a3]"),
        ("a[i-1].x = 1", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3]"),
        ("a[i].x = 9 OR a[i-1].x = 1", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3]"),
        ("a[i].x > a[i-1].x AND a[i].x > 1", UP, "[a2] | [a3] | [a2 a3]"),
        ("a[i].x > a[i-1].x", "a1(x=1) a2(x=null) a3(x=3)", "[a1] | [a2] | [a3] | [a1 a3]"),
        ("a[i].x > a[i-1].x AND a[2].x = 3", UP, "[a1 a3] | [a2 a3]"),
    ],
)
def test_a_condition_on_the_element_before_starts_at_the_second(
    condition: str, events: str, expected: str
) -> None:
    check(condition, events, expected)


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("a[i].x > avg(a[..i-1].x)", "a1(x=1) a2(x=3) a3(x=2)",
         "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3]"),
        ("a[i].x > min(a[..i-1].x)", "a1(x=1) a2(x=3) a3(x=2)",
         "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a1 a2 a3]"),
        ("a[i].x > max(a[..i-1].x)", "a1(x=1) a2(x=3) a3(x=2)",
         "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3]"),
        ("a[i].x >= sum(a[..i-1].x)", UP,
         "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a2 a3] | [a1 a2 a3]"),
        ("a[i].x > sum(a[..i-1].x)", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a2 a3]"),
        ("count(a[..i-1]) < 2", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a2 a3]"),
        ("count(a[..i-1].x) = 1", "a1(x=1) a2(x=null) a3(x=1)",
         "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a1 a2 a3]"),
        ("a[i].x = first(a[..i-1].x) + 1", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a2 a3]"),
        ("a[i].x = last(a[..i-1].x) + 1", UP,
         "[a1] | [a2] | [a3] | [a1 a2] | [a2 a3] | [a1 a2 a3]"),
        ("avg(a[..i-1].x) < 2", UP, "[a1] | [a2] | [a3] | [a1 a2] | [a1 a3] | [a1 a2 a3]"),
        ("a[i].x > avg(a[..i-1].x)", "a1(x=null) a2(x=2) a3(x=3)",
         "[a1] | [a2] | [a3] | [a2 a3]"),
    ],
)  # fmt: skip
def test_a_running_aggregate_is_over_what_was_selected_before(
    condition: str, events: str, expected: str
) -> None:
    check(condition, events, expected)


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        ("sum(a[].x) = 3", UP, "[a3] | [a1 a2]"),
        ("avg(a[].x) = 2", UP, "[a2] | [a1 a3] | [a1 a2 a3]"),
        ("AVG(a[i].x) = 2", UP, "[a2] | [a1 a3] | [a1 a2 a3]"),
        ("min(a[].x) = 2", UP, "[a2] | [a2 a3]"),
        ("max(a[].x) = 2", UP, "[a2] | [a1 a2]"),
        ("count(a[]) = 3", UP, "[a1 a2 a3]"),
        ("first(a[].x) = 2", UP, "[a2] | [a2 a3]"),
        ("last(a[].x) = 2", UP, "[a2] | [a1 a2]"),
        ("max(a[].x) - min(a[].x) = 2", UP, "[a1 a3] | [a1 a2 a3]"),
        ("a[i].x >= avg(a[].x)", UP, "[a1] | [a2] | [a3]"),
        ("NOT sum(a[].x) > 3", UP, "[a1] | [a2] | [a3] | [a1 a2]"),
        ("count(a[].x) = 1", "a1(x=1) a2(x=null)", "[a1] | [a1 a2]"),
        ("count(a[].x) = 0", "a1(x=1) a2(x=null)", "[a2]"),
        ("count(a[]) = 2", "a1(x=1) a2(x=null)", "[a1 a2]"),
        ("avg(a[].x) = 1", "a1(x=1) a2(x=null)", "[a1] | [a1 a2]"),
        ("sum(a[].x) < 9", "a1(x=1) a2(x=null)", "[a1] | [a1 a2]"),
        ("sum(a[].x) IS NULL", "a1(x=1) a2(x=null)", "[a2]"),
        ("NOT min(a[].x) = 7", "a1(x=1) a2(x=null)", "[a1] | [a1 a2]"),
        ("min(a[].t) = 'p'", "a1(t='q') a2(t='p')", "[a2] | [a1 a2]"),
        # first and last are the first and the last event, whatever they have.
        ("first(a[].x) = 2", "a1(x=null) a2(x=2)", "[a2]"),
        ("first(a[].x) IS NULL", "a1(x=null) a2(x=2)", "[a1] | [a1 a2]"),
        ("last(a[].x) = 1", "a1(x=1) a2(x=null)", "[a1]"),
    ],
)
def test_a_whole_aggregate_is_over_all_events_and_ignores_nulls(
    condition: str, events: str, expected: str
) -> None:
    check(condition, events, expected)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a[i].x < b[i].x", "[a1] [b1] | [a1] [b2] | [a1] [b1 b2] | [a2] [b2] | [a1 a2] [b2]"),
        ("a[a.LEN].x < b[1].x", "[a1] [b1] | [a1] [b2] | [a1] [b1 b2] | [a2] [b2] | [a1 a2] [b2]"),
        ("a.LEN = b.LEN", "[a1] [b1] | [a1] [b2] | [a2] [b1] | [a2] [b2] | [a1 a2] [b1 b2]"),
        ("sum(a[].x) = sum(b[].x)", "[a1 a2] [b2]"),
        ("b[i].x > max(a[].x)", "[a1] [b1] | [a1] [b2] | [a1] [b1 b2] | [a2] [b2] | [a1 a2] [b2]"),
        ("b[2].x = 4 AND a.LEN = 1", "[a1] [b1 b2] | [a2] [b1 b2]"),
    ],
)
def test_two_kleene_variables_range_independently(condition: str, expected: str) -> None:
    query = f"PATTERN SEQ(A+ a[], B+ b[]) WHERE {condition}"
    assert matches(query, "a1(x=1) a2(x=3) b1(x=2) b2(x=4)") == answers(expected)


def test_every_element_may_be_compared_with_one_event() -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > a.x"
    assert matches(query, "a(x=1) b1(x=1) b2(x=2) b3(x=3)") == answers(
        "a [b2] | a [b3] | a [b2 b3]"
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("e[i].x > 1", "[b] | [a2] | [b a2]"),
        ("e[i].x > e[i-1].x", "[a1] | [b] | [a2] | [a1 b] | [b a2] | [a1 a2] | [a1 b a2]"),
        ("sum(e[].x) = 3", "[a1 a2] | [a1 b a2]"),
        ("count(e[].x) = 1 AND count(e[]) = 2", "[a1 b] | [b a2]"),
        ("e[1].x = 2", "[b] | [a2] | [b a2]"),
        ("first(e[].x) = 2", "[b] | [a2] | [b a2]"),
        ("NOT first(e[].x) = 1", "[b] | [a2] | [b a2]"),
        ("last(e[].x) = 1", "[a1] | [b] | [a1 b]"),
    ],
)
def test_an_element_without_the_attribute_stands_in_nobodys_way(
    condition: str, expected: str
) -> None:
    query = f"PATTERN ANY(A, B)+ e[] WHERE {condition}"
    assert matches(query, "a1(x=1) b a2(x=2)") == answers(expected)
