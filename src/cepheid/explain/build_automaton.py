"""An alternative compiled to the automaton that a person reads, in the steps of [Agrawal08 §3.2].

Three things are added to the paper's formulas: the test of an event's type, the bounds of a
repetition, and step 6 also where a proceed edge has conditions of its own. Negated components
are no part of the automaton: they filter its matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent, Place
from cepheid.analysis.model import Edge as TestedAt
from cepheid.explain.automaton import (
    FINAL,
    Automaton,
    Edge,
    EdgeKind,
    Filter,
    State,
    edge_name,
)
from cepheid.explain.formula import FALSE, Formula, visible
from cepheid.language import syntax as ast
from cepheid.language.naming import default_variable
from cepheid.language.printer import print_expression, print_pattern

_AXES = {
    ast.WindowMeasure.TIME: "time",
    ast.WindowMeasure.EVENTS: "position",
    ast.WindowMeasure.EVENTS_PER_PARTITION: "partition_position",
}
_Conjuncts = Iterator[tuple[str, ...]]


def build_automata(query: AnalysedQuery) -> tuple[Automaton, ...]:
    """The automaton of each alternative of a query, all of which are sequences."""
    return tuple(build_automaton(query, alternative) for alternative in query.alternatives)


def build_automaton(query: AnalysedQuery, alternative: Alternative) -> Automaton:
    """The automaton of one alternative, which is a sequence.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B+ b[]) WHERE [id] AND b[i].x > a.x WITHIN 5"))
    >>> print("\\n".join(build_automaton(query, query.alternatives[0]).lines(100)))
    a → b[1] → b[i] → F
    θ_a_begin      = a ∈ A
    θ_b[1]_begin   = b[1] ∈ B ∧ b[1].id = a.id ∧ b[1].x > a.x ∧ b[1].time < a.time + 5
    θ_b[1]_ignore  = b[1].time < a.time + 5
    θ_b[i]_take    = b[i] ∈ B ∧ b[i].id = a.id ∧ b[i].x > a.x ∧ b[i].time < a.time + 5
    θ_b[i]_ignore  = b[i].time < a.time + 5
    θ_b[i]_proceed = b[LEN].time < a.time + 5
    """
    assert alternative.is_sequence
    return AutomatonBuilder(query, alternative).build()


@dataclass(frozen=True, slots=True)
class EventUnit:
    """A unit of the match buffer, such as ``a``, ``b[1]``, ``b[i]`` or ``b[LEN]``."""

    component: ast.Component
    index: int | ast.Index | None

    def attribute(self, name: str) -> ast.Attribute | ast.Element:
        """An attribute of it, as an expression."""
        if self.index is None:
            return ast.Attribute(self.component.variable, name)
        return ast.Element(self.component.variable, self.index, name)


def _first(component: ast.Component) -> EventUnit:
    return EventUnit(component, 1 if component.is_kleene else None)


def _last(component: ast.Component) -> EventUnit:
    return EventUnit(component, ast.Index.LAST if component.is_kleene else None)


class AutomatonBuilder:
    """Makes the automaton of an alternative that is a sequence."""

    def __init__(self, query: AnalysedQuery, alternative: Alternative) -> None:
        self._query = query
        self._strategy = query.query.strategy
        self._alternative = alternative
        self._components = alternative.components
        # The variable of a query of one component is not left out here.
        self._printed_as = replace(query.query, pattern=ast.Sequence((query.query.pattern,)))

        self._compared_with = _first(self._components[0])

    def build(self) -> Automaton:
        """The states, edges and filters."""
        states: list[State] = []
        begins: list[int] = []
        for component in self._components:
            begins.append(len(states))
            name = self._name(component.variable)
            suffixes = ("[1]", "[i]") if component.is_kleene else ("",)
            states.extend(State(name + suffix, component) for suffix in suffixes)
        begins.append(len(states))
        states.append(State(FINAL, None))
        edges: list[Edge] = []

        def add(kind: EdgeKind, source: int, target: int, conjuncts: _Conjuncts) -> None:
            name = edge_name(states[source], kind)
            formula = Formula(tuple(conjuncts))
            edges.append(Edge(kind, source, target, name, FALSE if formula.is_false else formula))

        for ix, component in enumerate(self._components):
            here, following = begins[ix], begins[ix + 1]
            unit = _first(component)
            add(EdgeKind.BEGIN, here, here + 1, self._begin(ix))
            if ix > 0:
                begin = edge_name(states[here], EdgeKind.BEGIN)
                add(EdgeKind.IGNORE, here, here, self._ignore(unit, begin))
            if component.is_kleene:
                inside, state = here + 1, states[here + 1]
                unit = EventUnit(component, ast.Index.CURRENT)
                take = edge_name(state, EdgeKind.TAKE)
                add(EdgeKind.TAKE, inside, inside, self._take(ix))
                add(EdgeKind.IGNORE, inside, inside, self._ignore(unit, take))
                ignore = edges[-1]
                next_ = states[following]
                add(EdgeKind.PROCEED, inside, following, self._proceed(ix, take, ignore, next_))
        filters = tuple(self._filter(negation, begins) for negation in self._alternative.negations)
        return Automaton(ast.Sequence(self._components), tuple(states), tuple(edges), filters)

    # --- the formulas of the edges

    def _begin(self, ix: int) -> _Conjuncts:
        component = self._components[ix]
        yield self._type_test(component, _first(component))
        yield from self._equivalences(_first(component), is_first=ix == 0)
        for clause in self._alternative.clauses:
            if clause.component_ix is None:
                if ix == 0:
                    yield self._clause(clause)
            elif clause.component_ix == ix:
                variable = component.variable
                if clause.edge is TestedAt.BEGIN:
                    yield self._clause(clause)
                elif clause.ranges.get(variable) == 1 and _settled_at(clause, variable) == 1:
                    yield self._clause(_at_first(clause, variable), at_hand=variable)
        if ix > 0:
            yield from self._within(_first(component))

    def _take(self, ix: int) -> _Conjuncts:
        component = self._components[ix]
        variable = component.variable
        unit = EventUnit(component, ast.Index.CURRENT)
        yield self._type_test(component, unit)
        yield from self._equivalences(unit)
        for clause in self._alternative.clauses:
            if clause.component_ix == ix and clause.edge is TestedAt.TAKE:
                element = _settled_at(clause, variable)
                if element == 1:
                    yield self._clause(clause, at_hand=variable)
                elif variable in clause.ranges:
                    yield (f"i < {element}", *self._clause(clause))
                else:
                    yield (f"i != {element}", *self._clause(clause))
        yield from self._has_room(component)
        yield from self._within(unit)

    def _ignore(self, unit: EventUnit, select: str) -> _Conjuncts:
        """Step 3: what may be skipped while the edge called ``select`` is what a run waits for."""
        match self._strategy:
            case ast.SelectionStrategy.STRICT_CONTIGUITY:
                yield ()
            case ast.SelectionStrategy.PARTITION_CONTIGUITY:
                same = Formula(tuple(self._equivalences(unit)))
                yield (f"¬({same})",) if same.conjuncts else ()
            case ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
                yield (f"¬{select}",)
        if unit.index is ast.Index.CURRENT:
            yield from self._has_room(unit.component)
        yield from self._within(unit)

    def _proceed(self, ix: int, take: str, ignore: Edge, following: State) -> _Conjuncts:
        component = self._components[ix]
        assert component.bounds is not None
        named = [c.least_lengths.get(component.variable, 1) for c in self._alternative.clauses]
        least = max(component.bounds.least, *named, 1)
        if least > 1:
            yield self._at_least(component.variable, least)
        for clause in self._alternative.clauses:
            if clause.component_ix == ix and clause.edge is TestedAt.PROCEED:
                yield self._clause(clause)
        if following.is_final:
            yield from self._within(_last(component))
            return
        begin = edge_name(following, EdgeKind.BEGIN)
        if ignore.formula.is_false:
            yield begin, f"¬{take}"
        elif ignore.formula.conjuncts:
            yield begin, f"(¬{take} ∧ ¬{ignore.name})"
        else:
            yield (begin,)

    def _filter(self, negation: NegatedComponent, begins: list[int]) -> Filter:
        unit = EventUnit(negation.component, None)
        return Filter(
            self._name(negation.component.variable),
            self._where(negation),
            begins[min(negation.before)] if negation.before else None,
            Formula(tuple(self._violation(negation, unit))),
            negation.waits,
        )

    def _violation(self, negation: NegatedComponent, unit: EventUnit) -> _Conjuncts:
        yield self._type_test(negation.component, unit)
        yield from self._equivalences(unit)
        for clause in negation.clauses:
            yield self._clause(clause)
            for variable, length in clause.least_lengths.items():
                if length > 1:
                    yield self._at_least(variable, length)
        if negation.place in (Place.START, Place.ANYWHERE):
            yield from self._near(unit, _last(self._components[-1]))
        if negation.place in (Place.END, Place.ANYWHERE):
            yield from self._within(unit)

    def _where(self, negation: NegatedComponent) -> str:
        after = self._name(self._components[max(negation.after, default=0)].variable)
        before = self._name(self._components[min(negation.before, default=0)].variable)
        match negation.place:
            case Place.START:
                return f"before {before}"
            case Place.MIDDLE:
                return f"between {after} and {before}"
            case Place.END:
                return f"after {after}"
            case Place.ANYWHERE:
                return "anywhere in the window"

    # --- the parts of a formula

    def _type_test(self, component: ast.Component, unit: EventUnit) -> tuple[str]:
        # A component is printed without its variable where that is the type's name.
        bare = replace(component, variable=default_variable(component.types), bounds=None)
        shown = self._printed(unit.attribute("x")).removesuffix(".x")
        return (f"{shown} ∈ {visible(print_pattern(bare))}",)

    def _equivalences(self, unit: EventUnit, *, is_first: bool = False) -> _Conjuncts:
        """Step 2: equivalence tests in their canonical form."""
        for test in self._query.equivalences:
            here = unit.attribute(test.attribute)
            if test.value is not None:
                yield (self._printed(ast.Comparison("=", here, test.value)),)
            elif not is_first:
                there = self._compared_with.attribute(test.attribute)
                yield (self._printed(ast.Comparison("=", here, there)),)

    def _clause(self, clause: Clause, at_hand: str | None = None) -> tuple[str, ...]:
        """A clause, for every i that it ranges over but that of the event at hand."""
        literals = tuple(map(self._literal, clause.literals))
        over = [
            f"{self._name(variable)}[{'i' if first == 1 else 'i>1'}]"
            for variable, first in clause.ranges.items()
            if variable != at_hand
        ]
        return (f"(∀{', '.join(over)}: {' ∨ '.join(literals)})",) if over else literals

    def _literal(self, literal: ast.Expression) -> str:
        printed = self._printed(literal)
        return f"({printed})" if isinstance(literal, ast.And | ast.Or) else printed

    def _has_room(self, component: ast.Component) -> _Conjuncts:
        """A list that is full neither takes nor ignores, so that it is left at once."""
        if component.bounds is not None and component.bounds.most is not None:
            yield (f"i <= {component.bounds.most}",)

    def _at_least(self, variable: str, length: int) -> tuple[str]:
        return (self._printed(ast.Comparison(">=", ast.Length(variable), ast.Literal(length))),)

    def _within(self, unit: EventUnit) -> _Conjuncts:
        """Steps 4 and 5: the window."""
        yield from self._near(_first(self._components[0]), unit)

    def _near(self, earlier: EventUnit, later: EventUnit) -> _Conjuncts:
        window = self._query.query.window
        if window is None:
            return
        assert not isinstance(window.extent, ast.Parameter)
        axis = _AXES[window.measure]
        is_whole = window.extent.denominator == 1
        extent: ast.Expression = ast.Literal(
            int(window.extent) if is_whole else float(window.extent)
        )
        if window.unit is not None:
            extent = ast.Duration(window.extent, window.unit)
        end = ast.Arithmetic("+", earlier.attribute(axis), extent)
        yield (self._printed(ast.Comparison("<", later.attribute(axis), end)),)

    def _name(self, variable: str) -> str:
        return self._printed(ast.Parameter(variable))

    def _printed(self, expression: ast.Expression) -> str:
        return visible(print_expression(expression, self._printed_as))


def _settled_at(clause: Clause, variable: str) -> int:
    """The event of the variable with which the clause can be tested first."""
    return clause.least_lengths.get(variable, 1)


def _at_first(clause: Clause, variable: str) -> Clause:
    """The clause for the first event of the variable: a[1] for a[i]."""

    def first(node: ast.Node) -> ast.Node:
        match node:
            case ast.Element(name, ast.Index.CURRENT) if name == variable:
                return replace(node, index=1)
        return node

    return replace(clause, literals=tuple(ast.rewrite(part, first) for part in clause.literals))
