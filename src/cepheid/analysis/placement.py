"""Where each clause of a condition is tested: at its last identifier [Agrawal08 §3.2]."""

from __future__ import annotations

from cepheid.analysis.model import Clause, Edge
from cepheid.analysis.normal_form import clauses
from cepheid.analysis.scopes import variables_in
from cepheid.language import syntax as ast

_EDGES = (Edge.BEGIN, Edge.TAKE, Edge.PROCEED)


def place_clauses(
    condition: ast.Expression, components: tuple[ast.Component, ...]
) -> list[Clause]:
    """The clauses of a condition, each with the place in pattern order where it is bound.

    What i ranges over and how long a variable must be is a matter of the whole condition;
    every clause of it inherits that.
    """
    ranges: dict[str, int] = {}
    least: dict[str, int] = {}
    for node in condition.walk():
        match node:
            case ast.Element(variable, ast.Index.CURRENT, _):
                ranges.setdefault(variable, 1)
            case (
                ast.Element(variable, ast.Index.PREVIOUS, _)
                | ast.Aggregate(_, variable, ast.Scope.PRIOR, _)
            ):
                ranges[variable] = 2
            case ast.Element(variable, int(index), _):
                least[variable] = max(index, least.get(variable, 1))
    places = {component.variable: ix for ix, component in enumerate(components)}
    placed = []
    for literals in clauses(condition):
        named = frozenset().union(*(variables_in(literal) for literal in literals))
        component_ix, edge = _last_identifier(literals, places, components)
        placed.append(
            Clause(
                literals,
                named,
                {name: start for name, start in ranges.items() if name in named},
                {name: length for name, length in least.items() if name in named},
                component_ix,
                edge,
            )
        )
    return placed


def _last_identifier(
    literals: tuple[ast.Expression, ...],
    places: dict[str, int],
    components: tuple[ast.Component, ...],
) -> tuple[int | None, Edge]:
    last: tuple[int, int] | None = None
    for literal in literals:
        for node in literal.walk():
            variable = getattr(node, "variable", None)
            if variable in places:
                place = (places[variable], _EDGES.index(_edge(node)))
                last = place if last is None or place > last else last
    if last is None:
        return None, Edge.BEGIN
    return last[0], _EDGES[last[1]]


def _edge(node: ast.Node) -> Edge:
    match node:
        case ast.Element(_, 1, _) | ast.Attribute():
            return Edge.BEGIN
        case ast.Element(_, ast.Index.LAST, _) | ast.Length():
            return Edge.PROCEED
        case ast.Aggregate(_, _, ast.Scope.WHOLE, _):
            return Edge.PROCEED
    return Edge.TAKE
