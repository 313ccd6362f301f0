"""Matches that a negation may judge differently, kept apart in compressed output.

Runs of the same future are merged, and their matches share a structure. A negation can leave out
a part of that structure only if it judges all matches in it alike. So what its verdict depends on
is made a part of the future of runs, by conditions that always hold and name it until the last
event of a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.analysis.placement import place_clauses
from cepheid.language import syntax as ast
from cepheid.schema import POSITIONS, Position

_INDEX = Position(POSITIONS[0])


def kept_apart(query: AnalysedQuery) -> AnalysedQuery:
    """The query, with conditions that keep apart what its negations do not judge alike.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_expression
    >>> query = analyse(parse("PATTERN SEQ(A a, B+ b[], ~(D d), C c) WHERE d.x > a.x"))
    >>> for clause in kept_apart(query).alternatives[0].clauses:
    ...     print(print_expression(clause.expression, query.query))
    a.INDEX + c.INDEX >= 0
    b[LEN].INDEX + c.INDEX >= 0
    """
    return replace(query, alternatives=tuple(map(_with_positions, query.alternatives)))


def _with_positions(alternative: Alternative) -> Alternative:
    components = alternative.components
    last = components[-1]
    until = _position(last, ast.Index.CURRENT)
    decisive = dict.fromkeys(
        position
        for negation in alternative.negations
        if not negation.is_decided_by_order
        for position in _decisive(negation, components)
    )
    clauses = [
        clause
        for position in decisive
        # All matches that end together have the same last event.
        if position not in (_position(last, ast.Index.LAST), until)
        for clause in place_clauses(
            ast.Comparison(">=", ast.Arithmetic("+", position, until), ast.Literal(0)), components
        )
    ]
    return replace(alternative, clauses=(*alternative.clauses, *clauses))


def _decisive(
    negation: NegatedComponent, components: Sequence[ast.Component]
) -> Iterator[ast.Expression]:
    """The positions of the events that decide whether the negation is violated."""
    named = {name for clause in negation.clauses for name in clause.variables}
    for component in components:
        if component.variable in named and not component.is_kleene:
            yield _position(component, ast.Index.LAST)
    if negation.is_inside:
        (around,) = negation.after
        yield _position(components[around], 1)
        yield _position(components[around], ast.Index.LAST)
        return
    if negation.after:
        yield _position(components[max(negation.after)], ast.Index.LAST)
    if negation.before:
        yield _position(components[min(negation.before)], 1)
    elif negation.own_window is None:
        yield _position(components[0], 1)


def _position(component: ast.Component, index: int | ast.Index) -> ast.Expression:
    if component.is_kleene:
        return ast.Element(component.variable, index, _INDEX)
    return ast.Attribute(component.variable, _INDEX)
