"""Conditions in normal form.

A *condition* is a conjunct of WHERE with NOT pushed down to the predicates. Within one condition
``a[i]`` ranges over all i. To test as early as possible, a condition is split further into the
clauses of its conjunctive normal form [Agrawal08 §3.2, step 2].
"""

from __future__ import annotations

from itertools import product

from cepheid.language import syntax as ast

MAX_CLAUSES = 64
"""A condition with a larger normal form is tested as a whole."""


def conjuncts(node: ast.Expression | None) -> list[ast.Expression]:
    """The conditions of WHERE.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN A a WHERE NOT (a.x > 1 OR NOT a.y = 2) AND a.z < 3")
    >>> len(conjuncts(query.condition))
    3
    """
    if node is None:
        return []
    normal = push_not(node)
    return list(normal.operands) if isinstance(normal, ast.And) else [normal]


def push_not(node: ast.Expression, positive: bool = True) -> ast.Expression:
    """The node, or its negation, with NOT only directly above predicates."""
    match node:
        case ast.Not(operand):
            return push_not(operand, not positive)
        case ast.And(operands) | ast.Or(operands):
            kind = ast.And if isinstance(node, ast.And) is positive else ast.Or
            return ast.joined(kind, [push_not(each, positive) for each in operands], node.span)
    return node if positive else ast.Not(node, span=node.span)


def clauses(condition: ast.Expression) -> list[tuple[ast.Expression, ...]]:
    """The conjunctive normal form: each clause is a disjunction of literals.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN A a WHERE a.x = 1 OR (a.y = 2 AND a.z = 3)")
    >>> [len(clause) for clause in clauses(query.condition)]
    [2, 2]
    """
    normal = _clauses(push_not(condition))
    if normal is None:
        return [(condition,)]
    unique: dict[frozenset[ast.Expression], tuple[ast.Expression, ...]] = {}
    for clause in normal:
        unique.setdefault(frozenset(clause), tuple(dict.fromkeys(clause)))
    # A clause that another one implies is redundant.
    return [clause for key, clause in unique.items() if not any(other < key for other in unique)]


def _clauses(node: ast.Expression) -> list[tuple[ast.Expression, ...]] | None:
    """As ``clauses``, or None if there would be too many."""
    if not isinstance(node, ast.And | ast.Or):
        return [(node,)]
    is_and = isinstance(node, ast.And)
    result: list[tuple[ast.Expression, ...]] = [] if is_and else [()]
    for operand in node.operands:
        part = _clauses(operand)
        if part is None:
            return None
        if (len(result) + len(part) if is_and else len(result) * len(part)) > MAX_CLAUSES:
            return None
        pairs = product(result, part)
        result = [*result, *part] if is_and else [(*left, *right) for left, right in pairs]
    return result


def predicates(condition: ast.Expression) -> list[ast.Expression]:
    """The tests that a condition combines with AND, OR and NOT."""
    match condition:
        case ast.Not(operand):
            return predicates(operand)
        case ast.And(operands) | ast.Or(operands):
            return [test for operand in operands for test in predicates(operand)]
    return [condition]
