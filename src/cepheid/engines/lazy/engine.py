"""The instances of one lazy automaton: fed with batches, gives the matches it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from time import perf_counter

import numpy as np

from cepheid.codegen import layout as nfa_b_layout
from cepheid.codegen.generated import predicate_address
from cepheid.codegen.predicates import Storage
from cepheid.engines.base.engine import Chunk, Engine, EngineTask
from cepheid.engines.base.options import BY_COST
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.groups import Groups
from cepheid.engines.lazy.kernel_tables import kernel_tables
from cepheid.engines.lazy.kernels import advance as lazy
from cepheid.engines.lazy.kernels import memory as lazy_memory
from cepheid.engines.lazy.plans import LazyPlans
from cepheid.engines.lazy.store import Constants, EventStore
from cepheid.engines.lazy.tables import LazyAutomaton
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.language.printer import print_pattern
from cepheid.matches.bindings import Bindings
from cepheid.matches.metrics import EngineMetrics, bytes_of
from cepheid.snapshots import Arrays, part, prefixed

_FIRST_INSTANCES = 256
_FIRST_NODES = 1_024
_FIRST_POOL = 4_096
_OUTPUT_IDS = 1 << 20
_OUTPUT_MATCHES = 1 << 17
_SPAN = 2_048
"""After so many events that fit a component, the plan is looked at again."""
_TESTED, _REFUSED = 1_024, 0.05
"""A negation that refuses a smaller part of so many instances is not worth an early test."""
_FEW_EVENTS = 4_096
"""Fewer events than this are kept although they have left the window."""


class LazyEngine(Engine):
    """Holds the instances, the input buffers and the events in them between batches.

    With ``is_tree`` each instance chooses its next component, otherwise all follow one order.
    """

    def __init__(self, automaton: LazyAutomaton, task: EngineTask, *, is_tree: bool) -> None:
        window, by_partition, options = task.window, task.by_partition, task.options
        self.automaton = automaton
        self._max_runs = options.max_runs
        self._seconds_matching = 0.0
        self._tables = kernel_tables(automaton)
        self._weighs_negations = options.negation == BY_COST
        self._event_tests = [
            *(each.test for each in automaton.components),
            *(each.test for each in automaton.negations),
        ]
        count = len(automaton.components)
        self._buffer_count = len(self._event_tests)
        self._groups = Groups(automaton)
        self._store = EventStore(automaton.columns, len(self._groups.columns))
        self._constants = Constants(automaton.constants, automaton.columns)
        size = layout.CONTEXT_COLUMNS + 2 * len(automaton.columns) + 1
        self._context, self._batch_context = int64s(size), int64s(size)
        self._slots = np.zeros((0, automaton.slot_roles * count), dtype=np.int64)
        registers = automaton.registers
        is_stored = [storage in registers for storage in (Storage.INT, Storage.FLOAT)]
        self._ints = np.zeros((0, len(registers) * is_stored[0]), dtype=np.int64)
        self._floats = np.zeros((0, len(registers) * is_stored[1]), dtype=np.float64)
        self._valid = int64s(0)
        self._instances = np.zeros(0, dtype=layout.INSTANCE)
        self._nodes = np.zeros(_FIRST_NODES, dtype=layout.NODE)
        self._waiting = np.zeros((0, count), dtype=np.int64)
        self._buffers = np.zeros((0, self._buffer_count), dtype=layout.BUFFER)
        self._nows = int64s(0)
        self._pool = int64s(_FIRST_POOL)
        self._stack, self._work = int64s(64), int64s(layout.WORK + 64)
        self._ids, self._offsets = int64s(_OUTPUT_IDS), int64s(_OUTPUT_MATCHES)
        self._kinds = int64s(_OUTPUT_MATCHES)
        self._evaluations = int64s(max(len(self._tables.tests), 1))
        self._kept = 0
        self._control = np.zeros(1, dtype=layout.CONTROL)
        control = self._control[0]
        control["window"], control["by_partition"] = window, by_partition
        control["in_order"] = automaton.in_order
        control["free"] = layout.NONE
        control["current"] = layout.UNSEEN
        control["now"] = np.iinfo(np.int64).min // 2
        control["predicate"] = predicate_address(automaton.source)
        self._plans = LazyPlans(automaton, options.statistics, is_tree, window, by_partition)
        control["fanout"] = self._plans.fanout
        self._grow_instances(_FIRST_INSTANCES)

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """Attributes in which all events of a match agree."""
        return self.automaton.partition_attributes

    @property
    def reads_partitions(self) -> bool:
        """Whether buffers and instances are kept by partition."""
        return bool(self.automaton.partition_attributes)

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; the matches that it completes, in blocks."""
        components = [each.component for each in self.automaton.components]
        for tags, offsets in self.feed_tags(chunk):
            yield Bindings.of_tags(tags, offsets, components, first_event)

    def feed_tags(self, chunk: Chunk) -> Iterator[tuple[Int64s, Int64s]]:
        """The same as the tags of all events, and where each match begins."""
        batch, axis = chunk.events, chunk.axis
        partition_of, partitions = chunk.partition_of, chunk.partitions
        self._forget()
        columns = [batch.column(name) for name, _ in self.automaton.columns]
        self._constants.point((self._context, self._batch_context), batch.strings, batch.lists)
        self._constants.point_at_batch(self._batch_context, columns)
        control = self._control[0]
        mask = batch.mask(self._event_tests, int(control["predicate"]), self._batch_context)
        if self._tables.negations["is_late"].any():
            late = np.flatnonzero(self._tables.negations["is_late"]) + len(self._tables.components)
            mask &= ~int((1 << late).sum())
        places = np.flatnonzero((mask != 0) & (partition_of >= 0))
        rows = self._groups.rows_of(partition_of)
        fresh = self._store.size
        self._store.append(places, batch.first_event, axis, rows, mask, columns)
        self._number_groups(fresh)
        self._grow_rows(self._groups.count(partitions))
        self._store.point(self._context)
        control["context"] = self._context.ctypes.data
        while control["at"] < self._store.size:
            at = int(control["at"])
            control["stop"] = min(at + _SPAN, self._store.size)
            self._plans.update(self._store, at, int(control["stop"]), self._control, self._context)
            yield from self._read()
            if self._weighs_negations:
                self._weigh_negations()
        if control["matches"]:
            yield self._drained()

    @property
    def kinds(self) -> Int64s:
        """For each match of the latest block, the alternatives that it is one of, as bits."""
        return self._kinds

    def _read(self) -> Iterator[tuple[Int64s, Int64s]]:
        """Read the events up to the next stop, giving the kernel the room that it asks for."""
        tables, store, control = self._tables, self._store, self._control[0]
        while True:
            begun = perf_counter()
            status = lazy.read_events(
                self._control,
                tables.components,
                tables.tests,
                tables.ranges,
                tables.negations,
                tables.updates,
                self._context,
                self._instances,
                self._slots,
                self._ints,
                self._floats,
                self._valid,
                self._nodes,
                self._waiting,
                self._buffers,
                self._pool,
                tables.terms,
                store.groups,
                self._plans.steps,
                self._plans.parts,
                self._plans.table,
                store.axis,
                store.numbers,
                store.partitions,
                store.masks,
                self._nows,
                self._stack,
                self._work,
                self._ids,
                self._offsets,
                self._kinds,
                self._evaluations,
            )
            self._seconds_matching += perf_counter() - begun
            if status == layout.DONE:
                return
            if status == layout.NEED_OUTPUT and control["matches"]:
                yield self._drained()
            else:
                self._make_room(status)

    def _weigh_negations(self) -> None:
        """Leave a negation that refuses hardly any instance to the filter of matches."""
        negations = self._tables.negations
        rarely = negations["refused"] < _REFUSED * negations["tested"]
        negations["is_late"] |= (negations["tested"] > _TESTED) & rarely

    def _make_room(self, status: int) -> None:
        if status == layout.NEED_SWEEP:
            lazy_memory.free_expired(self._control, self._instances, self._waiting, self._nows)
        elif status == layout.NEED_INSTANCES:
            self._grow_instances(2 * len(self._instances))
        elif status == layout.NEED_NODES:
            if 2 * (self._drop_nodes() + 4) > len(self._nodes):
                self._nodes = grown(self._nodes, 2 * len(self._nodes))
        elif status == layout.NEED_OUTPUT:
            self._ids = int64s(2 * len(self._ids))
            self._offsets = int64s(2 * len(self._offsets))
            self._kinds = int64s(2 * len(self._kinds))
        elif status == layout.NEED_POOL:
            self._pack_buffers()
        elif status == layout.NEED_STACK:
            self._stack = np.concatenate([self._stack, int64s(len(self._stack))])
        else:
            self._work = int64s(2 * len(self._work))

    def state(self) -> Arrays:
        """The instances, buffers and events as arrays, for a snapshot."""
        self._forget(everything=True)
        control = self._control.copy()
        control["predicate"] = control["context"] = 0  # an address means nothing elsewhere
        return {
            "control": control,
            "instances": self._instances,
            "slots": self._slots,
            "ints": self._ints,
            "floats": self._floats,
            "valid": self._valid,
            "nodes": self._nodes[: control["nodes"][0]],
            "waiting": self._waiting,
            "buffers": self._buffers,
            "nows": self._nows,
            "pool": self._pool[: control["pool"][0]],
            "evaluations": self._evaluations,
            "negations": self._tables.negations,
            **prefixed("store", self._store.state()),
            **prefixed("groups", self._groups.state()),
            **prefixed("plans", self._plans.state()),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot; addresses in it are those of this process."""
        predicate = self._control[0]["predicate"]
        self._control = state["control"]
        self._control[0]["predicate"] = predicate
        self._instances, self._slots = state["instances"], state["slots"]
        self._ints, self._floats, self._valid = state["ints"], state["floats"], state["valid"]
        self._nodes = grown(state["nodes"], max(2 * len(state["nodes"]), _FIRST_NODES))
        self._waiting, self._buffers = state["waiting"], state["buffers"]
        self._nows = state["nows"]
        self._pool = np.concatenate([state["pool"], int64s(_FIRST_POOL)])
        self._evaluations = state["evaluations"]
        self._tables.negations[:] = state["negations"]
        self._store.load(part("store", state))
        self._groups.load(part("groups", state))
        self._plans.load(part("plans", state))
        self._kept = self._store.size
        self._point_at_instances()

    def _drained(self) -> tuple[Int64s, Int64s]:
        control = self._control[0]
        block = self._ids[: control["ids"]], self._offsets[: control["matches"] + 1]
        control["ids"] = control["matches"] = 0
        return block

    # --- memory

    def _forget(self, everything: bool = False) -> None:
        """Drop the events that have left the window, where they are at least as many as others."""
        if not everything and self._store.size < 2 * self._kept + _FEW_EVENTS:
            return
        lazy_memory.free_expired(self._control, self._instances, self._waiting, self._nows)
        self._drop_nodes()
        self._pack_buffers()
        is_kept = int64s(self._store.size)
        lazy_memory.mark_buffered(self._buffers, self._pool, is_kept)
        rows = np.flatnonzero(is_kept)
        places = np.cumsum(is_kept) - is_kept
        lazy_memory.renumber(
            self._control,
            self._tables.components,
            self._instances,
            self._slots,
            self._nodes,
            self._buffers,
            self._pool,
            places,
        )
        self._plans.renumber(places, len(rows))
        self._store.keep(rows)
        self._control[0]["at"] = self._kept = len(rows)
        if self._groups.are_many:
            self._renumber_rows(np.arange(len(self._waiting), dtype=np.int64))

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if an event of it is kept."""
        control, groups, store = self._control[0], self._groups, self._store
        if not control["by_partition"]:
            control["now"] = max(int(control["now"]), now)
        self._forget(everything=True)
        used = int64s(len(self._waiting))
        used[groups.partitions_of(store.partitions[: store.size])] = 1
        return used

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give what is kept for partition p to partition ``numbers[p]``."""
        self._renumber_rows(numbers)

    def _number_groups(self, low: int) -> None:
        """Find the groups of the events of the store from one on."""
        store, groups = self._store, self._groups
        events = slice(low, store.size)
        store.groups[events] = groups.number(
            groups.partitions_of(store.partitions[events]),
            store.masks[events],
            [store.column(attribute, low) for _, attribute in groups.columns],
        )

    def _renumber_rows(self, partitions: Int64s) -> None:
        """Give partitions new numbers, and groups those that they would have by themselves.

        What an instance waits for is in a row of an event that it has bound, which is kept: so
        every row that is needed is that of an event.
        """
        store, groups = self._store, self._groups
        events = slice(0, store.size)
        old, old_groups = store.partitions[events].copy(), store.groups[events].copy()
        store.partitions[events] = groups.rows_of(partitions[groups.partitions_of(old)])
        groups.begin_anew()
        self._number_groups(0)
        groups.settle()
        rows = np.full(max(len(self._waiting), 1), layout.NONE, dtype=np.int64)
        rows[old] = store.partitions[events]
        is_group = old_groups >= 0
        rows[old_groups[is_group]] = store.groups[events][is_group]
        live = np.flatnonzero(self._instances["bound"] != layout.FREE)
        for name in ("partition", "row"):
            kept = self._instances[name][live]
            self._instances[name][live] = np.where(kept >= 0, rows[kept], layout.NONE)
        kept = np.flatnonzero(rows[: len(self._waiting)] >= 0)
        tables = self._waiting[kept], self._buffers[kept], self._nows[kept]
        self._waiting, self._buffers, self._nows = self._waiting[:0], self._buffers[:0], int64s(0)
        self._grow_rows(int(rows.max()) + 1)
        self._waiting[rows[kept]], self._buffers[rows[kept]], self._nows[rows[kept]] = tables

    def _drop_nodes(self) -> int:
        kept: int = lazy_memory.keep_reachable(
            self._control,
            self._tables.components,
            self._instances,
            self._slots,
            self._nodes,
            int64s(len(self._nodes)),
        )
        return kept

    def _pack_buffers(self) -> None:
        arguments = (self._control, self._buffers, self._pool)
        store, nows = self._store, self._nows
        needed = lazy_memory.pack_buffers(*arguments, int64s(0), store.axis, nows)
        packed = int64s(max(2 * needed, _FIRST_POOL))
        lazy_memory.pack_buffers(*arguments, packed, store.axis, nows)
        self._pool = packed

    def _grow_instances(self, size: int) -> None:
        if self._max_runs is not None and len(self._instances) >= self._max_runs:
            raise self._too_many_instances()
        old, control = len(self._instances), self._control[0]
        self._instances = grown(self._instances, size)
        added = self._instances[old:]
        added["bound"] = layout.FREE
        added["link"] = np.arange(old + 1, size + 1)
        added["link"][-1] = control["free"]
        control["free"] = old
        control["free_count"] += size - old
        for name in ("_slots", "_ints", "_floats", "_valid"):
            array = getattr(self, name)
            new = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
            new[:old] = array
            setattr(self, name, new)
        self._point_at_instances()

    def _point_at_instances(self) -> None:
        context = self._context
        context[nfa_b_layout.CONTEXT_INTS] = self._ints.ctypes.data
        context[nfa_b_layout.CONTEXT_FLOATS] = self._floats.ctypes.data
        context[nfa_b_layout.CONTEXT_VALID] = self._valid.ctypes.data
        context[nfa_b_layout.CONTEXT_INTS_STRIDE] = self._ints.shape[1]
        context[nfa_b_layout.CONTEXT_FLOATS_STRIDE] = self._floats.shape[1]
        context[layout.CONTEXT_SLOTS] = self._slots.ctypes.data
        context[layout.CONTEXT_SLOTS_STRIDE] = self._slots.shape[1]

    def _too_many_instances(self) -> LimitError:
        """What to say when there are more instances than allowed: what they wait for."""
        live = self._instances[self._instances["bound"] != layout.FREE]
        components, counts = np.unique(live["next"], return_counts=True)
        place = int(components[counts.argmax()])
        component = print_pattern(self.automaton.components[place].component)
        return LimitError(
            f"there are more than {self._max_runs} instances, most of them waiting for "
            f"'{component}'; a shorter window, an equivalence test such as [id] or a condition on "
            "that component makes them fewer, and max_runs allows more"
        )

    def _grow_rows(self, count: int) -> None:
        old = len(self._waiting)
        if count > old:
            size = max(count, 2 * old)
            waiting = np.full((size, self._waiting.shape[1]), layout.NONE, dtype=np.int64)
            waiting[:old] = self._waiting
            self._waiting = waiting
            buffers = np.zeros((size, self._buffer_count), dtype=layout.BUFFER)
            buffers[:old] = self._buffers
            self._buffers = buffers
            self._nows = np.concatenate([self._nows, int64s(size - old)])

    @property
    def metrics(self) -> EngineMetrics:
        """What the instances have done so far."""
        control = self._control[0]
        evaluations: Counter[str] = Counter()
        for label, number in zip(self._tables.labels, self._evaluations.tolist(), strict=False):
            evaluations[label] += number
        return EngineMetrics(
            runs_created=int(control["instances_created"]),
            runs_merged=0,
            runs_expired=int(control["instances_expired"]),
            runs_peak=int(control["instances_peak"]),
            nodes_created=int(control["nodes_created"]) + int(control["buffered"]),
            matches=int(control["matches_found"]),
            events_in_matches=int(control["ids_found"]),
            evaluations=dict(evaluations),
            seconds_matching=self._seconds_matching,
            seconds_construction=0.0,
            memory=bytes_of(
                self._instances,
                self._slots,
                self._ints,
                self._floats,
                self._valid,
                self._nodes,
                self._waiting,
                self._buffers,
                self._pool,
            ),
        )
