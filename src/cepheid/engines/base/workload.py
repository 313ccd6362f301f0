"""The cost of an evaluation order: how many partial matches it makes and tests.

The number of partial matches depends on the set of bound components, and not on the order in
which they were bound. It is the product of the number of events of each in a window and of the
selectivities of the conditions between them. So the best order is found by dynamic programming
over sets of components instead of orders [Kolchinsky17 §4.1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

_MOST_EXACT = 12
"""With more components than this, the order is by frequency."""
_MOST_EVENTS = 40.0


@dataclass(frozen=True, slots=True)
class Workload:
    """The statistics of the components of an alternative.

    ``events`` has the number of events of each in a window. ``lists`` are the components that
    bind any set of events. ``before`` has the pairs that come in this order, and
    ``selectivities`` the fraction of pairs that satisfy the conditions. Events of a ``linked``
    pair are looked up by a common value, so that others are not tested. Frequencies that
    ``drift`` are very different in different parts of the stream.
    """

    events: Sequence[float]
    lists: frozenset[int] = frozenset()
    before: frozenset[tuple[int, int]] = frozenset()
    selectivities: Mapping[tuple[int, int], float] = field(default_factory=dict)
    linked: frozenset[tuple[int, int]] = frozenset()
    drifts: bool = False

    def choices(self, component: int) -> float:
        """The number of ways to bind a component, without regard to the others."""
        events = self.events[component]
        if component not in self.lists:
            return events
        return float(2.0 ** min(events, _MOST_EVENTS)) - 1.0 + events

    def looked_up(self, component: int, bound: Sequence[int]) -> float:
        """The fraction of a component's events that are visited when these others are bound."""
        if not self.linked:
            return 1.0
        pairs = ((min(component, other), max(component, other)) for other in bound)
        parts = (self.selectivities.get(pair, 1.0) for pair in pairs if pair in self.linked)
        return min(parts, default=1.0)

    def fraction(self, component: int, bound: Sequence[int]) -> float:
        """The fraction of the choices that fit together with the bound components."""
        part = _in_order(self.before, frozenset((*bound, component)))
        part /= _in_order(self.before, frozenset(bound))
        for other in bound:
            pair = (min(component, other), max(component, other))
            part *= self.selectivities.get(pair, 1.0)
        return part


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an order on the events of a window.

    ``tests`` is the number of tested events, ``partial`` the number of partial matches, and
    ``matches`` the number of complete matches.
    """

    tests: float
    partial: float
    matches: float


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """The cost of an event, a partial match, a tested event and a match, for one evaluation.

    The unit is the test of a condition by nfa_b. The numbers were measured with
    ``python -m benchmarks.auto_choice``.
    """

    event: float
    partial: float
    test: float
    match: float

    def total(self, workload: Workload, work: Work) -> float:
        """The cost of one window."""
        made = self.partial * work.partial + self.match * work.matches
        return self.event * sum(workload.events) + self.test * work.tests + made


@lru_cache(1 << 12)
def _in_order(before: frozenset[tuple[int, int]], members: frozenset[int]) -> float:
    """The fraction of the choices of these components that have their events in order.

    Among n ordered events there are n + 1 places for one more event, and one of them is right.
    """
    part = 1.0
    places = sorted(members)
    for at, component in enumerate(places):
        ordered = sum(
            (component, other) in before or (other, component) in before for other in places[:at]
        )
        part /= ordered + 1
    return part


def orders_cost(workload: Workload, orders: Sequence[Sequence[int]]) -> float:
    """The number of events that are tested in a window, when components are bound in these orders.

    Orders share the cost of a common prefix:

    >>> both = Workload([2.0, 3.0, 4.0])
    >>> orders_cost(both, [(0, 1), (0, 1, 2)]) == orders_cost(both, [(0, 1, 2)])
    True
    >>> orders_cost(both, [(0, 1)]) < orders_cost(both, [(1, 0)])
    True
    """
    return work_of(workload, orders).tests


def work_of(workload: Workload, orders: Sequence[Sequence[int]]) -> Work:
    """The work of binding components in these orders.

    >>> work_of(Workload([2.0, 3.0]), [(0, 1)])
    Work(tests=8.0, partial=2.0, matches=6.0)
    """
    tests = made = matches = 0.0
    made_once: set[tuple[int, ...]] = set()
    tested_once: set[tuple[int, ...]] = set()
    for order in orders:
        partial = 1.0
        for place, component in enumerate(order):
            bound = order[:place]
            if place and tuple(bound) not in made_once:
                made_once.add(tuple(bound))
                made += partial
            tested = partial * workload.choices(component)
            if tuple(order[: place + 1]) not in tested_once:
                tested_once.add(tuple(order[: place + 1]))
                tests += tested * workload.looked_up(component, bound)
            partial = tested * workload.fraction(component, bound)
        matches += partial
    return Work(tests, made, matches)


def best_order(
    workload: Workload, members: Iterable[int] | None = None, bound: Sequence[int] = ()
) -> tuple[int, ...]:
    """The cheapest order of these components, or of all; the first one on a tie.

    The components in ``bound`` come before them.

    >>> best_order(Workload([50.0, 2.0, 9.0]))
    (1, 2, 0)
    >>> best_order(Workload([50.0, 2.0, 9.0]), {0, 2}, bound=[1])
    (2, 0)
    """
    every = sorted(range(len(workload.events)) if members is None else members)
    count = len(every)
    if count > _MOST_EXACT:
        return tuple(sorted(every, key=lambda ix: (workload.choices(ix), ix)))
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    # The number of partial matches of a set of components does not depend on their order.
    partial = {frozenset[int](): 1.0}
    for size in range(1, count + 1):
        for chosen in map(frozenset, combinations(every, size)):
            top = max(chosen)
            others = partial[chosen - {top}] * workload.choices(top)
            partial[chosen] = others * workload.fraction(top, (*bound, *(chosen - {top})))
            orders = []
            for last in sorted(chosen):
                cost, order = best[chosen - {last}]
                tested = partial[chosen - {last}] * workload.choices(last)
                cost += tested * workload.looked_up(last, (*bound, *order))
                orders.append((cost, (*order, last)))
            best[chosen] = min(orders)
    return best[frozenset(every)][1]


def best_orders(
    workload: Workload, alternatives: Sequence[frozenset[int]]
) -> tuple[tuple[int, ...], ...]:
    """An order for each alternative: the best one for each, or orders with common prefixes.

    The choice is whichever costs less when prefixes are shared [Kolchinsky17 §5].

    >>> rare = Workload([5.0, 5.0, 4.0, 4.0])
    >>> best_orders(rare, [frozenset({0, 1, 2}), frozenset({0, 1, 3})])
    ((0, 1, 2), (0, 1, 3))
    """
    alone = tuple(best_order(workload, members) for members in alternatives)
    if len(alternatives) == 1:
        return alone
    found: dict[int, tuple[int, ...]] = {}
    _share_prefixes(workload, dict(enumerate(alternatives)), (), found)
    alike = tuple(found[number] for number in range(len(alternatives)))
    return min((alike, alone), key=lambda orders: orders_cost(workload, orders))


def _share_prefixes(
    workload: Workload,
    alternatives: Mapping[int, frozenset[int]],
    bound: tuple[int, ...],
    found: dict[int, tuple[int, ...]],
) -> None:
    """Make alternatives with the same prefix bind their common components first."""
    left = {number: members - set(bound) for number, members in alternatives.items()}
    common = frozenset[int].intersection(*left.values())
    if len(left) == 1 or not any(left.values()):
        for number in left:
            found[number] = (*bound, *best_order(workload, common, bound))
        return
    if common:
        _share_prefixes(
            workload, alternatives, (*bound, *best_order(workload, common, bound)), found
        )
        return
    counts = Counter(member for members in left.values() for member in members)
    # The component that most alternatives have; on a tie, the rarest.
    first = min(counts, key=lambda member: (-counts[member], workload.choices(member), member))
    having = {number for number in left if first in left[number]}
    for group in (having, set(left) - having):
        if group:
            _share_prefixes(workload, {n: alternatives[n] for n in sorted(group)}, bound, found)
