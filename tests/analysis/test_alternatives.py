"""OR and star multiplied out, and which component comes before which."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.alternatives import Outline, count_alternatives, outlines
from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.reference.flat_patterns import expand


def shown(pattern: str) -> list[str]:
    """The alternatives as variables, ``~`` before a negated one."""
    return [
        " ".join(
            f"~{component.variable}" if ix in outline.negated else component.variable
            for ix, component in enumerate(outline.components)
        )
        for outline in outlines(parse(f"PATTERN {pattern}").pattern)
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A a", ["a"]),
        ("SEQ(A a, B b)", ["a b"]),
        ("OR(A a, B b)", ["a", "b"]),
        ("OR(A a, A a)", ["a"]),
        ("OR(A a, OR(B b, C c))", ["a", "b", "c"]),
        ("SEQ(A a, OR(B b, C c), D d)", ["a b d", "a c d"]),
        ("SEQ(OR(A a, B b), OR(C c, D d))", ["a c", "a d", "b c", "b d"]),
        ("SEQ(A a, B* b[])", ["a", "a b"]),
        ("SEQ(A a, B{0,2} b[], C c)", ["a c", "a b c"]),
        ("A* a[]", ["a"]),
        ("SEQ(A* a[], B* b[])", ["b", "a", "a b"]),
        ("OR(A* a[], B* b[])", ["a", "b"]),
        ("SEQ(A a, ~(B b), C c)", ["a ~b c"]),
        ("SEQ(A* a[], ~(B b))", ["a ~b"]),
        ("SEQ(A a, OR(~(B b), C c), D d)", ["a ~b d", "a c d"]),
        ("AND(A a, SEQ(B b, OR(C c, D* d[])))", ["a b c", "a b", "a b d"]),
    ],
)
def test_a_pattern_has_these_alternatives(pattern: str, expected: list[str]) -> None:
    assert shown(pattern) == expected


def test_a_star_that_is_there_has_at_least_one_event() -> None:
    [_, with_b] = outlines(parse("PATTERN SEQ(A a, B{0,2} b[])").pattern)
    assert with_b.components[1].bounds == ast.Bounds(1, 2)


def before(pattern: str) -> set[str]:
    [outline] = outlines(parse(f"PATTERN {pattern}").pattern)
    names = [component.variable for component in outline.components]
    return {f"{names[i]}<{names[j]}" for i, j in outline.before}


def test_sequences_order_all_events_and_conjunctions_none() -> None:
    assert before("SEQ(A a, B b, C c)") == {"a<b", "a<c", "b<c"}
    assert before("AND(A a, B b, C c)") == set()
    assert before("AND(SEQ(A a, B b), C c)") == {"a<b"}
    assert before("SEQ(A a, AND(B b, C c), D d)") == {"a<b", "a<c", "a<d", "b<d", "c<d"}
    assert before("SEQ(AND(A a, ~(B b)), C c)") == {"a<c", "b<c"}


_bounds = st.sampled_from([None, None, ast.Bounds(1, None), ast.Bounds(0, None), ast.Bounds(0, 2)])
_leaves = st.one_of(
    st.builds(ast.Component, st.just(("A",)), st.just(""), _bounds),
    st.builds(ast.Component, st.just(("A",)), st.just("")).map(ast.Negation),
)


def _composites(parts: st.SearchStrategy[ast.Pattern]) -> st.SearchStrategy[ast.Pattern]:
    kinds = st.sampled_from([ast.Sequence, ast.Conjunction, ast.Disjunction])
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(lambda kind, parts: kind(parts), kinds, several)


def _numbered(pattern: ast.Pattern) -> ast.Pattern:
    count = 0

    def named(node: ast.Node) -> ast.Node:
        nonlocal count
        if not isinstance(node, ast.Component):
            return node
        count += 1
        return ast.Component(node.types, f"v{count}", node.bounds)

    return ast.rewrite(pattern, named)


patterns = st.recursive(_leaves, _composites, max_leaves=7).map(_numbered)


@given(patterns)
def test_alternatives_are_those_of_the_reference(pattern: ast.Pattern) -> None:
    expected = {
        (_names(flat.positives), _names(flat.negatives), flat.before)
        for flat in expand(pattern)
        if flat.positives
    }
    found = [_described(outline) for outline in outlines(pattern)]
    assert set(found) == expected
    assert len(found) == len(expected)


@given(patterns)
def test_alternatives_are_counted_without_being_built(pattern: ast.Pattern) -> None:
    assert count_alternatives(pattern) == len(expand(pattern))
    assert len(outlines(pattern)) <= count_alternatives(pattern)


@given(patterns)
def test_the_order_of_an_alternative_is_transitive(pattern: ast.Pattern) -> None:
    for outline in outlines(pattern):
        pairs = outline.before
        assert all((i, k) in pairs for i, j in pairs for other, k in pairs if j == other)
        assert all(i < j for i, j in pairs)


def _names(components: Iterable[ast.Component]) -> tuple[str, ...]:
    return tuple(component.variable for component in components)


def _described(
    outline: Outline,
) -> tuple[tuple[str, ...], tuple[str, ...], frozenset[tuple[str, str]]]:
    names = _names(outline.components)
    return (
        tuple(name for ix, name in enumerate(names) if ix not in outline.negated),
        tuple(name for ix, name in enumerate(names) if ix in outline.negated),
        frozenset((names[i], names[j]) for i, j in outline.before),
    )
