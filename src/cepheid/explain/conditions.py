"""The conditions on an edge as the conjuncts of a formula [Agrawal08 §3.2].

Three things are added to the paper's formulas: the test of an event's type, the bounds of a
repetition, and the conditions of a proceed edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent, Place
from cepheid.codegen.edges import EventUnit, equivalences_at, first_event, last_event
from cepheid.errors import list_words
from cepheid.explain.formula import Formula
from cepheid.language import syntax as ast
from cepheid.language.naming import default_variable
from cepheid.language.printer import print_expression, print_pattern, print_window
from cepheid.visible import shortened, visible

Conjuncts = Iterator[tuple[str, ...]]

_AXES = {
    ast.WindowMeasure.TIME: "time",
    ast.WindowMeasure.EVENTS: "position",
    ast.WindowMeasure.EVENTS_PER_PARTITION: "partition_position",
}


class ConditionText:
    """Prints the conditions of an alternative as text.

    ``compared_with`` is the event with which equivalence tests compare the others.
    """

    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, compared_with: EventUnit
    ) -> None:
        self._query = query
        self._alternative = alternative
        self._compared_with = compared_with
        # In a query of one component, expressions leave out its variable; a sequence keeps it.
        self._printed_as = replace(query.query, pattern=ast.Sequence((query.query.pattern,)))

    def name(self, variable: str) -> str:
        """A variable, quoted where it needs to be."""
        return self._printed(ast.Parameter(variable))

    def type_test(self, unit: EventUnit) -> tuple[str]:
        """``a ∈ A``."""
        # A component is printed without its variable if that equals the name of the type.
        component = unit.component
        bare = replace(component, variable=default_variable(component.types), bounds=None)
        shown = self._printed(unit.attribute("x")).removesuffix(".x")
        return (f"{shown} ∈ {visible(print_pattern(bare))}",)

    def equivalences(self, unit: EventUnit, *, is_first: bool = False) -> Conjuncts:
        """The equivalence tests of an event; the first one is compared with constants only."""
        first = None if is_first else self._compared_with
        for test in equivalences_at(self._query, unit, first):
            yield (self._printed(test),)

    def clause(self, clause: Clause, at_hand: str | None = None) -> tuple[str, ...]:
        """A clause, for every i that it ranges over except the i of the event at hand."""
        literals = tuple(map(self._literal, clause.literals))
        over = [
            f"{self.name(variable)}[{'i' if first == 1 else 'i>1'}]"
            for variable, first in clause.ranges.items()
            if variable != at_hand
        ]
        return (f"(∀{', '.join(over)}: {' ∨ '.join(literals)})",) if over else literals

    def at_least(self, variable: str, length: int) -> Conjuncts:
        """``a.LEN >= 2``, where this says anything."""
        if length > 1:
            yield (self._printed(ast.Comparison(">=", ast.Length(variable), ast.Literal(length))),)

    def within(self, later: EventUnit, earlier: EventUnit | None = None) -> Conjuncts:
        """Steps 4 and 5: a window from an event, or from the first of the match, to another."""
        window = self._query.query.window
        if window is not None:
            yield self._less_than(
                window, later, earlier or first_event(self._alternative.components[0])
            )

    def within_own(self, negation: NegatedComponent, window: ast.Window) -> Conjuncts:
        """The window of a negation of its own."""
        unit, components = EventUnit(negation.component, None), self._alternative.components
        if negation.after:
            yield self._less_than(window, unit, last_event(components[max(negation.after)]))
        else:
            yield self._less_than(window, first_event(components[min(negation.before)]), unit)

    def _less_than(self, window: ast.Window, later: EventUnit, earlier: EventUnit) -> tuple[str]:
        """One event is less than a window after another."""
        assert not isinstance(window.extent, ast.Parameter)
        axis = _AXES[window.measure]
        is_whole = window.extent.denominator == 1
        extent: ast.Expression = ast.Literal(
            int(window.extent) if is_whole else float(window.extent)
        )
        if window.unit is not None:
            extent = ast.Duration(window.extent, window.unit)
        end = ast.Arithmetic("+", earlier.attribute(axis), extent)
        return (self._printed(ast.Comparison("<", later.attribute(axis), end)),)

    def violation(self, negation: NegatedComponent) -> Formula:
        """The conditions on an event that violates a negated component."""
        unit = EventUnit(negation.component, None)
        conjuncts = [self.type_test(unit), *self.equivalences(unit)]
        for clause in negation.clauses:
            conjuncts.append(self.clause(clause))
            for variable, length in clause.least_lengths.items():
                conjuncts += self.at_least(variable, length)
        if negation.own_window is not None:
            return Formula((*conjuncts, *self.within_own(negation, negation.own_window)))
        if negation.place in (Place.START, Place.ANYWHERE):
            conjuncts += self.within(last_event(self._alternative.components[-1]), unit)
        if negation.place in (Place.END, Place.ANYWHERE):
            conjuncts += self.within(unit)
        return Formula(tuple(conjuncts))

    def _literal(self, literal: ast.Expression) -> str:
        printed = self._printed(literal)
        return f"({printed})" if isinstance(literal, ast.And | ast.Or) else printed

    def _printed(self, expression: ast.Expression) -> str:
        return visible(shortened(print_expression(expression, self._printed_as)))


def at_first(clause: Clause, variable: str) -> Clause:
    """The clause for the first event of the variable: a[1] for a[i]."""

    def first(node: ast.Node) -> ast.Node:
        match node:
            case ast.Element(name, ast.Index.CURRENT) if name == variable:
                return replace(node, index=1)
        return node

    return replace(clause, literals=tuple(ast.rewrite(part, first) for part in clause.literals))


def negation_text(negation: NegatedComponent) -> str:
    """A negated component as a query has it."""
    if negation.is_inside:
        return f"WITHOUT ({print_pattern(negation.component)})"
    return print_pattern(ast.Negation(negation.component, negation.own_window))


def place_of(
    alternative: Alternative, negation: NegatedComponent, name: Callable[[str], str] = str
) -> str:
    """The place of a negated component in words; ``name`` prints a variable."""
    if negation.own_window is not None:
        plain = place_of(alternative, replace(negation, own_window=None), name)
        return f"{plain}, within {print_window(negation.own_window)}"
    before = alternative.before
    last = [i for i in negation.after if not any((i, j) in before for j in negation.after)]
    next_ = [j for j in negation.before if not any((i, j) in before for i in negation.before)]
    after, until = (
        list_words([name(alternative.components[ix].variable) for ix in sorted(around)])
        for around in (last, next_)
    )
    if negation.is_inside:
        return f"inside {after}"
    if after and until:
        return (
            f"between {after} and {until}" if len(last) == 1 else f"after {after}, before {until}"
        )
    if after:
        return f"after {after}"
    return f"before {until}" if until else "anywhere in the window"
