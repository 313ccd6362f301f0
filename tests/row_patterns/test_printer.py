"""Parsing what is printed gives an equal clause."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.parser import parse
from cepheid.row_patterns.printer import print_clause

VARIABLES = ["A", "B", "UP", "lower", "two words", "FIRST", "AND", 'say "x"', "Ä"]
names = st.builds(
    rows.Name,
    st.sampled_from(["x", "Price", "running", "final", "match", "tür"]),
    st.booleans(),
) | st.builds(rows.Name, st.sampled_from(["two words", 'a"b', "order"]), st.just(True))

literals = st.builds(
    ast.Literal,
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text("a'\"%é", max_size=3)
    | st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
amounts = st.decimals("0.001", "10000", places=3).map(Fraction)
durations = st.builds(ast.Duration, amounts, st.sampled_from(["seconds", "days", "milliseconds"]))
offsets = st.integers(0, 3)
semantics = st.none() | st.sampled_from(rows.Semantics)


def patterns(variables: st.SearchStrategy[str]) -> st.SearchStrategy[rows.Pattern]:
    leaves = st.builds(rows.Variable, variables) | st.sampled_from(
        [rows.Empty(), *map(rows.Anchored, rows.Anchor)]
    )

    def larger(part: st.SearchStrategy[rows.Pattern]) -> st.SearchStrategy[rows.Pattern]:
        several = st.lists(part, min_size=2, max_size=3).map(tuple)
        bounds = st.tuples(st.integers(0, 3), st.none() | st.integers(1, 3)).map(
            lambda each: (each[0], None if each[1] is None else each[0] + each[1])
        )
        return st.one_of(
            st.builds(rows.Concatenation, several),
            st.builds(rows.Alternation, several),
            st.builds(rows.Permutation, st.lists(part, min_size=1, max_size=3).map(tuple)),
            st.builds(rows.Exclusion, part),
            st.builds(
                lambda each, limits, greedy: rows.Quantified(each, *limits, greedy),
                part, bounds, st.booleans(),
            ),
        )  # fmt: skip

    return st.recursive(leaves, larger, max_leaves=8)


def at_a_row(variable: str | None) -> st.SearchStrategy[ast.Node]:
    """An expression over the rows of one variable."""
    column = st.builds(rows.Column, st.just(variable), names)
    other = column | st.just(rows.Classifier(variable))
    return other | st.builds(ast.Arithmetic, st.sampled_from("+-*/%"), other, literals)


def of_rows(variable: str | None) -> st.SearchStrategy[ast.Node]:
    """A navigation or an aggregate."""
    operand, own = at_a_row(variable), st.just(variable)
    logical = st.builds(
        rows.Logical, st.sampled_from(["FIRST", "LAST"]), operand, own, offsets, semantics
    )
    physical = st.sampled_from(["PREV", "NEXT"])
    aggregate = st.sampled_from(["sum", "count", "median"])
    return st.one_of(
        logical,
        st.builds(rows.Physical, physical, operand | logical, own, offsets),
        st.builds(rows.Aggregate, aggregate, operand, own, st.booleans(), semantics),
        st.builds(rows.Aggregate, st.just("count"), st.none(), own, semantics=semantics),
    )


def expressions(variables: list[str]) -> st.SearchStrategy[ast.Node]:
    qualifier = st.none() | st.sampled_from(variables)
    leaves = st.one_of(
        literals, durations, st.just(rows.MatchNumber()), qualifier.flatmap(at_a_row),
        qualifier.flatmap(of_rows),
    )  # fmt: skip

    def larger(part: st.SearchStrategy[ast.Node]) -> st.SearchStrategy[ast.Node]:
        several = st.lists(part, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(ast.Arithmetic, st.sampled_from("+-*/%"), part, part),
            st.builds(ast.Comparison, st.sampled_from(["=", "!=", "<", ">="]), part, part),
            st.builds(ast.Not, part.filter(lambda each: not isinstance(each, ast.Not))),
            st.builds(ast.IsNull, part),
            st.builds(ast.Like, part, st.text("a%_'", max_size=3)),
            st.builds(ast.In, part, several),
            st.builds(ast.Between, part, part, part),
            st.builds(ast.Call, st.just("coalesce"), several),
            st.builds(
                ast.Case, st.lists(st.tuples(part, part), min_size=1, max_size=2).map(tuple), part
            ),
            st.lists(part, min_size=2, max_size=3).map(lambda each: ast.joined(ast.And, each)),
            st.lists(part, min_size=2, max_size=3).map(lambda each: ast.joined(ast.Or, each)),
        )

    return st.recursive(leaves, larger, max_leaves=5)


@st.composite
def clauses(draw: st.DrawFn) -> rows.Clause:
    variables = draw(st.lists(st.sampled_from(VARIABLES), min_size=2, max_size=3, unique=True))
    pattern = draw(patterns(st.sampled_from(variables)))
    pattern = rows.Concatenation((pattern, *map(rows.Variable, variables)))
    value = expressions(variables)
    final = rows.Semantics.FINAL
    running = value.filter(
        lambda tree: all(getattr(each, "semantics", None) is not final for each in tree.walk())
    )
    measures = draw(st.lists(st.builds(rows.Measure, value, names), max_size=2))
    keys = [measure.name.key for measure in measures]
    skips = st.sampled_from([rows.SkipMode.TO_FIRST, rows.SkipMode.TO_LAST])
    plain = st.sampled_from([rows.SkipMode.PAST_LAST_ROW, rows.SkipMode.TO_NEXT_ROW])
    kinds = [rows.Rows.ONE, rows.Rows.ALL, rows.Rows.ALL_OMIT_EMPTY]
    items = draw(
        st.lists(st.builds(rows.SortItem, names, st.booleans(), st.booleans()), max_size=2)
    )
    is_timed = bool(items) and items[0].is_ascending
    return rows.Clause(
        pattern,
        tuple(draw(st.lists(names, max_size=2))),
        tuple(items),
        tuple(measures) if len(set(keys)) == len(keys) else (),
        draw(st.sampled_from(kinds)),
        draw(st.builds(rows.Skip, plain)
             | st.builds(rows.Skip, skips, st.sampled_from(variables))),
        draw(st.none() | durations) if is_timed else None,
        (rows.Subset("SOME", tuple(variables[:2])),) if draw(st.booleans()) else (),
        tuple(rows.Definition(name, draw(running)) for name in variables[: draw(offsets)]),
        tuple(draw(st.lists(names, max_size=2))),
        draw(st.none() | names),
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(clauses())
def test_printing_and_parsing_give_the_same_clause(clause):
    printed = print_clause(clause)
    again = parse(printed)
    assert again == clause, printed
    assert print_clause(again) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(((A)))", "A"),
        ("A (B C)", "A (B C)"),
        ("(A | B) | C", "(A | B) | C"),
        ("(A*)?", "(A*)?"),
        ("(A B)*?", "(A B)*?"),
        ("A{0,}", "A*"),
        ("A{1,}?", "A+?"),
        ("A{0,1}", "A?"),
        ("A{2,2}", "A{2}"),
        ("{-A B-}", "{- A B -}"),
        ("permute(a,(b|c))", "PERMUTE(A, B | C)"),
        ("", "()"),
    ],
)
def test_patterns_are_printed_plainly(text, printed):
    clause = parse(f"MATCH_RECOGNIZE (PATTERN ({text}))")
    assert f"PATTERN ({printed})" in print_clause(clause)
