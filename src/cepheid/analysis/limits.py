"""Checks the size of queries before they are analysed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from cepheid.analysis.alternatives import count_alternatives
from cepheid.analysis.normal_form import MAX_CLAUSES, conjuncts, predicates
from cepheid.language import syntax as ast
from cepheid.language.limits import Limits

_Size = tuple[int, int, int]
"""The number of clauses of a normal form, of their literals, and of the terms in those."""


def check_limits(queries: Sequence[ast.Query], limits: Limits) -> None:
    """Refuse queries that would take long to analyse.

    Raises:
        LimitError: a query, or all of them together, exceed a limit.
    """
    advice = "Split the query."
    limits.check("queries", len(queries), "the script has too many queries", "Split the script.")
    expanded = 0
    for query in queries:
        limits.check("depth", _depth(query), "the query is nested too deeply", advice)
        count = sum(1 for _ in ast.components(query.pattern))
        limits.check("components", count, "the pattern has too many components", advice)
        alternatives = count_alternatives(query.pattern)
        limits.check(
            "alternatives",
            alternatives,
            "the pattern has too many alternatives",
            f"Every OR and every star multiplies them. {advice}",
        )
        _, tests, terms = _sum(map(_normal_form, conjuncts(query.condition)))
        limits.check("tests", tests, "WHERE has too many tests", advice)
        limits.check("terms", terms, "the conditions of WHERE are too long", advice)
        expanded += _expanded_components(query.pattern) + alternatives * terms
    limits.check(
        "expanded",
        expanded,
        "the alternatives of the pattern have too many components and terms",
        f"Every OR and every star multiplies them. {advice}",
    )


def _depth(query: ast.Query) -> int:
    level: list[ast.Node] = [query]
    depth = -1
    while level:
        depth += 1
        level = [child for node in level for child in node.children()]
    return depth


def _expanded_components(pattern: ast.Pattern) -> int:
    """The number of components in all alternatives together."""
    match pattern:
        case ast.Component(without=without):
            return 1 + len(without)
        case ast.Negation():
            return 1
        case ast.Disjunction(parts):
            return sum(map(_expanded_components, parts))
        case ast.Sequence(parts) | ast.Conjunction(parts):
            count = count_alternatives(pattern)
            return sum(
                count // count_alternatives(part) * _expanded_components(part) for part in parts
            )


def _normal_form(condition: ast.Expression) -> _Size:
    """The size of the conjunctive normal form of a condition, without building it."""
    if not isinstance(condition, ast.And | ast.Or):
        return 1, 1, _count(condition)
    parts = list(map(_normal_form, condition.operands))
    size = _sum(parts) if isinstance(condition, ast.And) else _product(parts)
    if size[0] > MAX_CLAUSES:  # It is tested as a whole.
        return size[0], len(predicates(condition)), _count(condition)
    return size


def _count(expression: ast.Expression) -> int:
    return sum(1 for _ in expression.walk())


def _sum(parts: Iterable[_Size]) -> _Size:
    clauses, literals, terms = zip((0, 0, 0), *parts, strict=True)
    return sum(clauses), sum(literals), sum(terms)


def _product(parts: Sequence[_Size]) -> _Size:
    """The size of all combinations of a clause from each part."""
    count = prod(each for each, _, _ in parts)
    literals = sum(count // each * own for each, own, _ in parts)
    return count, literals, sum(count // each * own for each, _, own in parts)
