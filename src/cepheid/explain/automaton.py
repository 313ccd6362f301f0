"""An automaton as states, edges and formulas, to be printed or drawn [Agrawal08 §3.1].

A component of one event has one state ``s``. A Kleene component has two, ``p[1]`` and ``p[i]``.
The final state ``F`` comes last. The edges of an NFA^b have the conditions that
:func:`cepheid.codegen.edges.edges_of` gives to the compiler, so that the formulas show what runs.
Negated components are not part of the automaton: they filter its matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.analysis.model import Edge as ClauseEdge
from cepheid.codegen.edges import (
    ComponentEdges,
    EventUnit,
    current_event,
    edges_of,
    first_event,
    known_from,
    last_event,
)
from cepheid.codegen.layout import UNBOUNDED
from cepheid.explain.conditions import ConditionText, Conjuncts, at_first, place_of
from cepheid.explain.formula import FALSE, Formula
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern

FINAL = "F"
REJECTING = "R"


class EdgeKind(Enum):
    """A run selects an event (begin, take), skips it (ignore) or leaves a component (proceed).

    A lazy automaton also stores events that it may select later. It leaves a negative state, which
    waits for a negated component, if there is no such event among the stored ones
    (search_failed), or none until the window has passed (timeout).
    """

    BEGIN = "begin"
    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"
    STORE = "store"
    SEARCH_FAILED = "search_failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class State:
    """A state and the component that it waits for; the final state has none."""

    name: str
    component: ast.Component | None

    @property
    def is_final(self) -> bool:
        """Whether a run in this state is a match."""
        return self.component is None

    def edge_name(self, kind: EdgeKind) -> str:
        """The name of the formula of an edge that leaves the state."""
        return f"θ_{self.name}_{kind.value}"


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two states, by their indices, and its formula.

    Without a target it leads to the rejecting state: the instance is dropped.
    """

    kind: EdgeKind
    source: int
    target: int | None
    name: str
    formula: Formula


