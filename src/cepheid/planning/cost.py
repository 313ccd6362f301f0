"""What an order of evaluation costs: how many partial matches it makes and tests.

The number of partial matches of some components depends on which they are, and not on the order
in which they were bound: the product of how many events there are of each in a window, times the
part of the pairs that satisfy the conditions between them. So the best order is found by going
through sets of components instead of orders [Kolchinsky17 §4.1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

_MOST_EXACT = 12
"""With more components, the order is the one of frequency."""
_IN_ORDER = 0.5
"""How many pairs of events come in a wanted order."""
_MOST_EVENTS = 40.0


@dataclass(frozen=True, slots=True)
class Workload:
    """What is known of the components of an alternative.

    ``events`` has how many events of each there are in a window; ``lists`` are the components
    that take any of them together; ``selectivities`` has for pairs the part that satisfies the
    conditions, ``before`` the pairs that come in that order. Events of a ``linked`` pair are
    looked up by the value that they agree in, so that others are not tested.
    """

    events: Sequence[float]
    lists: frozenset[int] = frozenset()
    before: frozenset[tuple[int, int]] = frozenset()
    selectivities: Mapping[tuple[int, int], float] = field(default_factory=dict)
    linked: frozenset[tuple[int, int]] = frozenset()

    def choices(self, component: int) -> float:
        """How many ways there are to bind a component by itself."""
        events = self.events[component]
        if component not in self.lists:
            return events
        return float(2.0 ** min(events, _MOST_EVENTS)) - 1.0 + events

    def looked_up(self, component: int, bound: Sequence[int]) -> float:
        """The part of a component's events that are visited where these others are bound."""
        pairs = ((min(component, other), max(component, other)) for other in bound)
        parts = (self.selectivities.get(pair, 1.0) for pair in pairs if pair in self.linked)
        return min(parts, default=1.0)

    def fraction(self, a: int, b: int) -> float:
        """The part of the pairs of two components that can be together in a match."""
        selectivity = self.selectivities.get((min(a, b), max(a, b)), 1.0)
        is_ordered = (a, b) in self.before or (b, a) in self.before
        return selectivity * (_IN_ORDER if is_ordered else 1.0)


def order_cost(workload: Workload, order: Sequence[int]) -> float:
    """How many events are tested, for the events of one window, when bound in this order.

    >>> rare_first = Workload([1.0, 100.0])
    >>> order_cost(rare_first, (0, 1)) < order_cost(rare_first, (1, 0))
    True
    """
    cost, partial = 0.0, 1.0
    for place, component in enumerate(order):
        tested = partial * workload.choices(component)
        cost += tested * workload.looked_up(component, order[:place])
        partial = tested
        for other in order[:place]:
            partial *= workload.fraction(component, other)
    return cost


def best_order(workload: Workload) -> tuple[int, ...]:
    """The order that costs least; of equal ones the first.

    >>> best_order(Workload([50.0, 2.0, 9.0]))
    (1, 2, 0)
    """
    count = len(workload.events)
    if count > _MOST_EXACT:
        return tuple(sorted(range(count), key=lambda ix: (workload.choices(ix), ix)))
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for size in range(1, count + 1):
        for members in combinations(range(count), size):
            chosen = frozenset(members)
            best[chosen] = min(
                (order_cost(workload, order), order)
                for last in members
                for order in [(*best[chosen - {last}][1], last)]
            )
    return best[frozenset(range(count))][1]
