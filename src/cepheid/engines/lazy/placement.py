"""The conditions and the order of the components of a lazy automaton [Kolchinsky17 §4].

This is the one description of a lazy automaton: it is compiled, it decides the order in which
chains bind components, and it is drawn. It needs no schema; without one every type has every
attribute.

A chain binds components in order of frequency, which depends on the events. A condition across
components is therefore listed at each of them, and tested at the one that is bound last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.analysis.partitions import Term, find_equal_attributes
from cepheid.codegen.compiler import is_on_each_event
from cepheid.codegen.edges import least_events, most_events
from cepheid.codegen.sequences import partition_attributes
from cepheid.engines.base.options import BY_COST, FIRST_CHANCE
from cepheid.engines.base.statistics import given_part, given_rates
from cepheid.engines.base.workload import Workload, best_orders
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression
from cepheid.schema import Kind

ASSUMED_OF_EQUALITIES, ASSUMED_OF_OTHERS = 0.1, 0.3
"""The fraction of pairs of events that satisfy a condition without statistics."""

Orders = tuple[tuple[int, ...], ...]
"""The components of each alternative in the order in which they are bound."""


@dataclass(frozen=True, slots=True)
class AcrossComponents:
    """A condition on a component and the components that it ``needs``, a set of bits.

    ``label`` names the condition in statistics and metrics.
    """

    clause: Clause
    needs: int
    label: str


@dataclass(frozen=True, slots=True)
class PlacedComponent:
    """A component, the number of events it takes, its place and its conditions.

    ``earlier`` and ``later`` are the components before and after it, as bits. ``on_event`` are the
    conditions on each of its events alone.
    """

    component: ast.Component
    least: int
    most: int
    earlier: int
    later: int
    on_event: tuple[Clause, ...]
    across: tuple[AcrossComponents, ...]

    def tested_with(self, bound: int) -> list[Clause]:
        """The conditions that are tested at this component when these others are bound."""
        return [*self.on_event, *(c.clause for c in self.across if not c.needs & ~bound)]


@dataclass(frozen=True, slots=True)
class LazyPlacement:
    """One or more alternatives that are evaluated together.

    ``alternatives`` has the components of each. ``early`` are the negated components that are
    tested before a match is complete. ``equal`` are attributes of components that have one value
    in every match, apart from partition attributes.
    """

    alternatives: Orders
    components: tuple[PlacedComponent, ...]
    early: tuple[NegatedComponent, ...]
    partition_attributes: tuple[str, ...]
    equal: tuple[tuple[Term, ...], ...]

    @property
    def linked(self) -> frozenset[tuple[int, int]]:
        """The pairs of components with an equal attribute, by which events are looked up."""
        return frozenset(
            (a, b) for terms in self.equal for a, _ in terms for b, _ in terms if a < b
        )

    def selectivities(
        self, statistics: Mapping[str, float], unknown: float | None = None
    ) -> dict[tuple[int, int], float]:
        """The fraction of pairs of events that satisfy the conditions between two components.

        ``unknown`` is the fraction for a condition without statistics; None assumes one.
        """
        found: dict[tuple[int, int], float] = {}
        for ix, each in enumerate(self.components):
            for condition in each.across:
                other = condition.needs.bit_length() - 1
                if condition.needs.bit_count() != 1 or other > ix:
                    continue
                part = given_part(statistics, condition.label)
                if part is None:
                    part = _assumed(condition.clause) if unknown is None else unknown
                found[other, ix] = found.get((other, ix), 1.0) * part
        return found

    def workload(
        self, events: Sequence[float], selectivities: Mapping[tuple[int, int], float]
    ) -> Workload:
        """The workload of a window with this many events of each component."""
        return Workload(
            [max(count, 1e-3) for count in events],
            frozenset(ix for ix, each in enumerate(self.components) if each.most > 1),
            frozenset(
                (ix, other)
                for ix, each in enumerate(self.components)
                for other in range(len(self.components))
                if each.later >> other & 1
            ),
            selectivities,
            self.linked,
        )

    def given_orders(self, statistics: Mapping[str, float]) -> Orders:
        """The order of each alternative for the given statistics."""
        rates = given_rates(statistics, [each.component for each in self.components])
        workload = self.workload(rates, self.selectivities(statistics))
        return best_orders(workload, [frozenset(each) for each in self.alternatives])


def place_lazily(
    query: AnalysedQuery, alternative: Alternative, negation: str = BY_COST
) -> LazyPlacement:
    """One alternative; ``negation`` is the option that decides which negations are tested early."""
    early = tuple(
        negated
        for negated in alternative.negations
        if is_tested_early(alternative, negated, negation)
    )
    equal = find_equal_attributes(alternative.components, alternative.clauses, query.schema)
    every = tuple(range(len(alternative.components)))
    return place_components(query, alternative, (every,), early, equal)


def is_tested_early(alternative: Alternative, negated: NegatedComponent, method: str) -> bool:
    """Whether a negation is tested as soon as the components that it needs are bound.

    That drops partial matches early. The filter of complete matches is faster, and it is enough
    where little could be dropped: by cost, a negation that needs all components is left to it. The
    two other methods of [Kolchinsky17 §4.4] test all negations at the same stage. A negation that
    extends to the end of the window can only be tested then, and one with its own window, or
    inside a list, is always left to the filter. ``method`` is the option ``negation``.
    """
    if negated.own_window is not None or negated.is_inside:
        return False
    if not negated.after or not negated.before:
        return False
    if method == BY_COST:
        return len(needed_by(alternative, negated)) < len(alternative.components)
    return method == FIRST_CHANCE


def needed_by(alternative: Alternative, negated: NegatedComponent) -> frozenset[int]:
    """The components around a negated one and those that its conditions name."""
    named = {name for clause in negated.clauses for name in clause.variables}
    parts = enumerate(alternative.components)
    return negated.after | negated.before | {ix for ix, part in parts if part.variable in named}


def place_components(
    query: AnalysedQuery,
    alternative: Alternative,
    alternatives: Orders,
    early: tuple[NegatedComponent, ...],
    equal: Sequence[tuple[Term, ...]],
) -> LazyPlacement:
    """The conditions and the order of all components of an alternative.

    ``alternatives`` are those that it represents, by their components, and ``equal`` attributes
    that have one value in every match.
    """
    parts = alternative.components
    on_event: list[list[Clause]] = [[] for _ in parts]
    across: list[list[AcrossComponents]] = [[] for _ in parts]
    for clause in alternative.clauses:
        named = [ix for ix, part in enumerate(parts) if part.variable in clause.variables]
        if not named:
            on_event[0].append(clause)
        elif len(named) == 1 and is_on_each_event(clause, parts[named[0]]):
            on_event[named[0]].append(clause)
        else:
            label = print_expression(clause.expression, query.query)
            for ix in named:
                needs = sum(1 << other for other in named if other != ix)
                across[ix].append(AcrossComponents(clause, needs, label))
    components = tuple(
        PlacedComponent(
            part,
            least_events(part, alternative.clauses),
            most_events(part),
            sum(1 << i for i, j in alternative.before if j == ix),
            sum(1 << j for i, j in alternative.before if i == ix),
            tuple(on_event[ix]),
            tuple(across[ix]),
        )
        for ix, part in enumerate(parts)
    )
    partitions = partition_attributes(query, alternative)
    if query.counts_partitions:
        # A group of a partition without new events would never be evicted.
        equal = ()
    everywhere = [tuple((ix, name) for ix in range(len(parts))) for name in partitions]
    kept = tuple(
        terms
        for terms in equal
        if terms not in everywhere
        and (
            query.schema is None
            or all(query.schema.kind(name) is not Kind.LIST for _, name in terms)
        )
    )
    return LazyPlacement(alternatives, components, early, partitions, kept)


def _assumed(clause: Clause) -> float:
    match clause.literals:
        case (ast.Comparison("=", _, _),):
            return ASSUMED_OF_EQUALITIES
    return ASSUMED_OF_OTHERS
