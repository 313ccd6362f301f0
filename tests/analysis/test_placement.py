"""Where a clause is tested: at its last identifier, and with the same meaning as its condition."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from streams import matches

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import Clause, Edge
from cepheid.analysis.normal_form import MAX_CLAUSES
from cepheid.analysis.placement import place_clauses
from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.language.printer import print_expression
from cepheid.reference.conditions import holds
from cepheid.reference.interpreter import Binding, Event, Interpreter, list_of


def placed(text: str) -> dict[str, str]:
    """Each clause of the only alternative, and its place as ``variable edge``."""
    query = parse(text)
    [alternative] = analyse(query).alternatives
    return {
        print_expression(clause.expression, query): "nowhere"
        if clause.component_ix is None
        else f"{alternative.components[clause.component_ix].variable} {clause.edge.value}"
        for clause in alternative.clauses
    }


def only_clause(text: str) -> Clause:
    [alternative] = analyse(parse(text)).alternatives
    [clause] = alternative.clauses
    return clause


def test_query_3_is_placed_as_in_figure_2_of_agrawal08() -> None:
    # [symbol] is a test of every event; the proceed edge has none.
    assert placed("""
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_next_match(a[], b) {
            [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
            AND b.volume < 80% * a[a.LEN].volume }
        WITHIN 1 hour
    """) == {
        "a[1].volume > 1000": "a begin",
        "a[i].price > avg(a[..i-1].price)": "a take",
        "b.volume < 0.8 * a[LEN].volume": "b begin",
    }


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ("a.x = 1", "a begin"),
        ("c.x > a.x", "c begin"),
        ("a.x > c.x", "c begin"),
        ("b[1].x > a.x", "b begin"),
        ("b[i].x > a.x", "b take"),
        ("b[i].x > b[1].x", "b take"),
        ("b[2].x > a.x", "b take"),
        ("count(b[..i-1].x) < 3", "b take"),
        ("b[LEN].x > a.x", "b proceed"),
        ("b.LEN > 2", "b proceed"),
        ("b[i].x < avg(b[].x)", "b proceed"),
        ("b[i].x > c.x", "c begin"),
        ("b.LEN > c.x", "c begin"),
        ("1 = 2", "nowhere"),
    ],
)
def test_a_condition_is_placed_at_its_last_identifier(condition: str, place: str) -> None:
    pattern = "PATTERN SEQ(A a, B+ b[], C c)"
    assert list(placed(f"{pattern} WHERE {condition}").values()) == [place]


def test_the_parts_of_a_condition_are_placed_apart() -> None:
    assert placed("PATTERN SEQ(A a, B b, C c) WHERE a.x = 1 OR (b.x = 2 AND c.x = 3)") == {
        "a.x = 1 OR b.x = 2": "b begin",
        "a.x = 1 OR c.x = 3": "c begin",
    }


LATE = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match {{ {} }}"


def test_under_skip_till_next_match_the_parts_of_a_condition_stay_together() -> None:
    condition = "a.x = 1 OR (b.x = 2 AND c.x = 3)"
    assert placed(LATE.format(condition)) == {
        "a.x = 1 OR b.x = 2": "c begin",
        "a.x = 1 OR c.x = 3": "c begin",
    }
    # Tested apart, the first part would make the run wait for the second b.
    stream = "a(x=0) b1(x=0) b2(x=2) c(x=3)"
    assert matches(LATE.format(condition), stream) == set()
    apart = "(a.x = 1 OR b.x = 2) AND (a.x = 1 OR c.x = 3)"
    assert matches(LATE.format(apart), stream) == {"a b2 c"}


@pytest.mark.parametrize(
    ("condition", "ranges", "least_lengths"),
    [
        ("b[i].x > 1", {"b": 1}, {}),
        ("b[i].x > b[i-1].x", {"b": 2}, {}),
        ("b[i-1].x > 1", {"b": 2}, {}),
        ("b[i].x > avg(b[..i-1].x)", {"b": 2}, {}),
        ("b[i].x > avg(b[].x)", {"b": 1}, {}),
        ("b[3].x > 1", {}, {"b": 3}),
        ("b[3].x > b[5].x", {}, {"b": 5}),
        ("b[i].x > b[2].x", {"b": 1}, {"b": 2}),
        ("b[i].x > c[i-1].x", {"b": 1, "c": 2}, {}),
        ("b[1].x > c[LEN].x", {}, {"b": 1}),
        ("a.x = 1", {}, {}),
    ],
)
def test_ranges_and_least_lengths(
    condition: str, ranges: dict[str, int], least_lengths: dict[str, int]
) -> None:
    clause = only_clause(f"PATTERN SEQ(A a, B+ b[], C+ c[]) WHERE {condition}")
    assert clause.ranges == ranges
    assert clause.least_lengths == least_lengths


def test_a_clause_that_would_lose_its_range_keeps_that_of_the_condition() -> None:
    # For a single b the condition is true, whatever c is; so both clauses must be.
    text = "PATTERN SEQ(B+ b[], C c) WHERE (b[i].x > b[i-1].x AND c.y = 3) OR c.z = 1"
    [alternative] = analyse(parse(text)).alternatives
    assert [clause.ranges for clause in alternative.clauses] == [{"b": 2}, {"b": 2}]
    assert all(clause.variables == {"b", "c"} for clause in alternative.clauses)


def test_a_length_that_no_clause_names_any_more_is_kept() -> None:
    clause = only_clause(
        "PATTERN SEQ(B+ b[], C c) WHERE c.x = 1 OR (c.x = 1 AND b[3].x = 2)",
    )
    assert clause.literals == only_clause("PATTERN SEQ(B+ b[], C c) WHERE c.x = 1").literals
    assert clause.least_lengths == {"b": 3}


def test_a_condition_with_too_many_clauses_is_tested_as_a_whole() -> None:
    pairs = " OR ".join(f"(a.x{n} = 1 AND b.x{n} = 1)" for n in range(7))
    clause = only_clause(f"PATTERN SEQ(A a, B b) WHERE {pairs}")
    assert MAX_CLAUSES < 2**7
    assert isinstance(clause.expression, ast.Or)
    assert clause.component_ix == 1


# --- clauses mean what their condition means

_PATTERN = parse("PATTERN SEQ(A a, B+ b[], C+ c[])").pattern
_COMPONENTS = [component for component, _ in ast.components(_PATTERN)]
_LEAVES = [
    ast.Attribute("a", "x"),
    *(
        ast.Element(variable, index, "x")
        for variable in "bc"
        for index in (1, 2, 3, ast.Index.CURRENT, ast.Index.PREVIOUS, ast.Index.LAST)
    ),
    ast.Length("b"),
    ast.Aggregate("max", "b", ast.Scope.PRIOR, "x"),
    ast.Aggregate("max", "c", ast.Scope.WHOLE, "x"),
    ast.Literal(1),
]
_predicates = st.builds(
    ast.Comparison, st.sampled_from(["=", "<"]), st.sampled_from(_LEAVES), st.sampled_from(_LEAVES)
)


def _joined(parts: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(ast.Not), several.map(ast.And), several.map(ast.Or))


conditions = st.recursive(_predicates, _joined, max_leaves=5)
_values = st.dictionaries(st.just("x"), st.sampled_from([0, 1, 2, None]))
_lists = st.lists(_values, min_size=1, max_size=3)


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
    rows = [draw(_values), draw(_lists), draw(_lists)]
    return {
        component.variable: [Event(0, 0, "E", row) for row in values]
        if isinstance(values, list)
        else Event(0, 0, "E", values)
        for component, values in zip(_COMPONENTS, rows, strict=True)
    }


def satisfied(clause: Clause, binding: Binding) -> bool:
    """A clause as its description says it is tested."""
    for variable, length in clause.least_lengths.items():
        if len(list_of(binding, variable)) < length:
            return False
    ranges = [
        range(first, len(list_of(binding, variable)) + 1)
        for variable, first in clause.ranges.items()
    ]
    return all(
        Interpreter(binding, dict(zip(clause.ranges, i, strict=True))).truth(clause.expression)
        is True
        for i in product(*ranges)
    )


@given(conditions, bindings(), st.booleans())
@example(
    condition=parse(
        "PATTERN SEQ(A a, B+ b[]) WHERE (b[i].x < b[i-1].x AND a.x = 0) OR a.x = 2"
    ).condition,
    binding={"a": Event(0, 0, "A", {"x": 1}), "b": [Event(1, 1, "B", {"x": 1})]},
    apart=True,
)
def test_clauses_hold_together_when_the_conditionholds(
    condition: ast.Expression, binding: Binding, apart: bool
) -> None:
    found = place_clauses(condition, _COMPONENTS, apart=apart)
    assert all(satisfied(clause, binding) for clause in found) is holds(condition, binding)


@given(conditions, st.booleans())
def test_what_a_clause_speaks_of_is_bound_where_it_is_tested(
    condition: ast.Expression, apart: bool
) -> None:
    order = [(ix, edge) for ix in range(3) for edge in Edge]
    first = {variable: order.index((ix, Edge.BEGIN)) for ix, variable in enumerate("abc")}
    for clause in place_clauses(condition, _COMPONENTS, apart=apart):
        if clause.component_ix is None:
            assert not clause.variables
            continue
        here = order.index((clause.component_ix, clause.edge))
        assert all(first[variable] <= here for variable in clause.variables)
        for variable in {*clause.ranges, *(v for v, n in clause.least_lengths.items() if n > 1)}:
            assert first[variable] + 1 <= here


@given(conditions)
def test_together_all_clauses_have_the_place_of_the_last(condition: ast.Expression) -> None:
    found = place_clauses(condition, _COMPONENTS, apart=False)
    assert len({(clause.component_ix, clause.edge) for clause in found}) == 1
