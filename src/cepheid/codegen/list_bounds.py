"""Conditions on every event of a list that are tested later, by its minimum and maximum.

An NFA^b reads the events of a Kleene component one by one and keeps only registers. The condition
``a[i].x < b.x`` is about all of them, and can be tested only when b is known. It holds exactly if
the maximum of a[i].x is less than b.x and no a[i].x is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.analysis.model import Clause, Edge
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

_BOUNDS = {"<": ("max",), "<=": ("max",), ">": ("min",), ">=": ("min",), "=": ("min", "max")}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def by_bounds(
    clause: Clause, components: Sequence[ast.Component], schema: Schema
) -> Iterator[Clause]:
    """Equivalent clauses that use the bounds of lists that are complete when they are tested.

    >>> from cepheid.analysis.placement import place_clauses
    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_expression
    >>> query = parse("PATTERN SEQ(A+ a[], B b) WHERE a[i].x < b.x")
    >>> components = [component for component, _ in ast.components(query.pattern)]
    >>> (clause,) = place_clauses(query.condition, components)
    >>> schema = Schema.declared({"A": {"x": "integer"}, "B": {"x": "integer"}})
    >>> for bound in by_bounds(clause, components, schema):
    ...     print(print_expression(bound.expression, query))
    max(a[].x) < b.x
    count(a[].x) = count(a[])
    """
    here = None
    if clause.component_ix is not None and clause.edge is Edge.TAKE:
        here = components[clause.component_ix].variable
    for variable, first in clause.ranges.items():
        if variable == here or first != 1 or len(clause.literals) != 1:
            continue
        bounded = _bounded(clause.literals[0], variable, schema)
        if bounded:
            ranges = {name: start for name, start in clause.ranges.items() if name != variable}
            for literal in bounded:
                yield from by_bounds(
                    replace(clause, literals=(literal,), ranges=ranges), components, schema
                )
            return
    yield clause


def _bounded(literal: ast.Expression, variable: str, schema: Schema) -> list[ast.Expression]:
    """The conditions on the bounds of a list that hold if all its events satisfy the literal."""
    match literal:
        case ast.Comparison(operator, ast.Element(v, ast.Index.CURRENT, attribute), other):
            pass
        case ast.Comparison(operator, other, ast.Element(v, ast.Index.CURRENT, attribute)):
            operator = _TURNED.get(operator, operator)
        case _:
            return []
    is_also_there = any(
        isinstance(node, ast.Element) and (node.variable, node.index) == (v, ast.Index.CURRENT)
        for node in other.walk()
    )
    if v != variable or is_also_there or operator not in _BOUNDS:
        return []
    kind = schema.kind(attribute)
    if kind is Kind.LIST or (kind is Kind.STRING and operator == "="):
        return []
    whole = ast.Scope.WHOLE
    found: list[ast.Expression] = [
        ast.Comparison(operator, ast.Aggregate(bound, v, whole, attribute), other)
        for bound in _BOUNDS[operator]
    ]
    known, count = (ast.Aggregate("count", v, whole, name) for name in (attribute, None))
    return [*found, ast.Comparison("=", known, count)]
