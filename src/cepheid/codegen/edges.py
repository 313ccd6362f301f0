"""The edges of an NFA^b and their conditions [Agrawal08 §3.2].

This is the one description of an automaton: :mod:`cepheid.codegen.sequences` compiles it into the
tables that kernels run, and :mod:`cepheid.explain` prints and draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge
from cepheid.codegen.layout import MAX_REGISTERS, UNBOUNDED
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

_BOUNDS = {"<": ("max",), "<=": ("max",), ">": ("min",), ">=": ("min",), "=": ("min", "max")}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class EventUnit:
    """A unit of the match buffer, such as ``a``, ``b[1]``, ``b[i]`` or ``b[LEN]``."""

    component: ast.Component
    index: int | ast.Index | None

    def attribute(self, name: str) -> ast.Attribute | ast.Element:
        """An attribute of the unit, as an expression."""
        if self.index is None:
            return ast.Attribute(self.component.variable, name)
        return ast.Element(self.component.variable, self.index, name)


def first_event(component: ast.Component) -> EventUnit:
    """The event that begins a component."""
    return EventUnit(component, 1 if component.is_kleene else None)


def current_event(component: ast.Component) -> EventUnit:
    """Any event of a component."""
    return EventUnit(component, ast.Index.CURRENT if component.is_kleene else None)


def last_event(component: ast.Component) -> EventUnit:
    """The event that ends a component."""
    return EventUnit(component, ast.Index.LAST if component.is_kleene else None)


@dataclass(frozen=True, slots=True)
class ComponentEdges:
    """A component, the number of events it takes, and the clauses that its edges test.

    ``begin`` holds for the first event and ``take`` for each later one. ``proceed`` holds for the
    complete component. Kernels have no proceed edge: they test its clauses together with the
    begin edge of the next component, or when the run ends. ``entry`` are the clauses that they
    test on the first event: ``begin`` and the previous ``proceed``, in query order. Snapshots
    depend on that order, which numbers the registers.
    """

    component: ast.Component
    least: int
    most: int
    entry: tuple[Clause, ...]
    begin: tuple[Clause, ...]
    take: tuple[Clause, ...]
    proceed: tuple[Clause, ...]


def edges_of(query: AnalysedQuery, alternative: Alternative) -> tuple[ComponentEdges, ...]:
    """The edges of each component of a sequence.

    Step 2 of the paper: a clause is on the edge of its last identifier. A clause on every event
    of a Kleene component is on the begin edge too.
    """
    clauses = alternative.clauses
    # Under skip_till_any_match a lazy automaton, which binds lists last, runs such queries faster.
    if (
        query.schema is not None
        and query.query.strategy is not ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
    ):
        clauses = tuple(
            bound
            for clause in clauses
            for bound in by_bounds(clause, alternative.components, query.schema)
        )
    clauses = tuple(
        each for clause in clauses for each in by_numbers(clause, alternative.components)
    )
    return tuple(
        _edges_of(ix, alternative.components, clauses) for ix in range(len(alternative.components))
    )


def _edges_of(
    ix: int, components: tuple[ast.Component, ...], clauses: tuple[Clause, ...]
) -> ComponentEdges:
    component = components[ix]
    own = [clause for clause in clauses if clause.component_ix == ix]
    before = [
        clause
        for clause in clauses
        if clause.component_ix == ix - 1 and clause.edge is Edge.PROCEED
    ]
    # A clause without variables is tested with the first event.
    begin = [
        clause
        for clause in clauses
        if (clause.component_ix is None and ix == 0)
        or (clause.component_ix == ix and _is_at_first(clause, component.variable))
    ]
    return ComponentEdges(
        component,
        least_events(component, clauses),
        most_events(component),
        tuple(clause for clause in clauses if clause in before or clause in begin),
        tuple(begin),
        tuple(clause for clause in own if clause.edge is Edge.TAKE),
        tuple(clause for clause in own if clause.edge is Edge.PROCEED),
    )


def _is_at_first(clause: Clause, variable: str) -> bool:
    if clause.edge is Edge.TAKE:
        return clause.ranges.get(variable) == 1 and known_from(clause, variable) == 1
    return clause.edge is Edge.BEGIN


def known_from(clause: Clause, variable: str) -> int:
    """The number of the first event of a variable with which a clause can be tested."""
    return clause.least_lengths.get(variable, 1)


def least_events(component: ast.Component, clauses: tuple[Clause, ...]) -> int:
    """The least number of events of a component: its bound, or the greatest k of an ``a[k]``."""
    if component.bounds is None:
        return 1
    return max(component.bounds.least, *(known_from(c, component.variable) for c in clauses), 1)


def most_events(component: ast.Component) -> int:
    """The greatest number of events of a component."""
    return (component.bounds.most or UNBOUNDED) if component.bounds else 1


def equivalences_at(
    query: AnalysedQuery, unit: EventUnit, first: EventUnit | None
) -> Iterator[ast.Comparison]:
    """The equivalence tests of an event in canonical form: compared with the first event, if any.

    Except under strict contiguity no kernel tests ``a.k = b.k``: runs are partitioned by k.
    """
    for test in query.equivalences:
        here = unit.attribute(test.attribute)
        if test.value is not None:
            yield ast.Comparison("=", here, test.value)
        elif first is not None:
            yield ast.Comparison("=", here, first.attribute(test.attribute))


# --- conditions on every event of a list and on a numbered one


def by_numbers(clause: Clause, components: Sequence[ast.Component]) -> Iterator[Clause]:
    """Equivalent clauses that compare a numbered event of a list with each event before it.

    The condition ``a[i].x <= a[3].x`` is known from the third event on. That event tests it for
    the first three, and each later event for itself. Aggregates over the events before one
    of the first three are not kept, so that such a clause is left as it is.

    >>> from cepheid.analysis.placement import place_clauses
    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_expression
    >>> query = parse("PATTERN A+ a[] WHERE a[i].x <= a[2].x")
    >>> components = [component for component, _ in ast.components(query.pattern)]
    >>> (clause,) = place_clauses(query.condition, components)
    >>> for each in by_numbers(clause, components):
    ...     print(print_expression(each.expression, query))
    a[1].x <= a[2].x
    a[2].x <= a[2].x
    a[i].x <= a[2].x
    """
    if clause.component_ix is not None and clause.edge is Edge.TAKE:
        name = components[clause.component_ix].variable
        number = known_from(clause, name)
        if 1 < number <= MAX_REGISTERS and [*clause.ranges] == [name] and not reads_prior(clause):
            for i in range(clause.ranges[name], number + 1):
                literals = tuple(
                    ast.rewrite(each, partial(_numbered, name, i)) for each in clause.literals
                )
                yield replace(clause, literals=literals, ranges={})
    yield clause


def reads_prior(clause: Clause) -> bool:
    """Whether a clause aggregates the events before one of a list."""
    return any(
        isinstance(node, ast.Aggregate) and node.scope is ast.Scope.PRIOR
        for literal in clause.literals
        for node in literal.walk()
    )


def _numbered(variable: str, number: int, node: ast.Node) -> ast.Node:
    """The node, with the current event of a list as the one with this number."""
    match node:
        case ast.Element(name, ast.Index.CURRENT | ast.Index.PREVIOUS as index, attribute):
            if name == variable:
                place = number if index is ast.Index.CURRENT else number - 1
                return ast.Element(name, place, attribute, span=node.span)
    return node


# --- conditions on every event of a list, tested later by its minimum and maximum


def by_bounds(
    clause: Clause, components: Sequence[ast.Component], schema: Schema
) -> Iterator[Clause]:
    """Equivalent clauses that use the bounds of lists that are complete when they are tested.

    An NFA^b reads the events of a Kleene component one by one and keeps only registers. The
    condition ``a[i].x < b.x`` is about all of them, and can be tested only when b is known. It
    holds exactly if the maximum of a[i].x is less than b.x and no a[i].x is missing.

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
