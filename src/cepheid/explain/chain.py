"""The lazy chain of an alternative as states, edges and formulas [Kolchinsky17 §4].

The states are in the order in which components are bound, the rarest first. The order of the
pattern is a condition like any other. An event of a component that is bound later is stored; when
an instance reaches that component, it searches the stored events and waits for new ones. Order and
conditions are those that :mod:`cepheid.engines.lazy.placement` gives to the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.codegen.edges import EventUnit, current_event
from cepheid.codegen.layout import UNBOUNDED
from cepheid.engines.lazy.placement import needed_by, place_lazily
from cepheid.engines.lazy.sharing import SharedAlternatives, chain_orders, shared_alternatives
from cepheid.errors import OptionError
from cepheid.explain.automaton import FINAL, Automaton, Edge, EdgeKind, State, filters_of
from cepheid.explain.conditions import ConditionText, Conjuncts, place_of
from cepheid.explain.formula import Formula
from cepheid.language import syntax as ast
from cepheid.language.printer import print_window


def lazy_chains(
    query: AnalysedQuery, statistics: Mapping[str, float] | None
) -> tuple[Automaton, ...]:
    """The chain of each alternative, for these numbers of events of each type in a window.

    Without statistics components are bound in pattern order. Alternatives that are evaluated
    together are one multi-chain [Kolchinsky17 §5, Figure 8].

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 5"))
    >>> (chain,) = lazy_chains(query, {"A": 100, "B": 10, "C": 1})
    >>> print("\\n".join(chain.lines(100)))
    c → b → a → F
    θ_c_take  = c ∈ C
    θ_c_store = b ∈ B ∨ a ∈ A
    θ_b_take  = b ∈ B ∧ b before c ∧ within 5
    θ_b_store = a ∈ A
    θ_a_take  = a ∈ A ∧ a before b ∧ a.x < b.x ∧ within 5
    """
    if statistics is not None:
        orders = chain_orders(query, statistics)
    else:
        orders = tuple(tuple(range(len(each.components))) for each in query.alternatives)
    found = {
        number: replace(
            _Chain(query, alternative, order).automaton(), alternatives=((number + 1, pattern),)
        )
        for number, (alternative, order, pattern) in enumerate(
            zip(query.alternatives, orders, _patterns(query), strict=True)
        )
    }
    for group in shared_alternatives(query):
        if not any(query.alternatives[number].negations for number in group.numbers):
            shared = _multi_chain(query, group, orders)
            for number in group.numbers:
                del found[number]
            found[group.numbers[0]] = shared
    return tuple(found[number] for number in sorted(found))


def _patterns(query: AnalysedQuery) -> list[ast.Pattern]:
    """The positive components of each alternative."""
    return [
        (ast.Sequence if each.is_sequence else ast.Conjunction)(each.components)
        for each in query.alternatives
    ]


def _multi_chain(
    query: AnalysedQuery, group: SharedAlternatives, orders: Sequence[Sequence[int]]
) -> Automaton:
    """The chains of alternatives as one automaton: what they begin with is there once.

    A state is named after the components that are bound, and each alternative has its final state.
    """
    paths = [
        tuple(places[ix] for ix in orders[number])
        for number, places in zip(group.numbers, group.places, strict=True)
    ]
    states = [State("∅", group.union.components[0])]
    edges: list[Edge] = []
    place_of: dict[tuple[int, ...], int] = {(): 0}

    def grow(some: Sequence[tuple[int, ...]], bound: tuple[int, ...]) -> None:
        here = place_of[bound]
        nexts = dict.fromkeys(path[: len(bound) + 1] for path in some if len(path) > len(bound))
        for reached in nexts:
            chain = _Chain(query, group.union, reached)
            names = [chain.name(ix) for ix in reached]
            formula = Formula(tuple(chain.taken(len(bound))))
            name = f"{states[here].edge_name(EdgeKind.TAKE)}_{names[-1]}"
            following = [path for path in some if path[: len(reached)] == reached]
            if reached in following:
                # The final states come last.
                final = paths.index(reached) - len(paths)
                edges.append(Edge(EdgeKind.TAKE, here, final, name, formula))
            if following != [reached]:
                place_of[reached] = len(states)
                states.append(State(" ".join(names), group.union.components[reached[-1]]))
                edges.append(Edge(EdgeKind.TAKE, here, place_of[reached], name, formula))
                grow(following, reached)

    grow(paths, ())
    states += (State(f"{FINAL}{number + 1}", None) for number in group.numbers)
    patterns = _patterns(query)
    return Automaton(
        ast.Conjunction(group.union.components),
        tuple(states),
        tuple(_ending(edges, len(states))),
        (),
        tuple((number + 1, patterns[number]) for number in group.numbers),
    )


def _ending(edges: Iterable[Edge], states: int) -> Iterator[Edge]:
    """The edges, of which those to a negative number lead to a state counted from the last one."""
    for each in edges:
        is_ending = each.target is not None and each.target < 0
        yield replace(each, target=states + (each.target or 0)) if is_ending else each


MOST_IN_TREE = 4
"""A tree of more components has too many states to be drawn: 206 for five."""


def lazy_trees(query: AnalysedQuery) -> tuple[Automaton, ...]:
    """The tree of each alternative: a state for each order in which components can be bound.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5"))
    >>> (tree,) = lazy_trees(query)
    >>> print("\\n".join(tree.lines(100)))
    ∅ → a → b → F
    θ_∅_take_a = a ∈ A ∧ a is rarest
    θ_a_take_b = b ∈ B ∧ a before b ∧ a.x < b.x ∧ within 5
    θ_∅_take_b = b ∈ B ∧ b is rarest
    θ_b_take_a = a ∈ A ∧ a before b ∧ a.x < b.x ∧ within 5
    """
    for each in query.alternatives:
        if len(each.components) > MOST_IN_TREE:
            raise OptionError(
                f"a tree of {len(each.components)} components has too many states to be drawn; "
                f"{MOST_IN_TREE} components are the most"
            )
    return tuple(_tree(query, each) for each in query.alternatives)


def _tree(query: AnalysedQuery, alternative: Alternative) -> Automaton:
    parts = alternative.components
    states = [State("∅", parts[0])]
    edges: list[Edge] = []

    def grow(here: int, bound: tuple[int, ...]) -> None:
        rest = [ix for ix in range(len(parts)) if ix not in bound]
        for ix in rest:
            chain = _Chain(query, alternative, (*bound, ix))
            names = [chain.name(each) for each in (*bound, ix)]
            formula = Formula((*chain.taken(len(bound)), *_rarest(names[-1], len(rest))))
            target = len(states) if len(rest) > 1 else -1
            edge_name = f"{states[here].edge_name(EdgeKind.TAKE)}_{names[-1]}"
            edges.append(Edge(EdgeKind.TAKE, here, target, edge_name, formula))
            if len(rest) > 1:
                states.append(State(" ".join(names), parts[ix]))
                grow(target, (*bound, ix))

    grow(0, ())
    final = len(states)
    text = _ChainText(query, alternative, current_event(parts[0]))
    filters = filters_of(alternative, text, [None] * len(alternative.negations))
    pattern = ast.Sequence if alternative.is_sequence else ast.Conjunction
    ending = tuple(_ending(edges, final + 1))
    return Automaton(pattern(parts), (*states, State(FINAL, None)), ending, filters)


def _rarest(name: str, left: int) -> Conjuncts:
    """An instance binds the component with the fewest stored events next."""
    if left > 1:
        yield (f"{name} is rarest",)


class _ChainText(ConditionText):
    """Which event of a match is the first or last is not known before all are bound."""

    def within(self, _later: EventUnit, _earlier: EventUnit | None = None) -> Conjuncts:
        if self._query.query.window is not None:
            yield (f"within {print_window(self._query.query.window)}",)

    def within_own(self, _negation: NegatedComponent, window: ast.Window) -> Conjuncts:
        yield (f"within {print_window(window)}",)


class _Chain:
    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, order: Sequence[int]
    ) -> None:
        self._alternative = alternative
        self._order = tuple(order)
        self._placement = place_lazily(query, alternative)
        self._units = [current_event(part) for part in alternative.components]
        self._text = _ChainText(query, alternative, self._units[order[0]])
        self._states: list[State] = []
        self._edges: list[Edge] = []

    def automaton(self) -> Automaton:
        components = self._alternative.components
        for place in range(len(self._order)):
            self._add_component(place)
            for negation in self._alternative.negations:
                if self._place_after(negation) == place:
                    self._add_negation(negation)
        self._states.append(State(FINAL, None))
        pattern = ast.Sequence if self._alternative.is_sequence else ast.Conjunction
        return Automaton(pattern(components), tuple(self._states), tuple(self._edges), ())

    def _add_component(self, place: int) -> None:
        component, here = self._alternative.components[self._order[place]], len(self._states)
        name = self._text.name(component.variable)
        self._states.append(State(name + "[]" * component.is_kleene, component))
        self._add(EdgeKind.TAKE, here + 1, self.taken(place))
        later = [self._text.type_test(self._units[ix])[0] for ix in self._order[place + 1 :]]
        if later:
            self._add(EdgeKind.STORE, here, [tuple(later)])

    def _add_negation(self, negation: NegatedComponent) -> None:
        """A negative state, which an instance passes if there is no such event."""
        name, here = self._text.name(negation.component.variable), len(self._states)
        self._states.append(State(f"¬{name}", negation.component))
        place = place_of(self._alternative, negation, self._text.name)
        type_test, *others = self._text.violation(negation).conjuncts
        self._add(EdgeKind.TAKE, None, (type_test, (place,), *others))
        if negation.waits:
            self._add(EdgeKind.TIMEOUT, here + 1, [("the window has passed",)])
        else:
            self._add(EdgeKind.SEARCH_FAILED, here + 1, [("no such event is stored",)])

    def _add(
        self, kind: EdgeKind, target: int | None, conjuncts: Iterable[tuple[str, ...]]
    ) -> None:
        """An edge from the latest state."""
        name = self._states[-1].edge_name(kind)
        formula = Formula(tuple(conjuncts))
        self._edges.append(Edge(kind, len(self._states) - 1, target, name, formula))

    def taken(self, place: int) -> Conjuncts:
        """The conditions on an event that is bound at this place in the order."""
        ix, bound = self._order[place], self._order[:place]
        placed, unit = self._placement.components[ix], self._units[ix]
        yield self._text.type_test(unit)
        yield from self._text.equivalences(unit, is_first=not bound)
        yield from self._ordered(ix, bound)
        for clause in placed.tested_with(sum(1 << other for other in bound)):
            yield self._text.clause(clause)
        yield from self._text.at_least(placed.component.variable, placed.least)
        if 1 < placed.most < UNBOUNDED:
            yield (f"{self.name(ix)}.LEN <= {placed.most}",)
        if bound:
            yield from self._text.within(unit)

    def _ordered(self, ix: int, bound: Sequence[int]) -> Iterator[tuple[str]]:
        """The order of a component and its nearest neighbours among the bound ones."""
        before = self._alternative.before
        for other in bound:
            for first, second in ((other, ix), (ix, other)):
                if (first, second) in before and not any(
                    (first, each) in before and (each, second) in before for each in bound
                ):
                    yield (f"{self.name(first)} before {self.name(second)}",)

    def _place_after(self, negation: NegatedComponent) -> int:
        """A negation is tested as soon as all components it needs are bound, or at the end."""
        if negation.waits or negation not in self._placement.early:
            return len(self._order) - 1
        needed = needed_by(self._alternative, negation)
        return max(self._order.index(ix) for ix in needed)

    def name(self, ix: int) -> str:
        """The variable of a component, quoted where it needs to be."""
        return self._text.name(self._alternative.components[ix].variable)
