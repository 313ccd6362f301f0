"""In which order a lazy automaton binds components, and when that changes.

A plan is an order of frequency for each alternative, and those that begin alike have their
beginning in common; of a tree only the first component counts, the rest is chosen by each
instance. A new plan finds the matches whose first event comes after it was made, and the
old one goes on until all others are found, one window later: so every match is found once. Its
last instances have left the window after another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

from cepheid.engines.base.statistics import RunningCounts
from cepheid.engines.base.workload import Workload, best_orders, orders_cost
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.kernels import memory as lazy_memory
from cepheid.engines.lazy.placement import Orders
from cepheid.engines.lazy.store import EventStore
from cepheid.engines.lazy.tables import LazyAutomaton
from cepheid.events.arrays import Int64s
from cepheid.events.time_axis import MAX_TICKS
from cepheid.snapshots import Arrays

_SAMPLE = 256
"""How many pairs of events tell how often a condition holds."""
_GAIN = 1.5
"""A plan is replaced where another is better by this factor."""
_CHANGE = 1.25
"""Whether a plan is the best is looked at again where a rate has changed by this factor."""
_SETTLED = 16_384
"""After so many events a chain that has to change becomes a tree, which is for what changes."""


class LazyPlans:
    """The plans of an automaton; ``steps``, ``parts`` and ``table`` are what the kernel reads."""

    def __init__(
        self,
        automaton: LazyAutomaton,
        statistics: Mapping[str, float] | None,
        is_tree: bool,
        window: int,
        by_partition: bool,
    ) -> None:
        self._automaton = automaton
        self._is_tree = is_tree
        self._window = window
        self._by_partition = by_partition
        count = len(automaton.components)
        self._members = [frozenset(each) for each in automaton.placement.alternatives]
        size = 1 + sum(map(len, self._members))
        self.steps: npt.NDArray[np.void] = np.zeros((layout.PLANS, size), dtype=layout.STEP)
        self.parts = np.full((count, count), layout.WHOLE, dtype=np.int64)
        self._orders: tuple[tuple[int, ...], ...] = ()
        self.table: npt.NDArray[np.void] = np.zeros(layout.PLANS, dtype=layout.PLAN)
        self.table["is_tree"] = is_tree
        self._counts = RunningCounts(count)
        self._seen = self._sampled = 0
        self._density = 0.0
        self._planned = [0.0] * count
        self._latest = 0
        self._retires: int | None = None
        self._selectivities: dict[tuple[int, int], float] = {}
        self._is_given = statistics is not None
        if statistics is not None:
            self._selectivities = automaton.placement.selectivities(statistics)
            self._write_parts()
            self._begin(automaton.placement.given_orders(statistics))

    @property
    def fanout(self) -> int:
        """The most steps that can follow a step."""
        return len(self._members)

    def update(
        self,
        store: EventStore,
        low: int,
        high: int,
        control: npt.NDArray[np.void],
        context: Int64s,
    ) -> None:
        """Look at the events that are read next, and make a new plan where that pays."""
        self._retire(int(control[0]["now"]))
        if self._is_given:
            return
        self._count(store, low, high)
        is_first = not self.table["is_alive"].any()
        if not is_first and (self._by_partition or self._window == MAX_TICKS):
            return
        if self._retires is not None:
            return
        rates = self._counts.rates()
        if self._seen >= 2 * self._sampled:
            self._sample(store, int(control[0]["predicate"]), context, high)
        elif not self._have_changed(rates):
            return
        self._planned = rates
        workload = self._workload(rates)
        orders = best_orders(workload, self._members)
        if is_first:
            self._begin(orders)
        elif self._is_better(workload, orders):
            # What drifts after a while may drift again: from now on each instance chooses.
            self._is_tree |= self._seen > _SETTLED and len(self._members) == 1
            self._switch(orders, low, int(control[0]["now"]))

    def _have_changed(self, rates: list[float]) -> bool:
        """Whether events of a component have become more or less frequent since the last look."""
        return any(
            new > _CHANGE * old or old > _CHANGE * new
            for new, old in zip(rates, self._planned, strict=True)
        )

    def _is_better(self, workload: Workload, orders: Orders) -> bool:
        if self._is_tree:
            new, old = orders[0][0], self._orders[0][0]
            return new != old and _GAIN * workload.events[new] < workload.events[old]
        return _GAIN * orders_cost(workload, orders) < orders_cost(workload, self._orders)

    def _write(self, plan: int, orders: Orders) -> None:
        """Write the orders as steps, of which equal beginnings are the same."""
        self._orders = orders
        steps = self.steps[plan]
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

    def _begin(self, orders: Orders) -> None:
        self._write(0, orders)
        self.table[0]["is_alive"], self.table[0]["until"] = 1, layout.FAR

    def _switch(self, orders: Orders, at: int, now: int) -> None:
        old, new = self._latest, 1 - self._latest
        self.table[old]["until"] = at
        self._write(new, orders)
        row = self.table[new]
        row["is_tree"] = self._is_tree
        row["is_alive"], row["since"], row["until"] = 1, at, layout.FAR
        self._latest = new
        self._retires = now + self._window

    def _retire(self, now: int) -> None:
        if self._retires is None or now < self._retires:
            return
        self.table[1 - self._latest]["is_alive"] = 0
        # What it has begun last leaves the window only now: its place can be taken.
        if now - self._retires >= self._window:
            self._retires = None

    def renumber(self, places: Int64s, count: int) -> None:
        """Events have new numbers: ``places`` by the old one."""
        for name in ("since", "until"):
            for plan in range(layout.PLANS):
                at = int(self.table[plan][name])
                if 0 < at < layout.FAR:
                    self.table[plan][name] = places[at] if at < len(places) else count

    # --- statistics

    def _count(self, store: EventStore, low: int, high: int) -> None:
        masks = store.masks[low:high]
        fitting = [int(((masks >> ix) & 1).sum()) for ix in range(len(self._automaton.components))]
        span = int(store.axis[high - 1]) - int(store.axis[low]) if high > low else 0
        self._counts.add(fitting, high - low)
        self._seen += high - low
        partitions = len(np.unique(store.partitions[low:high])) if high > low else 1
        self._density = (high - low) / max(span, 1) / max(partitions, 1)

    def _workload(self, rates: list[float]) -> Workload:
        """What a window of one partition has, as far as it is known."""
        events = self._density * min(self._window, 1e15)
        seen = max(self._counts.seen, 1.0)
        scale = min(events, seen) if self._density else seen
        events_of = [rate * scale for rate in rates]
        return self._automaton.placement.workload(events_of, self._selectivities)

    def _write_parts(self) -> None:
        for (a, b), part in self._selectivities.items():
            millionths = max(int(part * layout.WHOLE), 1)
            self.parts[a, b] = self.parts[b, a] = millionths

    def _sample(
        self,
        store: EventStore,
        predicate: int,
        context: Int64s,
        high: int,
    ) -> None:
        """How often the conditions between two single components hold, for random pairs."""
        random = np.random.default_rng(0)
        self._selectivities = {}
        self._sampled = self._seen
        slots = np.zeros((1, int(context[layout.CONTEXT_SLOTS_STRIDE])), dtype=np.int64)
        context = context.copy()
        context[layout.CONTEXT_SLOTS] = slots.ctypes.data
        fitting = [
            np.flatnonzero((store.masks[:high] >> ix) & 1)
            for ix in range(len(self._automaton.components))
        ]
        for ix, each in enumerate(self._automaton.components):
            for test in each.tests:
                other = test.needs.bit_length() - 1
                if test.phase != layout.BIND or test.needs != 1 << other or other > ix:
                    continue
                if self._automaton.components[other].component.is_kleene:
                    continue
                if not len(fitting[ix]) or not len(fitting[other]):
                    continue
                events = random.choice(fitting[ix], _SAMPLE).astype(np.int64)
                others = random.choice(fitting[other], _SAMPLE).astype(np.int64)
                satisfied = lazy_memory.count_satisfied(
                    predicate, context.ctypes.data, test.predicate, slots, other, events, others
                )
                part = (satisfied + 0.5) / (_SAMPLE + 1)
                pair = (other, ix)
                self._selectivities[pair] = self._selectivities.get(pair, 1.0) * part
        self._write_parts()

    # --- snapshots

    def state(self) -> Arrays:
        """The plans as arrays, for a snapshot."""
        pairs = list(self._selectivities)
        retires = layout.NONE if self._retires is None else self._retires
        return {
            "steps": self.steps,
            "parts": self.parts,
            "orders": np.array([each for order in self._orders for each in order], np.int64),
            "table": self.table,
            "counts": np.array([*self._counts.counts, self._counts.seen]),
            "numbers": np.array(
                [
                    self._seen,
                    self._sampled,
                    self._latest,
                    self._is_tree,
                    self._retires is not None,
                    retires,
                ],
                dtype=np.int64,
            ),
            "density": np.array([self._density, *self._planned]),
            "pairs": np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
            "selectivities": np.array([self._selectivities[pair] for pair in pairs]),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self.steps, self.parts, self.table = state["steps"], state["parts"], state["table"]
        places = iter(state["orders"].tolist())
        if len(state["orders"]):
            self._orders = tuple(tuple(islice(places, len(each))) for each in self._members)
        *self._counts.counts, self._counts.seen = state["counts"].tolist()
        numbers = state["numbers"].tolist()
        self._seen, self._sampled, self._latest, self._is_tree, has_old, retires = numbers
        self._retires = retires if has_old else None
        self._density, *self._planned = state["density"].tolist()
        self._selectivities = {
            (a, b): part
            for (a, b), part in zip(
                state["pairs"].tolist(), state["selectivities"].tolist(), strict=True
            )
        }
