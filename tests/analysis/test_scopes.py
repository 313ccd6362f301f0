"""What names may stand for. How it is said when one is wrong is in ``errors/``."""

import pytest

from cepheid.analysis.analyse import analyse
from cepheid.errors import QuerySemanticError
from cepheid.language import syntax as ast
from cepheid.language.parser import parse


def faults(text: str) -> list[str]:
    try:
        analyse(parse(text), None, text)
    except QuerySemanticError as error:
        return [fault.message for fault in error.faults]
    return []


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A",
        "EVENT SHELF-READING WHERE category = 'food'",
        "PATTERN A* a[]",
        "PATTERN SEQ(A* a[], ~(B b), C c)",
        "PATTERN SEQ(~(B b), A a)",
        "PATTERN AND(~(B b), A a) WITHIN 5",
        "PATTERN SEQ(A a, AND(B b, ~(C c)), D d)",
        "PATTERN OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE a.x = 1 AND c.x > a.x",
        "PATTERN OR(SEQ(A a, ~(B b), C c), SEQ(A a, D d)) WHERE b.x = 1",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE skip_till_next_match(a, c)",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE skip_till_next_match(a, b, c)",
        "PATTERN OR(A a, OR(B b, SEQ(C c, D+ d[]))) WHERE strict_contiguity",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE NOT (a.x = 1 OR b.x = 2)",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = a.x OR b.x = c.x",
        "PATTERN SEQ(A{2,3} a[], B b) WHERE a[3].x > 1 AND a[a.LEN].x < b.x AND a[LEN].x > 0",
        "PATTERN SEQ(A+ a[], B b) RETURN a, a[].x, b, a.LEN, count(a), avg(a[].x), a[1].x + b.x",
        "PATTERN SEQ(A a, B b) WHERE NOT NOT [id]",
        "PATTERN SEQ(A first, B b) WHERE first.min = b.count",
    ],
)
def test_names_that_are_used_as_what_they_are_have_no_fault(text: str) -> None:
    assert faults(text) == []


def test_all_faults_are_reported_in_the_order_of_the_text() -> None:
    text = "PATTERN SEQ(A a, B+ b[], ~(C c)) WHERE z.x = 1 AND b.x = Q RETURN c.x"
    assert faults(text) == [
        "the negation of 'c' needs a window",
        "the pattern has no variable 'z'",
        "'b' is a Kleene variable and needs an index here",
        "the name 'Q' has no value",
        "'c' is negated, so a match has no event to return for it",
    ]


def test_faults_of_names_and_of_kinds_are_reported_together() -> None:
    assert faults("PATTERN SEQ(A a, B b) WHERE a.x > 'x' - 1 AND c.x = 1") == [
        "'-' cannot be applied to a string and an integer",
        "the pattern has no variable 'c'",
    ]


def test_a_fault_is_a_value_with_what_was_found_and_what_was_probably_meant() -> None:
    with pytest.raises(QuerySemanticError) as error:
        analyse(parse("PATTERN SEQ(Stock first, Stock second) WHERE frist.x = sqroot(3)"))
    variable, function = error.value.faults
    assert (variable.found, variable.candidates) == ("frist", ("first",))
    assert (function.found, function.candidates) == ("sqroot", ("sqrt",))


def test_without_the_text_a_fault_is_still_readable() -> None:
    with pytest.raises(QuerySemanticError) as error:
        analyse(parse("PATTERN A a WHERE c.x = 1"))
    assert str(error.value) == "the pattern has no variable 'c'\nIt has a."


def test_a_wrong_aggregate_is_one_fault() -> None:
    assert len(faults("PATTERN SEQ(A+ a[], B b) WHERE count(a) > 1")) == 1
    assert len(faults("PATTERN SEQ(A+ a[], B b) WHERE sum(a.x + b.x) > 1")) == 1


def test_a_number_that_one_branch_can_reach_is_no_fault() -> None:
    pattern = "PATTERN OR(SEQ(A{1,3} a[], B b), SEQ(A{1,6} a[], C c))"
    assert faults(f"{pattern} WHERE a[5].x = 1") == []
    assert faults(f"{pattern} WHERE a[7].x = 1") == ["'a' never has 7 events"]


@pytest.mark.parametrize("strategy", ["strict_contiguity", "skip_till_next_match"])
def test_a_nested_and_is_refused_in_every_branch_of_or(strategy: str) -> None:
    text = f"PATTERN OR(AND(A a, B b), SEQ(C c, AND(D d, E e))) WHERE {strategy}"
    assert faults(text) == [f"AND is not supported under {strategy}"] * 2


def test_a_variable_that_is_declared_three_times_is_one_fault() -> None:
    assert faults("PATTERN SEQ(A a, B a, C a)") == ["the variable 'a' is declared twice"]


def test_an_alternative_of_only_negation_is_refused_unless_a_star_makes_it() -> None:
    assert faults("PATTERN SEQ(A* a[], ~(B b)) WITHIN 5") == []
    assert faults("PATTERN OR(SEQ(~(A a), ~(B b)), C c) WITHIN 5") == [
        "a branch of OR has no positive component"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "PATTERN SEQ(A+ a[], B b) WHERE sum(a[]) > 1",
            "sum needs an attribute of a Kleene variable",
        ),
        (
            "PATTERN SEQ(A+ a[], B b) RETURN avg(a)",
            "avg needs an attribute of a Kleene variable",
        ),
        ("PATTERN SEQ(A+ a[], B b) WHERE a[] = 3", "'a' is a list of events, not a value"),
        ("PATTERN SEQ(A a, B b) WHERE a[] = 3", "'a' is an event, not a value"),
        ("PATTERN SEQ(A a, B b) WHERE a[].x = 3", "'a' is a single event and has no index"),
        ("PATTERN SEQ(A a, B b) WHERE c[].x = 3", "the pattern has no variable 'c'"),
        ("PATTERN SEQ(A a, B b) WHERE c[] = 3", "the pattern has no variable 'c'"),
    ],
)
def test_one_mistake_is_one_fault(text: str, message: str) -> None:
    assert faults(text) == [message]


def test_a_variable_may_be_returned_if_it_has_an_event_in_some_branch() -> None:
    pattern = "PATTERN OR(SEQ(A a, ~(B b), C c), SEQ(A a, B b))"
    assert faults(f"{pattern} RETURN b.x") == []
    assert faults(f"{pattern} WHERE a.x = 1 OR b.x = 2") == [
        "OR joins a condition on the negated 'b' with one that is not"
    ]


def test_a_single_event_of_a_built_query_has_no_length() -> None:
    longer = ast.Comparison(">", ast.Length("a"), ast.Literal(2))
    with pytest.raises(QuerySemanticError, match="'a' is a single event and has no length"):
        analyse(ast.Query(ast.Component(("A",), "a"), condition=longer))
