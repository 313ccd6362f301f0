"""The engine of one lazy automaton: it reads chunks of events and finds matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from cepheid.engines.base.engine import Chunk, Engine, EngineTask, Restored
from cepheid.engines.base.options import BY_COST
from cepheid.engines.base.registers import Registers
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.compile import LazyAutomaton
from cepheid.engines.lazy.kernels.advance import read_events
from cepheid.engines.lazy.layout import Output
from cepheid.engines.lazy.memory import Memory
from cepheid.engines.lazy.plans import LazyPlans
from cepheid.events.arrays import Int64s, int64s
from cepheid.jit.drive import Drive
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.metrics import EngineMetrics
from cepheid.snapshots import Arrays, part, prefixed
from cepheid.tuning import tuning

Block = tuple[Int64s, Int64s]
"""The tags of all events of some matches, and where each match begins."""

_REFUSED = 0.05
"""A negation that refuses less than this part of its instances is no longer tested early."""


class LazyEngine(Engine):
    """Runs a lazy automaton.

    With ``is_tree`` each instance chooses its next component; otherwise all follow one order.
    """

    def __init__(self, automaton: LazyAutomaton, task: EngineTask, *, is_tree: bool) -> None:
        attributes = automaton.placement.partition_attributes
        super().__init__(attributes, reads_partitions=bool(attributes))
        self._automaton = automaton
        # Each engine counts what its negations have refused.
        negations = automaton.tables.negations.copy()
        self._tables = automaton.tables._replace(negations=negations)
        self._memory = memory = Memory(automaton, task)
        self._plans = LazyPlans(automaton, task, is_tree=is_tree)
        # Tests of single events read the columns of a batch, and others those of the store.
        self._batch = Registers(automaton, 0)
        self._chooses_when_to_test = task.options.negation == BY_COST
        self._out = _output(tuning().output_ids, tuning().output_matches)
        self._drive = Drive()
        memory.arrays = memory.arrays._replace(pace=self._drive.pace)
        self._provide: dict[int, Callable[[], Iterable[Block] | None]] = {
            layout.NEED_INSTANCES: memory.grow_instances,
            layout.NEED_NODES: memory.grow_nodes,
            layout.NEED_OUTPUT: self._drain_or_grow,
            layout.NEED_POOL: memory.pack_buffers,
            layout.NEED_STACK: partial(memory.double, "stack"),
            layout.NEED_WORK: partial(memory.double, "work"),
            layout.NEED_SWEEP: memory.free_expired,
        }

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; the matches that it completes, in blocks."""
        components = [each.component for each in self._automaton.placement.components]
        for tags, offsets in self.feed_tags(chunk):
            yield Bindings.of_tags(tags, offsets, components, first_event)

    def feed_tags(self, chunk: Chunk) -> Iterator[Block]:
        """Read a chunk; the matches that it completes as tags."""
        memory = self._memory
        if memory.is_large:
            self._evict()
        self._append(chunk)
        store = memory.store
        while (at := int(memory.arrays.control[0]["at"])) < store.size:
            stop = min(at + tuning().plan_events, store.size)
            memory.arrays.control[0]["stop"] = stop
            self._plans.update(store, at, stop, memory.arrays)
            yield from self._drive(self._read, self._provide)
            if self._chooses_when_to_test:
                self._leave_rare_to_filter()
        if memory.arrays.control[0]["matches"]:
            yield self._drained()

    def crowded(self) -> ast.Component | None:
        """The component that most instances wait for."""
        return self._memory.crowded()

    @property
    def kinds(self) -> Int64s:
        """For each match of the latest block, the alternatives that it belongs to, as bits."""
        return self._out.kinds

    def _append(self, chunk: Chunk) -> None:
        """Add the events of a chunk that fit a component or a negation to the store."""
        memory, batch = self._memory, chunk.events
        predicate = int(memory.arrays.control[0]["predicate"])
        columns = self._batch.read(batch)
        mask = batch.mask(self._automaton.event_tests, predicate, self._batch.context)
        is_late = np.flatnonzero(self._tables.negations["is_late"])
        if len(is_late):
            mask &= ~int((1 << (is_late + len(self._tables.components))).sum())
        places = np.flatnonzero((mask != 0) & (chunk.partition_of >= 0))
        events = layout.Events(
            numbers=places + batch.first_event,
            axis=chunk.axis[places],
            partitions=memory.groups.rows_of(chunk.partition_of[places]),
            masks=mask[places],
        )
        fresh = memory.store.size
        memory.store.append(events, columns, places)
        memory.add_events(fresh, chunk.partitions)
        kept = list(memory.store.columns().values())
        memory.registers.point_at(kept, batch.strings, batch.lists)

    def _leave_rare_to_filter(self) -> None:
        """Leave negations that refuse hardly any instance to the filter of complete matches."""
        negations = self._tables.negations
        rarely = negations["refused"] < _REFUSED * negations["tested"]
        negations["is_late"] |= (negations["tested"] > tuning().negation_tests) & rarely

    def _read(self) -> int:
        """Let the kernel read the events up to the next stop, as far as there is room."""
        memory = self._memory
        status: int = read_events(
            self._tables, self._plans.arrays, memory.arrays, memory.store.arrays, self._out
        )
        return status

    def _drained(self) -> Block:
        """The matches that were written; their room is free again."""
        control = self._memory.arrays.control[0]
        block = self._out.ids[: control["ids"]], self._out.offsets[: control["matches"] + 1]
        control["ids"] = control["matches"] = 0
        return block

    def _drain_or_grow(self) -> tuple[Block, ...]:
        """Make room for matches; a match that is too long for all the room needs more."""
        if self._memory.arrays.control[0]["matches"]:
            return (self._drained(),)
        self._out = _output(2 * len(self._out.ids), 2 * len(self._out.offsets))
        return ()

    def _evict(self) -> None:
        places = self._memory.evict()
        self._plans.renumber(places, self._memory.store.size)

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if an event of it is kept."""
        control = self._memory.arrays.control[0]
        if not control["by_partition"]:
            control["now"] = max(int(control["now"]), now)
        self._evict()
        return self._memory.used_partitions()

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move what is kept for partition p to partition ``numbers[p]``."""
        self._memory.renumber_partitions(numbers)

    def state(self) -> Arrays:
        """The instances, buffers, events and plans as arrays, for a snapshot."""
        self._evict()
        return {
            **self._memory.state(),
            "negations": self._tables.negations,
            **prefixed("plans", self._plans.state()),
        }

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        self._memory.load(state, restored)
        self._tables.negations[:] = state["negations"]
        instances = self._memory.arrays.instances.table
        self._plans.load(part("plans", state), instances[instances["bound"] != layout.FREE])

    @property
    def metrics(self) -> EngineMetrics:
        """What the engine has done so far."""
        arrays = self._memory.arrays
        control = arrays.control[0]
        evaluations: Counter[str] = Counter()
        for label, number in zip(self._automaton.labels, arrays.evaluations.tolist(), strict=False):
            evaluations[label] += number
        return EngineMetrics(
            runs_created=int(control["instances_created"]),
            runs_expired=int(control["instances_expired"]),
            runs_peak=int(control["instances_peak"]),
            nodes_created=int(control["nodes_created"]) + int(control["buffered"]),
            matches=int(control["matches_found"]),
            events_in_matches=int(control["ids_found"]),
            evaluations=dict(evaluations),
            seconds_matching=self._drive.seconds,
            memory=self._memory.bytes_used,
        )


def _output(ids: int, matches: int) -> Output:
    """Room for this many tags and matches."""
    return Output(int64s(ids), int64s(matches), int64s(matches))
