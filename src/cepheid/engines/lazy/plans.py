"""Plans: the order in which a lazy automaton binds components, and when it changes.

A plan has an order of frequency for each alternative; orders that begin alike share that
beginning. In a tree only the first component matters, and each instance chooses the rest.

A new plan finds the matches with a first event after the plan was made. The old plan continues
for one window, until all other matches are found. So every match is found once. The last
instances of the old plan leave the window one window later.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from cepheid.codegen.layout import CONTEXT_SLOTS, CONTEXT_SLOTS_STRIDE
from cepheid.engines.base.engine import EngineTask
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.statistics import RunningCounts
from cepheid.engines.base.workload import Workload, best_orders, orders_cost
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.compile import LazyAutomaton
from cepheid.engines.lazy.kernels.memory import count_satisfied
from cepheid.engines.lazy.layout import Plans, State
from cepheid.engines.lazy.placement import Orders
from cepheid.engines.lazy.store import EventStore
from cepheid.engines.lazy.stored import check_followed, check_plans
from cepheid.events.arrays import Int64s
from cepheid.events.time_axis import MAX_TICKS
from cepheid.snapshots import Arrays
from cepheid.tuning import tuning

_SAMPLE = 256
"""The number of pairs of events that a selectivity is estimated from."""
_CHANGE = 1.25
"""A plan is compared with others when a rate has changed by this factor."""
_SETTLED = 16_384
"""A chain that has to change after this many events becomes a tree."""


class LazyPlans:
    """The plans of an automaton; the kernel reads ``arrays``."""

    def __init__(self, automaton: LazyAutomaton, task: EngineTask, *, is_tree: bool) -> None:
        self._automaton = automaton
        self._is_tree = is_tree
        self._window = task.window
        self._by_partition = task.by_partition
        count = len(automaton.placement.components)
        self._members = [frozenset(each) for each in automaton.placement.alternatives]
        self._orders: Orders = ()
        self.arrays = Plans(
            np.zeros((layout.PLANS, 1 + sum(map(len, self._members))), dtype=layout.STEP),
            np.full((count, count), layout.WHOLE, dtype=np.int64),
            np.zeros(layout.PLANS, dtype=layout.PLAN),
        )
        self._counts = RunningCounts(count)
        self._seen = self._sampled = 0
        self._density = 0.0
        self._planned = [0.0] * count
        self._latest = 0
        self._retires: int | None = None
        self._selectivities: dict[tuple[int, int], float] = {}
        statistics = task.options.statistics
        self._is_given = statistics is not None
        if statistics is not None:
            self._selectivities = automaton.placement.selectivities(statistics)
            self._write_parts()
            self._begin(0, automaton.placement.given_orders(statistics), 0)

    def update(self, store: EventStore, low: int, high: int, state: State) -> None:
        """Look at the events that are read next, and make a new plan where that pays."""
        control = state.control
        self._retire(int(control[0]["now"]))
        if self._is_given:
            return
        self._count(store, low, high)
        is_first = not self.arrays.table["is_alive"].any()
        if not is_first and (self._by_partition or self._window == MAX_TICKS):
            return
        if self._retires is not None:
            return
        rates = self._counts.rates()
        if self._seen >= 2 * self._sampled:
            self._sample(store, high, state)
        elif not self._have_changed(rates):
            return
        self._planned = rates
        workload = self._workload(rates)
        orders = best_orders(workload, self._members)
        if is_first:
            self._begin(0, orders, 0)
        elif self._is_better(workload, orders):
            # Rates that drift late may drift again: from now on each instance chooses.
            self._is_tree |= self._seen > _SETTLED and len(self._members) == 1
            self._switch(orders, low, int(control[0]["now"]))

    def _have_changed(self, rates: list[float]) -> bool:
        """Whether the frequency of a component has changed since plans were last compared."""
        return any(
            new > _CHANGE * old or old > _CHANGE * new
            for new, old in zip(rates, self._planned, strict=True)
        )

    def _is_better(self, workload: Workload, orders: Orders) -> bool:
        if self._is_tree:
            new, old = orders[0][0], self._orders[0][0]
            return new != old and tuning().plan_gain * workload.events[new] < workload.events[old]
        return tuning().plan_gain * orders_cost(workload, orders) < orders_cost(
            workload, self._orders
        )

    def _write(self, plan: int, orders: Orders) -> None:
        """Write the orders as a tree of steps; equal beginnings are the same steps."""
        self._orders = orders
        steps = self.arrays.steps[plan]
        steps[0] = (layout.NONE, layout.NONE, layout.NONE, 0)
        places: dict[tuple[int, ...], int] = {(): 0}
        for number, order in enumerate(orders):
            for length in range(1, len(order) + 1):
                if order[:length] not in places:
                    before, place = places[order[: length - 1]], len(places)
                    places[order[:length]] = place
                    sibling = steps[before]["child"]
                    steps[place] = (order[length - 1], layout.NONE, sibling, 0)
                    steps[before]["child"] = place
            steps[places[order]]["finals"] |= 1 << number

    def _begin(self, plan: int, orders: Orders, since: int) -> None:
        self._write(plan, orders)
        self.arrays.table[plan] = (1, since, layout.FAR, self._is_tree)
        self._latest = plan

    def _switch(self, orders: Orders, at: int, now: int) -> None:
        self.arrays.table[self._latest]["until"] = at
        self._begin(1 - self._latest, orders, at)
        self._retires = now + self._window

    def _retire(self, now: int) -> None:
        if self._retires is None or now < self._retires:
            return
        old = self.arrays.table[1 - self._latest]
        if old["is_alive"]:
            # Its last instances may have begun just now, whatever was read in between.
            old["is_alive"], self._retires = 0, now
        # After one more window its last instances are gone, and its place is free.
        elif now - self._retires >= self._window:
            self._retires = None

    def renumber(self, places: Int64s, count: int) -> None:
        """Take the new rows of events: ``places`` by the old row."""
        for name in ("since", "until"):
            for plan in range(layout.PLANS):
                at = int(self.arrays.table[plan][name])
                if 0 < at < layout.FAR:
                    self.arrays.table[plan][name] = places[at] if at < len(places) else count

    # --- statistics

    def _count(self, store: EventStore, low: int, high: int) -> None:
        events = store.arrays
        masks, axis = events.masks[low:high], events.axis[low:high]
        fitting = [int(((masks >> ix) & 1).sum()) for ix in range(len(self._planned))]
        span = int(axis[-1]) - int(axis[0]) if high > low else 0
        self._counts.add(fitting, high - low)
        self._seen += high - low
        partitions = len(np.unique(events.partitions[low:high])) if high > low else 1
        self._density = (high - low) / max(span, 1) / max(partitions, 1)

    def _workload(self, rates: list[float]) -> Workload:
        """What is known about a window of one partition."""
        events = self._density * min(self._window, 1e15)
        seen = max(self._counts.seen, 1.0)
        scale = min(events, seen) if self._density else seen
        events_of = [rate * scale for rate in rates]
        return self._automaton.placement.workload(events_of, self._selectivities)

    def _write_parts(self) -> None:
        for (a, b), part in self._selectivities.items():
            millionths = max(int(part * layout.WHOLE), 1)
            self.arrays.parts[a, b] = self.arrays.parts[b, a] = millionths

    def _sample(self, store: EventStore, high: int, state: State) -> None:
        """Estimate how often the conditions between two single components hold, by random pairs."""
        random = np.random.default_rng(0)
        self._selectivities = {}
        self._sampled = self._seen
        predicate, context = int(state.control[0]["predicate"]), state.context.copy()
        slots = np.zeros((1, int(context[CONTEXT_SLOTS_STRIDE])), dtype=np.int64)
        context[CONTEXT_SLOTS] = slots.ctypes.data
        fitting = [
            np.flatnonzero((store.arrays.masks[:high] >> ix) & 1)
            for ix in range(len(self._planned))
        ]
        components, tests = self._automaton.tables.components, self._automaton.tables.tests
        for ix, each in enumerate(components):
            for test in tests[each["test_low"] : each["test_high"]]:
                needs = int(test["needs"])
                other = needs.bit_length() - 1
                if test["phase"] != layout.BIND or needs != 1 << other or other > ix:
                    continue
                if components[other]["is_kleene"]:
                    continue
                if not len(fitting[ix]) or not len(fitting[other]):
                    continue
                events = random.choice(fitting[ix], _SAMPLE).astype(np.int64)
                others = random.choice(fitting[other], _SAMPLE).astype(np.int64)
                satisfied = count_satisfied(
                    predicate,
                    context.ctypes.data,
                    int(test["predicate"]),
                    slots,
                    other,
                    events,
                    others,
                )
                part = (satisfied + 0.5) / (_SAMPLE + 1)
                pair = (other, ix)
                self._selectivities[pair] = self._selectivities.get(pair, 1.0) * part
        self._write_parts()

    # --- snapshots

    def state(self) -> Arrays:
        """The plans as arrays, for a snapshot."""
        pairs = list(self._selectivities)
        has_old, retires = self._retires is not None, self._retires or 0
        numbers = self._seen, self._sampled, self._latest, self._is_tree, has_old, retires
        return {
            **self.arrays._asdict(),
            "orders": np.array([each for order in self._orders for each in order], np.int64),
            "counts": np.array([*self._counts.counts, self._counts.seen]),
            "numbers": np.array(numbers, dtype=np.int64),
            "density": np.array([self._density, *self._planned]),
            "pairs": np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
            "selectivities": np.array([self._selectivities[pair] for pair in pairs]),
        }

    def load(self, state: Arrays, live: Rows) -> None:
        """Take the state of a snapshot, for these instances."""
        check_plans(state, len(self._planned), self._members)
        check_followed(state, live, self._members)
        self.arrays = Plans(**{name: state[name] for name in Plans._fields})
        places = iter(state["orders"].tolist())
        if len(state["orders"]):
            self._orders = tuple(tuple(islice(places, len(each))) for each in self._members)
        *self._counts.counts, self._counts.seen = state["counts"].tolist()
        numbers = state["numbers"].tolist()
        self._seen, self._sampled, self._latest, self._is_tree, has_old, retires = numbers
        self._retires = retires if has_old else None
        self._density, *self._planned = state["density"].tolist()
        pairs = map(tuple, state["pairs"].tolist())
        self._selectivities = dict(zip(pairs, state["selectivities"].tolist(), strict=True))
