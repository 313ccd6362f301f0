"""The moving parts of a lazy engine as arrays: instances, input buffers and events.

They grow when the kernel asks for room, and shrink when events have left the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.codegen.generated import predicate_address
from cepheid.codegen.layout import CONTEXT_SLOTS, CONTEXT_SLOTS_STRIDE
from cepheid.engines.base.engine import EngineTask, Restored
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.registers import Registers
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.compile import LazyAutomaton
from cepheid.engines.lazy.kernels import memory as kernels
from cepheid.engines.lazy.layout import Instances, State
from cepheid.engines.lazy.store import EventStore, Groups
from cepheid.engines.lazy.stored import MemoryCheck, check_store
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.matches.metrics import bytes_of
from cepheid.snapshots import Arrays, part, prefixed
from cepheid.tuning import tuning


class Memory:
    """The state of an automaton between batches: ``arrays`` and ``store`` are for its kernel."""

    def __init__(self, automaton: LazyAutomaton, task: EngineTask) -> None:
        self._automaton = automaton
        self._components = automaton.tables.components
        self._max_runs = task.options.max_runs
        self._kept = 0
        self.groups = Groups(automaton)
        self.store = EventStore(automaton.columns, len(self.groups.columns))
        self.registers = Registers(automaton, 0)
        self.arrays = _first_arrays(automaton, self.registers)
        control = self.arrays.control[0]
        control["window"], control["by_partition"] = task.window, task.by_partition
        control["in_order"] = automaton.in_order
        control["fanout"] = len(automaton.placement.alternatives)
        control["free"] = layout.NONE
        control["current"] = layout.UNSEEN
        control["now"] = np.iinfo(np.int64).min // 2
        control["predicate"] = predicate_address(automaton.source)
        control["context"] = self.arrays.context.ctypes.data
        self._add_instances(tuning().lazy_instances)

    def add_events(self, fresh: int, partitions: int) -> None:
        """Prepare for the events of the store from ``fresh`` on: their groups and buffers."""
        self._number_groups(fresh)
        self._add_rows(self.groups.count(partitions))

    # --- room

    def grow_instances(self) -> None:
        """Double the number of instances, as far as the limit allows."""
        size = len(self.arrays.instances.table)
        if self._max_runs is not None and size >= self._max_runs:
            raise self._too_many_instances()
        self._add_instances(2 * size)

    def grow_nodes(self) -> None:
        """Make room for nodes: drop unreachable ones, and grow if many are left."""
        if 2 * (self._drop_nodes() + 4) > len(self.arrays.nodes):
            self.double("nodes")

    def double(self, name: str) -> None:
        """Double the room of one of the arrays."""
        array = getattr(self.arrays, name)
        doubled: dict[str, Any] = {name: grown(array, 2 * len(array))}
        self.arrays = self.arrays._replace(**doubled)

    def free_expired(self) -> None:
        """Free the waiting instances that no later event can complete."""
        kernels.free_expired(self.arrays)

    def pack_buffers(self) -> None:
        """Drop buffered events that have left the window, and make room for more."""
        axis = self.store.arrays.axis
        needed = kernels.pack_buffers(self.arrays, axis, int64s(0))
        packed = int64s(max(2 * needed, tuning().lazy_pool))
        kernels.pack_buffers(self.arrays, axis, packed)
        self.arrays = self.arrays._replace(inputs=self.arrays.inputs._replace(pool=packed))

    def _drop_nodes(self) -> int:
        places = int64s(len(self.arrays.nodes))
        kept: int = kernels.keep_reachable(self._components, self.arrays, places)
        return kept

    def _add_instances(self, size: int) -> None:
        """Grow to this many instances; the new ones are on the free list."""
        old, control = len(self.arrays.instances.table), self.arrays.control[0]
        self.registers.resize(size)
        table, slots = (grown(array, size) for array in self.arrays.instances[:2])
        added = table[old:]
        added["bound"] = layout.FREE
        added["link"] = np.arange(old + 1, size + 1)
        added["link"][-1] = control["free"]
        control["free"] = old
        control["free_count"] += size - old
        self._take_instances(table, slots)

    def _take_instances(self, table: Rows, slots: Rows) -> None:
        """Use these instances, with their registers; the context points at their slots."""
        context = self.registers.context
        context[CONTEXT_SLOTS], context[CONTEXT_SLOTS_STRIDE] = slots.ctypes.data, slots.shape[1]
        instances = Instances(table, slots, self.registers.arrays)
        self.arrays = self.arrays._replace(instances=instances)

    def _too_many_instances(self) -> LimitError:
        """The error for more instances than allowed; it names what most of them wait for."""
        component = self.crowded()
        assert component is not None
        return LimitError(
            f"there are more than {self._max_runs} instances, most of them waiting for "
            f"'{print_pattern(component)}'; a shorter window, an equivalence test such as [id] or "
            "a condition on that component makes them fewer, and max_runs allows more"
        )

    def crowded(self) -> ast.Component | None:
        """The component that most instances wait for."""
        table = self.arrays.instances.table
        live = table["next"][table["bound"] != layout.FREE]
        components, counts = np.unique(live[live >= 0], return_counts=True)
        if not len(components):
            return None
        return self._automaton.placement.components[int(components[counts.argmax()])].component

    def _add_rows(self, count: int) -> None:
        """Make room for this many partitions and groups."""
        inputs = self.arrays.inputs
        old = len(inputs.waiting)
        if count <= old:
            return
        size = max(count, 2 * old)
        waiting = grown(inputs.waiting, size)
        waiting[old:] = layout.NONE
        inputs = inputs._replace(
            waiting=waiting,
            buffers=grown(inputs.buffers, size),
            nows=grown(inputs.nows, size),
        )
        self.arrays = self.arrays._replace(inputs=inputs)

    # --- eviction

    @property
    def is_large(self) -> bool:
        """Whether about half of the events may have left the window."""
        return self.store.size >= 2 * self._kept + tuning().lazy_few_events

    def evict(self) -> Int64s:
        """Drop the events that have left the window; for each old event its new row."""
        self.free_expired()
        self._drop_nodes()
        self.pack_buffers()
        is_kept = int64s(self.store.size)
        kernels.mark_buffered(self.arrays.inputs, is_kept)
        rows = np.flatnonzero(is_kept)
        places: Int64s = np.cumsum(is_kept) - is_kept
        kernels.renumber(self._components, self.arrays, places)
        self.store.keep(rows)
        self.arrays.control[0]["at"] = self._kept = len(rows)
        if self.groups.numbers.are_many():
            self.renumber_partitions(np.arange(len(self.arrays.inputs.waiting), dtype=np.int64))
        return places

    def used_partitions(self) -> Int64s:
        """For each partition 1 if an event of it is kept."""
        used = int64s(len(self.arrays.inputs.waiting))
        used[self.groups.partitions_of(self.store.arrays.partitions[: self.store.size])] = 1
        return used

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move partition p to ``numbers[p]``, and number the groups anew.

        An instance waits in the row of an event that it has bound, and that event is kept. So
        every row that is needed is the row of an event.
        """
        store, groups = self.store, self.groups
        events = slice(0, store.size)
        partitions = store.arrays.partitions
        old, old_groups = partitions[events].copy(), store.arrays.groups[events].copy()
        partitions[events] = groups.rows_of(numbers[groups.partitions_of(old)])
        groups.numbers = PartitionNumbers()
        self._number_groups(0)
        groups.numbers.settle()
        inputs, instances = self.arrays.inputs, self.arrays.instances.table
        rows = np.full(max(len(inputs.waiting), 1), layout.NONE, dtype=np.int64)
        rows[old] = partitions[events]
        is_group = old_groups >= 0
        rows[old_groups[is_group]] = store.arrays.groups[events][is_group]
        live = np.flatnonzero(instances["bound"] != layout.FREE)
        for name in ("partition", "row"):
            kept = instances[name][live]
            instances[name][live] = np.where(kept >= 0, rows[kept], layout.NONE)
        kept = np.flatnonzero(rows[: len(inputs.waiting)] >= 0)
        by_row = {name: getattr(inputs, name) for name in ("waiting", "buffers", "nows")}
        empty = inputs._replace(**{name: array[:0] for name, array in by_row.items()})
        self.arrays = self.arrays._replace(inputs=empty)
        self._add_rows(int(rows.max()) + 1)
        for name, array in by_row.items():
            getattr(self.arrays.inputs, name)[rows[kept]] = array[kept]

    def _number_groups(self, low: int) -> None:
        """Find the groups of the events of the store from ``low`` on."""
        events, groups = self.store.arrays, self.groups
        fresh, columns = slice(low, self.store.size), self.store.columns(low)
        events.groups[fresh] = groups.number(
            groups.partitions_of(events.partitions[fresh]),
            events.masks[fresh],
            [columns[attribute] for _, attribute in groups.columns],
        )

    # --- snapshots

    def state(self) -> Arrays:
        """The instances, buffers and events as arrays, for a snapshot."""
        control = self.arrays.control.copy()
        control["predicate"] = control["context"] = 0  # an address means nothing elsewhere
        instances, inputs = self.arrays.instances, self.arrays.inputs
        return {
            "control": control,
            "instances": instances.table,
            "slots": instances.slots,
            **self.registers.state(),
            **inputs._asdict(),
            "pool": inputs.pool[: control["pool"][0]],
            "nodes": self.arrays.nodes[: control["nodes"][0]],
            "evaluations": self.arrays.evaluations,
            **prefixed("store", self.store.state()),
            **prefixed("groups", self.groups.numbers.state()),
        }

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot; addresses are those of this process."""
        check_store(part("store", state), self._automaton, restored)
        self.groups.numbers.load(part("groups", state))
        check = MemoryCheck(state, self._automaton, self.arrays)
        check.run(self.registers, restored.partitions, self.groups.numbers.count)
        control = state["control"]
        for name in ("predicate", "context"):
            control[name] = self.arrays.control[name]
        inputs = layout.Inputs(**{name: state[name] for name in layout.Inputs._fields})
        self.arrays = self.arrays._replace(
            control=control,
            nodes=grown(state["nodes"], max(2 * len(state["nodes"]), tuning().lazy_nodes)),
            inputs=inputs._replace(pool=np.concatenate([inputs.pool, int64s(tuning().lazy_pool)])),
            evaluations=state["evaluations"],
        )
        self.store.load(part("store", state))
        self._kept = self.store.size
        self.registers.load(state)
        self._take_instances(state["instances"], state["slots"])

    @property
    def bytes_used(self) -> int:
        """The size of instances and buffers in bytes."""
        (table, slots, registers), inputs = self.arrays.instances, self.arrays.inputs
        kept = self.arrays.nodes, inputs.waiting, inputs.buffers, inputs.pool
        return bytes_of(table, slots, *registers, *kept)


def _first_arrays(automaton: LazyAutomaton, registers: Registers) -> State:
    """The arrays of an automaton that has read nothing, without instances."""
    count, negations = len(automaton.tables.components), len(automaton.tables.negations)
    return State(
        control=np.zeros(1, dtype=layout.CONTROL),
        context=registers.context,
        instances=Instances(slots=np.zeros((0, automaton.slot_roles * count), dtype=np.int64)),
        nodes=np.zeros(tuning().lazy_nodes, dtype=layout.NODE),
        inputs=layout.Inputs(
            waiting=np.zeros((0, count), dtype=np.int64),
            buffers=np.zeros((0, count + negations), dtype=layout.BUFFER),
            pool=int64s(tuning().lazy_pool),
        ),
        stack=int64s(64),
        work=int64s(layout.WORK + 64),
        evaluations=int64s(max(len(automaton.tables.tests), 1)),
    )
