"""The lazy chain of an alternative as a person reads it [Kolchinsky17 §4].

The states are in the order in which components are bound, the rarest first, and not in that of
the pattern: what comes before what is a condition like others. An event of a component that is
bound later is stored; when its turn comes, an instance looks for it among what was stored and
what is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.explain.automaton import (
    FINAL,
    Automaton,
    Edge,
    EdgeKind,
    Filter,
    State,
    edge_name,
)
from cepheid.explain.build_automaton import AutomatonBuilder, EventUnit
from cepheid.explain.formula import Formula
from cepheid.language import syntax as ast
from cepheid.language.printer import print_window
from cepheid.planning.estimates import Frequencies, chain_order


def build_chains(
    query: AnalysedQuery, statistics: Mapping[str, float] | None
) -> tuple[Automaton, ...]:
    """The chain of each alternative, for so many events of each type in a window.

    Without statistics components are bound in the order of the pattern.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 5"))
    >>> (chain,) = build_chains(query, {"A": 100, "B": 10, "C": 1})
    >>> print("\\n".join(chain.lines(100)))
    c → b → a → F
    θ_c_take  = c ∈ C
    θ_c_store = b ∈ B ∨ a ∈ A
    θ_b_take  = b ∈ B ∧ b before c ∧ within 5
    θ_b_store = a ∈ A
    θ_a_take  = a ∈ A ∧ a before b ∧ a.x < b.x ∧ within 5
    """
    chains = []
    for alternative in query.alternatives:
        order: Sequence[int] = range(len(alternative.components))
        if statistics is not None:
            order = chain_order(query, alternative, Frequencies(statistics))
        chains.append(_ChainBuilder(query, alternative, order).build())
    return tuple(chains)


class _ChainBuilder(AutomatonBuilder):
    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, order: Sequence[int]
    ) -> None:
        super().__init__(query, alternative)
        self._order = tuple(order)
        self._compared_with = _unit(self._components[self._order[0]])

    def build(self) -> Automaton:
        """The states, edges and filters."""
        parts = [self._components[ix] for ix in self._order]
        states = [
            State(self._name(part.variable) + ("[]" if part.is_kleene else ""), part)
            for part in parts
        ]
        states.append(State(FINAL, None))
        edges: list[Edge] = []
        for place, state in enumerate(states[:-1]):
            taken = Formula(tuple(self._taken(place)))
            name = edge_name(state, EdgeKind.TAKE)
            edges.append(Edge(EdgeKind.TAKE, place, place + 1, name, taken))
            later = tuple(self._type_test(part, _unit(part))[0] for part in parts[place + 1 :])
            if later:
                name = edge_name(state, EdgeKind.STORE)
                edges.append(Edge(EdgeKind.STORE, place, place, name, Formula((later,))))
        pattern = ast.Sequence if self._alternative.is_sequence else ast.Conjunction
        filters = tuple(self._filters())
        return Automaton(pattern(self._components), tuple(states), tuple(edges), filters)

    def _taken(self, place: int) -> Iterator[tuple[str, ...]]:
        ix, bound = self._order[place], self._order[:place]
        component = self._components[ix]
        yield self._type_test(component, _unit(component))
        yield from self._equivalences(_unit(component), is_first=not bound)
        yield from self._placed(ix, bound)
        known = {self._components[each].variable for each in (*bound, ix)}
        for clause in self._alternative.clauses:
            is_now = component.variable in clause.variables or not (bound or clause.variables)
            if is_now and clause.variables <= known:
                yield self._clause(clause)
        if component.bounds is not None:
            if component.bounds.least > 1:
                yield self._at_least(component.variable, component.bounds.least)
            if component.bounds.most is not None:
                yield (f"{self._name(component.variable)}.LEN <= {component.bounds.most}",)
        if bound:
            yield from self._near(self._compared_with, _unit(component))

    def _placed(self, ix: int, bound: Sequence[int]) -> Iterator[tuple[str]]:
        """Where a component is among those that are bound, as far as its neighbours say it."""
        before, name = self._alternative.before, self._name(self._components[ix].variable)
        for other in bound:
            there = self._name(self._components[other].variable)
            if (other, ix) in before and not any(
                (other, each) in before and (each, ix) in before for each in bound
            ):
                yield (f"{there} before {name}",)
            if (ix, other) in before and not any(
                (ix, each) in before and (each, other) in before for each in bound
            ):
                yield (f"{name} before {there}",)

    def _filters(self) -> Iterator[Filter]:
        """A negation is looked for as soon as all that is around its place is bound."""
        for negation in self._alternative.negations:
            around = negation.after | negation.before
            last = max(self._order.index(ix) for ix in around) + 1 if around else None
            yield Filter(
                self._name(negation.component.variable),
                self._where(negation),
                None if negation.waits else last,
                Formula(tuple(self._violation(negation, EventUnit(negation.component, None)))),
                negation.waits,
            )

    def _near(self, _earlier: EventUnit, _later: EventUnit) -> Iterator[tuple[str, ...]]:
        """Which event is the first or the last is not known before all are bound."""
        if self._query.query.window is not None:
            yield (f"within {print_window(self._query.query.window)}",)


def _unit(component: ast.Component) -> EventUnit:
    return EventUnit(component, ast.Index.CURRENT if component.is_kleene else None)
