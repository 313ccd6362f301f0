"""The lazy chain of an alternative as states, edges and formulas [Kolchinsky17 §4].

The states are in the order in which components are bound, the rarest first. The order of the
pattern is a condition like any other. An event of a component that is bound later is stored; when
an instance reaches that component, it searches the stored events and waits for new ones. Order and
conditions are those that :mod:`cepheid.engines.lazy.placement` gives to the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.codegen.edges import EventUnit, current_event
from cepheid.codegen.layout import UNBOUNDED
from cepheid.engines.lazy.placement import needed_by, place_lazily
from cepheid.engines.lazy.sharing import chain_orders
from cepheid.explain.automaton import FINAL, Automaton, Edge, EdgeKind, State, filters_of
from cepheid.explain.conditions import ConditionText, Conjuncts
from cepheid.explain.formula import Formula
from cepheid.language import syntax as ast
from cepheid.language.printer import print_window


def lazy_chains(
    query: AnalysedQuery, statistics: Mapping[str, float] | None
) -> tuple[Automaton, ...]:
    """The chain of each alternative, for these numbers of events of each type in a window.

    Without statistics components are bound in pattern order.

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
    return tuple(
        _Chain(query, alternative, order).automaton()
        for alternative, order in zip(query.alternatives, orders, strict=True)
    )


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

    def automaton(self) -> Automaton:
        components = self._alternative.components
        states = [
            State(self._name(ix) + ("[]" if components[ix].is_kleene else ""), components[ix])
            for ix in self._order
        ]
        edges: list[Edge] = []
        for place, state in enumerate(states):
            taken = Formula(tuple(self._taken(place)))
            take, store = EdgeKind.TAKE, EdgeKind.STORE
            edges.append(Edge(take, place, place + 1, state.edge_name(take), taken))
            later = [self._text.type_test(self._units[ix])[0] for ix in self._order[place + 1 :]]
            if later:
                stored = Formula((tuple(later),))
                edges.append(Edge(store, place, place, state.edge_name(store), stored))
        pattern = ast.Sequence if self._alternative.is_sequence else ast.Conjunction
        states.append(State(FINAL, None))
        gaps = map(self._gap, self._alternative.negations)
        filters = filters_of(self._alternative, self._text, gaps)
        return Automaton(pattern(components), tuple(states), tuple(edges), filters)

    def _taken(self, place: int) -> Conjuncts:
        ix, bound = self._order[place], self._order[:place]
        placed, unit = self._placement.components[ix], self._units[ix]
        yield self._text.type_test(unit)
        yield from self._text.equivalences(unit, is_first=not bound)
        yield from self._ordered(ix, bound)
        for clause in placed.tested_with(sum(1 << other for other in bound)):
            yield self._text.clause(clause)
        yield from self._text.at_least(placed.component.variable, placed.least)
        if 1 < placed.most < UNBOUNDED:
            yield (f"{self._name(ix)}.LEN <= {placed.most}",)
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
                    yield (f"{self._name(first)} before {self._name(second)}",)

    def _gap(self, negation: NegatedComponent) -> int | None:
        """A negation is tested as soon as all components it needs are bound, or at the end."""
        if negation.waits:
            return None
        if negation not in self._placement.early:
            return len(self._order)
        needed = needed_by(self._alternative, negation)
        return max(self._order.index(ix) for ix in needed) + 1

    def _name(self, ix: int) -> str:
        return self._text.name(self._alternative.components[ix].variable)
