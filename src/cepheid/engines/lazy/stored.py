"""What the arrays of a lazy engine must be in a snapshot, so that its kernels can follow them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.codegen.expressions import Storage
from cepheid.engines.base.engine import Restored
from cepheid.engines.base.kernels import links
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.registers import Registers
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.compile import LazyAutomaton
from cepheid.engines.lazy.layout import NONE, SLOT_FIRST, SLOT_NODE, State
from cepheid.events.arrays import Int64s, int64s
from cepheid.snapshot_checks import FAR, ROW, check_arrays, expected, require
from cepheid.snapshots import Arrays

_PARTS = ("store", "groups", "plans")


def check_store(state: Arrays, automaton: LazyAutomaton, restored: Restored) -> None:
    """Check the events that are kept."""
    described = {
        "numbers": expected(np.int64, "events", each=(0, "next")),
        "axis": expected(np.int64, "events"),
        "partitions": expected(np.int64, "events", each=(0, FAR)),
        "masks": expected(np.int64, "events"),
        "groups": expected(np.int64, "events", len(automaton.group_columns), each=(NONE, FAR)),
        "has_nulls": expected(np.bool_, len(automaton.columns)),
    }
    for ix, (_, storage) in enumerate(automaton.columns):
        dtype = np.float64 if storage is Storage.FLOAT else np.int64
        described[f"values{ix}"] = expected(dtype, "events")
        described[f"valid{ix}"] = expected(np.uint8, "events", each=(0, 2))
    check_arrays(state, described, next=restored.events.stop)
    numbers = state["numbers"]
    require((np.diff(numbers) > 0).all(), "events are in no order")
    is_known = (numbers >= restored.events.start) | (state["axis"] <= restored.edge)
    require(is_known.all(), "an event is not retained")


class MemoryCheck:
    """Checks the instances and input buffers of a snapshot; its events were checked before."""

    def __init__(self, state: Arrays, automaton: LazyAutomaton, own: State) -> None:
        self._state = state
        self._tables = automaton.tables
        self._count = len(automaton.tables.components)
        self._slots = automaton.slot_roles * self._count
        self._own = own

    def run(self, registers: Registers, partitions: int, groups: int) -> None:
        """Refuse a state that no engine can have stored."""
        state, count, events = self._state, self._count, len(self._state["store.numbers"])
        described = {
            "control": expected(
                layout.CONTROL, 1, component=(0, 1), list=(0, 1), top=(0, 1), ids=(0, 1),
                matches=(0, 1), current=(layout.UNSEEN, layout.UNSEEN + 1), waits=(0, FAR),
                swept=(0, FAR), free=(NONE, "instances"),
            ),
            "instances": expected(layout.INSTANCE, "instances"),
            "slots": expected(np.int64, "instances", self._slots),
            **registers.expected("instances"),
            "waiting": expected(np.int64, "rows", count, each=(NONE, "instances")),
            "buffers": expected(layout.BUFFER, "rows", count + len(self._tables.negations)),
            "nows": expected(np.int64, "rows"),
            "pool": expected(np.int64, "pool", each=(0, max(events, 1))),
            "nodes": expected(layout.NODE, "nodes", event=(0, "events"), previous=(NONE, ROW)),
            "evaluations": expected(np.int64, len(self._own.evaluations)),
            "negations": expected(
                layout.NEGATION, len(self._tables.negations), is_late=(0, 2), tested=(0, FAR),
                refused=(0, FAR),
            ),
        }  # fmt: skip
        sizes = check_arrays(state, described, _PARTS, events=events)
        control = state["control"][0]
        for name in ("window", "by_partition", "in_order", "fanout"):
            require(control[name] == self._own.control[0][name], f"{name} is {control[name]}")
        for name, size in (("at", events), ("nodes", sizes["nodes"]), ("pool", sizes["pool"])):
            require(control[name] == size, f"{name} is {control[name]}")
        for name in ("after", "before", "predicate"):
            are_own = state["negations"][name] == self._tables.negations[name]
            require(are_own.all(), "negations are other ones")
        self._check_rows(sizes["rows"], partitions, groups)
        self._check_buffers(sizes["pool"])
        self._check_instances(sizes)

    def _check_rows(self, rows: int, partitions: int, groups: int) -> None:
        """Check the partitions and groups of events: partitions have even rows, groups odd ones."""
        own, grouped = self._state["store.partitions"], self._state["store.groups"]
        stride = 2 if grouped.shape[1] else 1
        are_rows = (own < min(rows, stride * partitions)) & (own % stride == 0)
        require(are_rows.all(), "an event is in an unknown partition")
        are_rows = (grouped < min(rows, 2 * groups)) & ((grouped == NONE) | (grouped % 2 == 1))
        require(are_rows.all(), "an event is in an unknown group")

    def _check_buffers(self, pool: int) -> None:
        buffers = self._state["buffers"]
        low, count, first, room = (buffers[name] for name in ("low", "count", "first", "room"))
        for numbers in (low, count, first, room):
            require(((numbers >= 0) & (numbers <= pool)).all(), "a buffer is outside the pool")
        is_inside = (first + room <= pool) & (low >= first) & (low + count <= first + room)
        require(is_inside.all(), "a buffer is outside its room")

    def _check_instances(self, sizes: dict[str, int]) -> None:
        state, count, table = self._state, self._count, self._state["instances"]
        firsts = np.append(state["waiting"].ravel(), state["control"]["free"])
        list_of, lengths = np.full(len(table), NONE), int64s(len(firsts))
        are_lists = links.follow_lists(firsts, table["link"].copy(), list_of, lengths)
        require(are_lists and (list_of >= 0).all(), "instances are in no list, or in two")
        require(state["control"]["free_count"][0] == lengths[-1], "free instances are missing")
        is_live = list_of < len(firsts) - 1
        require(((table["bound"] != layout.FREE) == is_live).all(), "a free instance is in use")
        live = table[is_live]
        described = expected(
            layout.INSTANCE, "live", bound=(0, 1 << count), next=(0, count), count=(0, FAR),
            length=(1, FAR), first=(0, "events"), last=(0, "events"), row=(0, "rows"),
            partition=(0, "rows"), plan=(0, layout.PLANS), step=(0, FAR), node=(NONE, "nodes"),
        )  # fmt: skip
        check_arrays({"instances": live}, {"instances": described}, (), **sizes)
        waits = live["row"] * count + live["next"]
        require((waits == list_of[is_live]).all(), "an instance waits elsewhere")
        self._check_bound(live, state["slots"][is_live])

    def _check_bound(self, live: Rows, slots: Int64s) -> None:
        """Check the events that instances have bound."""
        state, count = self._state, self._count
        events, axis = len(state["store.numbers"]), state["store.axis"]
        partitions, nodes = state["store.partitions"], state["nodes"]
        is_same = (axis[live["first"]] == live["start"]) & (axis[live["last"]] == live["finish"])
        is_same &= partitions[live["first"]] == live["partition"]
        rows = np.append(partitions, state["store.groups"].ravel())
        is_same &= np.isin(live["row"], rows)
        require(is_same.all(), "an instance has other events")
        is_later = nodes["event"] > nodes["event"][nodes["previous"]]
        require((is_later | (nodes["previous"] == NONE)).all(), "a list is in no order")
        chains = int64s(len(nodes))
        links.measure_chains(nodes["previous"].copy(), chains)
        total = int64s(len(live))
        for component in range(count):
            is_next = live["next"] == component
            is_bound = (live["bound"] >> component) & 1 != 0
            require(not (is_next & is_bound).any(), "an instance binds a component twice")
            has = is_bound | (is_next & (live["count"] > 0))
            _check_events(slots[has, component], events)
            if not self._tables.components[component]["is_kleene"]:
                total += has
                continue
            _check_events(slots[has, SLOT_FIRST * count + component], events)
            ends = slots[has, SLOT_NODE * count + component]
            require(((ends >= 0) & (ends < len(nodes))).all(), "a list has no events")
            total[has] += chains[ends]
            are_counted = ~is_next[has] | (chains[ends] == live["count"][has])
            require(are_counted.all(), "a list has another length")
        require((total == live["length"]).all(), "an instance has another length")


def _check_events(numbers: Int64s, events: int) -> None:
    require(((numbers >= 0) & (numbers < events)).all(), "an instance has an unknown event")


def check_plans(state: Arrays, count: int, members: Sequence[frozenset[int]]) -> None:
    """Check the plans, for this many components and the components of each alternative."""
    steps = 1 + sum(map(len, members))
    numbers = "seen", "sampled", "latest", "is_tree", "has_old", "retires"
    described = {
        "steps": expected(layout.STEP, layout.PLANS, steps),
        "parts": expected(np.int64, count, count),
        "table": expected(layout.PLAN, layout.PLANS, is_alive=(0, 2), is_tree=(0, 2)),
        "orders": expected(np.int64, "orders", each=(0, count)),
        "counts": expected(np.number, count + 1, each=(0, FAR)),
        "numbers": expected(np.int64, len(numbers), each=(-FAR, FAR)),
        "density": expected(np.float64, count + 1, each=(0, FAR)),
        "pairs": expected(np.int64, "pairs", 2, each=(0, count)),
        "selectivities": expected(np.number, "pairs", each=(0, 2)),
    }
    check_arrays(state, described)
    known = dict(zip(numbers, state["numbers"].tolist(), strict=True))
    is_known = known["seen"] >= 0 and known["sampled"] >= 0 and known["latest"] in (0, 1)
    require(is_known and {known["is_tree"], known["has_old"]} <= {0, 1}, "plans are unknown")
    table, orders = state["table"], state["orders"].tolist()
    require(not table["is_tree"].any() or len(members) == 1, "a plan is a tree")
    is_planned = bool(table["is_alive"].any())
    require(is_planned == bool(orders), "a plan has no order")
    if is_planned:
        require(table["is_alive"][known["latest"]], "the latest plan is not alive")
        require(len(orders) == steps - 1, "an order is too short")
        for each in members:
            order, orders = orders[: len(each)], orders[len(each) :]
            require({*order} == each, "an order has other components")


def check_followed(plans: Arrays, live: Rows, members: Sequence[frozenset[int]]) -> None:
    """Check the steps that instances follow: each plan that is in use is a tree of steps."""
    for plan in range(layout.PLANS):
        steps, here = plans["steps"][plan], live[live["plan"] == plan]
        if not len(here) and not plans["table"][plan]["is_alive"]:
            continue
        bound = _bound_before(steps, members)
        if not plans["table"][plan]["is_tree"]:
            require((here["step"] < len(steps)).all(), "an instance is at an unknown step")
            require((bound[here["step"]] == here["bound"]).all(), "an instance is at another step")
            are_next = steps["component"][here["step"]] == here["next"]
            require(are_next.all(), "an instance binds another component")


def _bound_before(steps: Rows, members: Sequence[frozenset[int]]) -> Int64s:
    """The components that are bound before each step, as bits; NONE where there is no step.

    The children of a step have greater numbers, the latest first.
    """
    bound = np.full(len(steps), NONE, dtype=np.int64)
    components = [sum(1 << component for component in each) for each in members]
    waiting = [(0, int(steps[0]["child"]), 0)]
    require(steps[0]["child"] != NONE, "a plan has no steps")
    while waiting:
        parent, step, before = waiting.pop()
        if step == NONE:
            continue
        require(parent < step < len(steps) and bound[step] == NONE, "a plan has no such step")
        component, child, sibling, finals = steps[step].tolist()
        is_new = 0 <= component < 32 and not (before >> component) & 1
        require(is_new and 0 <= finals < 1 << len(members), "a step binds no component")
        after = before | (1 << component)
        ends = [each for number, each in enumerate(components) if (finals >> number) & 1]
        are_ends = all(each == after for each in ends) and (child != NONE or bool(ends))
        require(are_ends, "a plan ends without a match")
        bound[step] = before
        waiting += [(parent, sibling, before), (step, child, after)]
    return bound