@dataclass(frozen=True, slots=True)
class Filter:
    """A negated component: no event at its place may satisfy the formula.

    ``gap`` is the index of the state before which the filter is drawn, or None after the last.
    """

    name: str
    place: str
    gap: int | None
    formula: Formula
    waits: bool

    def __str__(self) -> str:
        waits = ", known when the window ends" if self.waits else ""
        return f"{self.place}{waits}"


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states, edges and filters of an NFA^b or a lazy chain.

    ``pattern`` has the components in query order, without the negated ones. An automaton that
    several alternatives share has the number and the pattern of each in ``alternatives``.
    """

    pattern: ast.Sequence | ast.Conjunction
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    filters: tuple[Filter, ...]
    alternatives: tuple[tuple[int, ast.Pattern], ...] = ()

    def heading(self, number: int) -> str:
        """What it is an automaton of; ``number`` is that of its alternative, if it is one."""
        numbered = self.alternatives or ((number, self.pattern),)
        named = [print_pattern(pattern) for _, pattern in numbered]
        numbers = ", ".join(str(each) for each, _ in numbered)
        return f"alternative{'s' * (len(numbered) > 1)} {numbers}: {', '.join(named)}"

    @property
    def is_tree(self) -> bool:
        """Whether a state leads to several others."""
        forward = [edge for edge in self.edges if edge.target not in (None, edge.source)]
        return len({edge.source for edge in forward}) < len(forward)

    def lines(self, width: int) -> Iterator[str]:
        """The states in order, and the formula of each edge."""
        yield " → ".join(state.name for state in self.states)
        longest = max(len(edge.name) for edge in self.edges)
        for edge in self.edges:
            first, *rest = edge.formula.lines(max(width - longest - len(" = "), width // 2))
            yield f"{edge.name:<{longest}} = {first}"
            for line in rest:
                yield f"{'':<{longest}}   {line}"


def filters_of(
    alternative: Alternative, text: ConditionText, gaps: Iterable[int | None]
) -> tuple[Filter, ...]:
    """The negated components of an alternative, with the gap of each."""
    return tuple(
        Filter(
            text.name(negation.component.variable),
            place_of(alternative, negation, text.name),
            gap,
            text.violation(negation),
            negation.waits,
        )
        for negation, gap in zip(alternative.negations, gaps, strict=True)
    )


def nfa_b_automata(query: AnalysedQuery, *, is_basic: bool = False) -> tuple[Automaton, ...]:
    """The NFA^b of each alternative of a query; all of them are sequences."""
    return tuple(
        nfa_b_automaton(query, alternative, is_basic=is_basic) for alternative in query.alternatives
    )


def nfa_b_automaton(
    query: AnalysedQuery, alternative: Alternative, *, is_basic: bool = False
) -> Automaton:
    """The NFA^b of an alternative, which is a sequence.

    If it ``is_basic``, its formulas are those before the optimisations of steps 5 and 6: only the
    last edge tests the window, and a proceed edge does not look at the event [Agrawal08 §3.2].

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B+ b[]) WHERE [id] AND b[i].x > a.x WITHIN 5"))
    >>> print("\\n".join(nfa_b_automaton(query, query.alternatives[0]).lines(100)))
    a → b[1] → b[i] → F
    θ_a_begin      = a ∈ A
    θ_b[1]_begin   = b[1] ∈ B ∧ b[1].id = a.id ∧ b[1].x > a.x ∧ b[1].time < a.time + 5
    θ_b[1]_ignore  = b[1].time < a.time + 5
    θ_b[i]_take    = b[i] ∈ B ∧ b[i].id = a.id ∧ b[i].x > a.x ∧ b[i].time < a.time + 5
    θ_b[i]_ignore  = b[i].time < a.time + 5
    θ_b[i]_proceed = b[LEN].time < a.time + 5
    """
    assert alternative.is_sequence
    return _NfaB(query, alternative, is_basic=is_basic).automaton()


class _NfaB:
    def __init__(self, query: AnalysedQuery, alternative: Alternative, *, is_basic: bool) -> None:
        self._is_basic = is_basic
        self._strategy = query.query.strategy
        self._alternative = alternative
        self._text = ConditionText(query, alternative, first_event(alternative.components[0]))
        self._components = edges_of(query, alternative)
        self._states: list[State] = []
        self._edges: list[Edge] = []

    def automaton(self) -> Automaton:
        begins: list[int] = []
        for part in self._alternative.components:
            begins.append(len(self._states))
            name = self._text.name(part.variable)
            suffixes = ("[1]", "[i]") if part.is_kleene else ("",)
            self._states += (State(name + suffix, part) for suffix in suffixes)
        begins.append(len(self._states))
        self._states.append(State(FINAL, None))
        for edges, here, following in zip(self._components, begins, begins[1:], strict=False):
            self._add_edges(edges, here, following)
        gaps = [
            begins[min(negation.before)] + negation.is_inside if negation.before else None
            for negation in self._alternative.negations
        ]
        pattern = ast.Sequence(self._alternative.components)
        filters = filters_of(self._alternative, self._text, gaps)
        return Automaton(pattern, tuple(self._states), tuple(self._edges), filters)

    def _add_edges(self, edges: ComponentEdges, here: int, following: int) -> None:
        selects = tuple(self._begin(edges, is_first=here == 0))
        unit = first_event(edges.component)
        is_final = self._states[here + 1].is_final
        within = tuple(self._within(unit, is_final=is_final)) if here > 0 else ()
        begin = self._add(EdgeKind.BEGIN, here, here + 1, (*selects, *within))
        if here > 0:
            skipped = begin.name
            if self._is_basic and within:
                skipped = f"({Formula(selects)})"
            self._add(
                EdgeKind.IGNORE, here, here, (*self._ignore(unit, skipped), *self._pushed(unit))
            )
        if edges.component.is_kleene:
            inside, unit = here + 1, current_event(edges.component)
            take = self._add(EdgeKind.TAKE, inside, inside, self._take(edges))
            ignored = (*self._ignore(unit, take.name), *_has_room(edges), *self._pushed(unit))
            ignore = self._add(EdgeKind.IGNORE, inside, inside, ignored)
            leaves = self._proceed(edges, take, ignore, self._states[following])
            self._add(EdgeKind.PROCEED, inside, following, leaves)

    def _add(
        self, kind: EdgeKind, source: int, target: int, conjuncts: Iterable[tuple[str, ...]]
    ) -> Edge:
        formula = Formula(tuple(conjuncts))
        name = self._states[source].edge_name(kind)
        edge = Edge(kind, source, target, name, FALSE if formula.is_false else formula)
        self._edges.append(edge)
        return edge

    def _begin(self, edges: ComponentEdges, *, is_first: bool) -> Conjuncts:
        unit, variable = first_event(edges.component), edges.component.variable
        yield self._text.type_test(unit)
        yield from self._text.equivalences(unit, is_first=is_first)
        for clause in edges.begin:
            if clause.edge is ClauseEdge.TAKE:
                yield self._text.clause(at_first(clause, variable), at_hand=variable)
            else:
                yield self._text.clause(clause)

    def _within(self, unit: EventUnit, *, is_final: bool) -> Conjuncts:
        """Step 4: the window on the last edge; step 5: on all of them."""
        return self._text.within(unit) if is_final else self._pushed(unit)

    def _pushed(self, unit: EventUnit) -> Conjuncts:
        if not self._is_basic:
            yield from self._text.within(unit)

    def _take(self, edges: ComponentEdges) -> Conjuncts:
        unit, variable = current_event(edges.component), edges.component.variable
        yield self._text.type_test(unit)
        yield from self._text.equivalences(unit)
        for clause in edges.take:
            number = known_from(clause, variable)
            if number == 1:
                yield self._text.clause(clause, at_hand=variable)
            else:
                untested = "i < " if variable in clause.ranges else "i != "
                yield (f"{untested}{number}", *self._text.clause(clause))
        yield from _has_room(edges)
        yield from self._pushed(unit)

    def _ignore(self, unit: EventUnit, selects: str) -> Conjuncts:
        """Step 3: the events that a run may skip while it waits for the edge that selects."""
        match self._strategy:
            case ast.SelectionStrategy.STRICT_CONTIGUITY:
                yield ()
            case ast.SelectionStrategy.PARTITION_CONTIGUITY:
                same = Formula(tuple(self._text.equivalences(unit)))
                yield (f"¬({same})",) if same.conjuncts else ()
            case ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
                yield (f"¬{selects}",)

    def _proceed(
        self, edges: ComponentEdges, take: Edge, ignore: Edge, following: State
    ) -> Conjuncts:
        """Step 6, also where a proceed edge has conditions of its own."""
        yield from self._text.at_least(edges.component.variable, edges.least)
        for clause in edges.proceed:
            yield self._text.clause(clause)
        if following.is_final:
            yield from self._text.within(last_event(edges.component))
            return
        if self._is_basic:
            return
        begin = following.edge_name(EdgeKind.BEGIN)
        if ignore.formula.is_false:
            yield begin, f"¬{take.name}"
        elif ignore.formula.conjuncts:
            yield begin, f"(¬{take.name} ∧ ¬{ignore.name})"
        else:
            yield (begin,)


def _has_room(edges: ComponentEdges) -> Conjuncts:
    """A full list neither takes nor ignores an event, so a run leaves it immediately."""
    if edges.most < UNBOUNDED:
        yield (f"i <= {edges.most}",)
