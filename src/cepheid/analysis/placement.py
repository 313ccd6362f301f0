"""Places each clause of a condition at its last identifier [Agrawal08 §3.2]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.model import Clause, Edge
from cepheid.analysis.normal_form import clauses
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in

_EDGES = (Edge.BEGIN, Edge.TAKE, Edge.PROCEED)


@dataclass(frozen=True, slots=True)
class Indices:
    """What an expression needs of Kleene variables: the first i, and the least lengths."""

    ranges: Mapping[str, int]
    least_lengths: Mapping[str, int]

    @property
    def may_be_empty(self) -> set[str]:
        """The variables without any i if they have one event, so that the test is true."""
        return {variable for variable, first in self.ranges.items() if first > 1}


def place_clauses(
    condition: ast.Expression, components: Sequence[ast.Component], *, apart: bool = True
) -> list[Clause]:
    """The clauses of a condition, each with the place in pattern order where it is bound.

    A clause is bound when all events that it names are. Without ``apart``, or if the clauses on
    their own would not mean the same as the condition, all clauses have the place and the indices
    of the whole condition.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, B b) WHERE a.x = 1 OR (a.y = 2 AND b.z = 3)")
    >>> components = [component for component, _ in ast.components(query.pattern)]
    >>> [clause.component_ix for clause in place_clauses(query.condition, components)]
    [0, 1]
    """
    places = {component.variable: ix for ix, component in enumerate(components)}
    parts = clauses(condition)
    own = [indices_in(literals) for literals in parts]
    whole = indices_in([condition])
    apart = apart and _is_faithful(own, whole)
    placed = []
    for literals, indices in zip(parts, own if apart else [whole] * len(parts), strict=True):
        named = {name for literal in literals for name in variables_in(literal)}
        last = _last_identifier(literals if apart else [condition], places)
        variables = named.union(indices.ranges, indices.least_lengths)
        placed.append(
            Clause(literals, frozenset(variables), indices.ranges, indices.least_lengths, *last)
        )
    return placed


def indices_in(expressions: Iterable[ast.Expression]) -> Indices:
    """What these expressions together need of Kleene variables."""
    ranges: dict[str, int] = {}
    least_lengths: dict[str, int] = {}
    for expression in expressions:
        for node in expression.walk():
            match node:
                case ast.Element(variable, ast.Index.CURRENT, _):
                    ranges.setdefault(variable, 1)
                case ast.Element(variable, ast.Index.PREVIOUS, _):
                    ranges[variable] = 2
                case ast.Aggregate(_, variable, ast.Scope.PRIOR, _):
                    ranges[variable] = 2
                case ast.Element(variable, int(index), _):
                    least_lengths[variable] = max(index, least_lengths.get(variable, 1))
    return Indices(ranges, least_lengths)


def _is_faithful(parts: list[Indices], whole: Indices) -> bool:
    """Whether the clauses on their own, taken together, mean the same as the condition.

    A condition on a[i-1] is true for a list of one event, and a condition on a[k] is false for a
    list of fewer than k events. A clause without the a[i-1] would be too strict, and clauses that
    all lack the a[k] would be too weak.
    """
    lengths: dict[str, int] = {}
    for part in parts:
        for variable, length in part.least_lengths.items():
            lengths[variable] = max(length, lengths.get(variable, 1))
    same_range = all(part.may_be_empty == whole.may_be_empty for part in parts)
    return same_range and lengths == whole.least_lengths


def _last_identifier(
    literals: Iterable[ast.Expression], places: Mapping[str, int]
) -> tuple[int | None, Edge]:
    """The component and edge at which the last event that the literals refer to is bound."""
    bound = [
        (places[node.variable], _EDGES.index(_edge(node)))
        for literal in literals
        for node in literal.walk()
        if isinstance(node, ast.Attribute | ast.Element | ast.Length | ast.Aggregate)
        and node.variable in places
    ]
    if not bound:
        return None, Edge.BEGIN
    component_ix, edge_ix = max(bound)
    return component_ix, _EDGES[edge_ix]


def reads_whole_list(expression: ast.Expression, variable: str) -> bool:
    """Whether an expression can be tested only after the list of the variable is complete."""
    return any(
        isinstance(node, ast.Element | ast.Length | ast.Aggregate)
        and node.variable == variable
        and _edge(node) is Edge.PROCEED
        for node in expression.walk()
    )


def _edge(node: ast.Attribute | ast.Element | ast.Length | ast.Aggregate) -> Edge:
    match node:
        case ast.Attribute() | ast.Element(_, 1, _):
            return Edge.BEGIN
        case ast.Element(_, ast.Index.LAST, _) | ast.Length():
            return Edge.PROCEED
        case ast.Aggregate(_, _, ast.Scope.WHOLE, _):
            return Edge.PROCEED
    return Edge.TAKE
