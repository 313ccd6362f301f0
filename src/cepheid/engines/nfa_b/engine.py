"""The runs of one automaton: fed with batches, gives the matches of the positive components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout
from cepheid.codegen.generated import predicate_address
from cepheid.codegen.steps import NfaB
from cepheid.engines.base.engine import Buffer, Chunk, Engine, EngineTask
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.options import MERGING
from cepheid.engines.base.registers import Registers, step_tables
from cepheid.engines.nfa_b.kernels import advance as nfa_b
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, address_of, grown, int64s, lent_numbers
from cepheid.language.printer import print_pattern
from cepheid.matches.kernels import unions
from cepheid.matches.match_columns import MatchColumns, MatchLister
from cepheid.matches.metrics import EngineMetrics, bytes_of
from cepheid.snapshots import Arrays, part, prefixed

_FIRST_RUNS = 1_024
_FIRST_NODES = 16_384
_FINALS = 1 << 16


class NfaBEngine(Engine):
    """Holds the state of all runs between batches.

    With the algorithm ``merging``, runs that can no longer be told apart become one
    [Agrawal08 §5.2.2]. An engine that prunes lets a match end all runs of its partition.
    """

    def __init__(self, automaton: NfaB, task: EngineTask) -> None:
        max_runs, counts = task.options.max_runs, task.counts
        # Runs are listed by what matches must not overlap in.
        tests = tuple(test.attribute for test in task.query.equivalences)
        listed_by = automaton.partition_attributes if automaton.lists_by_partition else ()
        self.automaton = automaton
        self._lister = MatchLister([step.component for step in automaton.steps])
        self._keeps_all = task.keeps_all
        self._seconds_matching = 0.0
        self._by_partition = task.by_partition
        self._max_runs = max_runs
        self._steps, self._updates = step_tables(automaton.steps, automaton.columns)
        self._runs = np.zeros(0, dtype=layout.RUN)
        # Memory that was used before has its pages; those of nodes to come are not read.
        numbers = _FIRST_NODES * layout.NODE.itemsize // 8
        self._nodes = lent_numbers(numbers).view(layout.NODE)
        self._counting_stack = int64s(_FIRST_NODES + 2 if counts else 0)
        self._partitions = np.zeros(0, dtype=layout.PARTITION)
        self._registers = Registers(
            automaton.registers, automaton.columns, automaton.constants, _FIRST_RUNS
        )
        self._tests = [
            test for step in automaton.steps for test in (step.begin_test, step.take_test)
        ]
        self._evaluations = int64s(max(automaton.predicate_count, 1))
        self._finals = np.zeros(_FINALS, dtype=layout.FINAL)
        self._until = np.array(automaton.read_until, dtype=np.int64)
        self._control = np.zeros(1, dtype=layout.CONTROL)
        control = self._control[0]
        control["strategy"] = automaton.strategy
        control["window"] = task.window
        control["counts"] = counts
        control["prunes"] = task.prunes and tests == listed_by
        control["max_runs"] = layout.UNBOUNDED if max_runs is None else max_runs
        control["merging"] = task.options.algorithm == MERGING
        control["free"] = layout.NONE
        control["predicate"] = predicate_address(automaton.source)
        self._next_event = 0
        self._grow_runs(_FIRST_RUNS)

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """Attributes in which all events of a match agree."""
        return self.automaton.partition_attributes

    @property
    def reads_partitions(self) -> bool:
        """Whether runs are listed by partition."""
        return self.automaton.lists_by_partition

    @property
    def counted(self) -> float:
        """How many matches an engine that only counts them has found; exact below 2 ** 53."""
        return float(self._control[0]["counted"])

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[MatchColumns]:
        """Read a chunk; the matches that it completes, in blocks."""
        mask = self._begin_batch(chunk.events, chunk.partitions)
        partition_of, axis = chunk.partition_of, chunk.axis
        control = self._control[0]
        at = int64s(1)
        while True:
            control["context"] = address_of(self._registers.context)
            begun = perf_counter()
            status = nfa_b.advance_runs(
                self._steps,
                self._updates,
                self._registers.context,
                self._control,
                self._runs,
                self._registers.ints,
                self._registers.floats,
                self._registers.valid,
                self._partitions,
                self._nodes,
                self._finals,
                self._counting_stack,
                self._until,
                self._table,
                self._stamps,
                self._evaluations,
                mask,
                partition_of,
                axis,
                at[0],
                at,
            )
            self._seconds_matching += perf_counter() - begun
            if status == layout.DONE:
                break
            if status == layout.NEED_RUNS:
                self._make_room_for_runs(int(axis[at[0]]))
            elif status == layout.TOO_MANY_RUNS:
                self._expire(int(axis[at[0] - 1]))
                if control["live"] > control["max_runs"]:
                    raise self._too_many_runs()
            elif status == layout.NEED_NODES:
                yield from self._listed(first_event)
                self._make_room_for_nodes()
            else:
                if not control["finals"] or self._keeps_all:
                    self._finals = grown(self._finals, 2 * len(self._finals))
                yield from self._listed(first_event)
        yield from self._listed(first_event)

    def _begin_batch(self, batch: EventBatch, partitions: int) -> Int64s:
        """Let predicates read a batch; the mask of its events."""
        self._grow_partitions(partitions)
        columns = [batch.column(name) for name, _ in self.automaton.columns]
        self._registers.point_at(columns, batch.strings, batch.lists)
        control = self._control[0]
        control["base_event"] = batch.first_event
        self._next_event = batch.first_event + len(batch)
        return batch.mask(self._tests, int(control["predicate"]), self._registers.context)

    def _listed(self, first_event: int) -> Iterator[MatchColumns]:
        """The matches of the finals that the runs have written, in blocks."""
        control = self._control[0]
        count = int(control["finals"])
        if not count or self._keeps_all:
            return
        control["finals"] = 0
        nodes = self._used_nodes
        for block in self._lister.blocks(
            nodes,
            int(control["base_node"]),
            self._finals[:count],
            self._longest(len(nodes)),
            first_event,
            self._next_event,
        ):
            control["matches_found"] += len(block)
            control["ids_found"] += block.events
            yield block

    def _longest(self, kept: int) -> int:
        """How many events a match can have, where so many that are in matches are kept.

        Runs that merge for ever are ever longer, with events that have left the window.
        """
        return min(int(self._control[0]["longest"]), kept) + 1

    @property
    def _used_nodes(self) -> npt.NDArray[np.void]:
        control = self._control[0]
        return self._nodes[: control["top_node"] - control["base_node"]]

    @property
    def buffer(self) -> Buffer:
        """The nodes and finals, and how many events the longest match has."""
        nodes = self._used_nodes
        finals = self._finals[: self._control[0]["finals"]]
        return Buffer(nodes, finals, self._longest(len(nodes)))

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if it has runs."""
        self._expire(now)
        return np.asarray(self._partitions["first"] >= 0, dtype=np.int64)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the runs of partition p to partition ``numbers[p]``."""
        old = self._partitions[: len(numbers)][numbers[: len(self._partitions)] >= 0]
        self._partitions = np.zeros(0, dtype=layout.PARTITION)
        self._grow_partitions(len(old))
        self._partitions[: len(old)] = old

    def state(self) -> Arrays:
        """All runs and what they share as arrays, for a snapshot; dead nodes are left out."""
        self._drop_nodes()
        kept = self._control.copy()
        kept["predicate"] = kept["context"] = 0  # an address means nothing elsewhere
        return {
            "control": kept,
            "runs": self._runs,
            "nodes": self._used_nodes,
            "partitions": self._partitions,
            "evaluations": self._evaluations,
            **prefixed("registers", self._registers.state()),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot; addresses in it are those of this process."""
        own = {name: self._control[0][name] for name in ("predicate", "max_runs")}
        self._control = state["control"]
        for name, value in own.items():
            self._control[0][name] = value
        self._runs, self._partitions = state["runs"], state["partitions"]
        self._evaluations = state["evaluations"]
        self._nodes = grown(state["nodes"], max(2 * len(state["nodes"]), _FIRST_NODES))
        self._registers.load(part("registers", state))
        self._table, self._stamps = int64s(4 * len(self._runs)), int64s(4 * len(self._runs))
        self._control[0]["stamp"] = 0

    def _expire(self, now: int) -> int:
        freed: int = nfa_b.expire_runs(
            self._control, self._runs, self._partitions, now, self._by_partition
        )
        return freed

    def _make_room_for_runs(self, now: int) -> None:
        freed = self._expire(now)
        if self._control[0]["live"] > self._control[0]["max_runs"]:
            raise self._too_many_runs()
        if freed <= len(self._runs) // 4:
            self._grow_runs(2 * len(self._runs))

    def _too_many_runs(self) -> LimitError:
        """What to say when there are more runs than allowed: where they are, and what helps."""
        states = self._runs["state"]
        components, counts = np.unique(states[states >= 0] >> 1, return_counts=True)
        place = min(int(components[counts.argmax()]), len(self.automaton.steps) - 1)
        component = print_pattern(self.automaton.steps[place].component)
        return LimitError(
            f"there are more than {self._max_runs} runs, most of them at '{component}'; a shorter "
            "window, an equivalence test such as [id], a condition on that component or "
            "skip_till_next_match makes them fewer, and max_runs allows more"
        )

    def _grow_runs(self, size: int) -> None:
        old = len(self._runs)
        self._runs = grown(self._runs, size)
        added = self._runs[old:]
        added["state"] = layout.FREE
        added["next"] = np.arange(old + 1, size + 1)
        added["next"][-1] = self._control[0]["free"]
        self._control[0]["free"] = old
        self._registers.resize(size)
        self._table, self._stamps = int64s(4 * size), int64s(4 * size)

    def _make_room_for_nodes(self) -> None:
        if self._keeps_all or self._drop_nodes() <= len(self._nodes) // 2:
            self._nodes = grown(self._nodes, 2 * len(self._nodes))
            if len(self._counting_stack):
                self._counting_stack = int64s(len(self._nodes) + 2)

    def _drop_nodes(self) -> int:
        """Forget the nodes that no match to come can contain; how many there were."""
        if self._control[0]["merging"]:
            size = len(self._nodes)
            dropped: int = unions.keep_reachable(
                self._control, self._runs, self._nodes, self._partitions, int64s(size), int64s(size)
            )
        else:
            dropped = nfa_b.drop_nodes(self._control, self._runs, self._nodes)
        return dropped

    def _grow_partitions(self, count: int) -> None:
        old = len(self._partitions)
        if count > old:
            self._partitions = grown(self._partitions, max(count, 2 * old))
            self._partitions["first"][old:] = layout.NONE

    @property
    def metrics(self) -> EngineMetrics:
        """What the runs have done so far."""
        control = self._control[0]
        return EngineMetrics(
            runs_created=int(control["runs_created"]),
            runs_merged=int(control["runs_merged"]),
            runs_expired=int(control["runs_expired"]),
            runs_peak=int(control["runs_peak"]),
            nodes_created=int(control["nodes_created"]),
            matches=int(control["matches_found"]) + int(control["counted"]),
            events_in_matches=int(control["ids_found"]),
            evaluations={edge: int(self._evaluations[ix]) for ix, edge in self.automaton.edges},
            seconds_matching=self._seconds_matching,
            seconds_construction=self._lister.seconds,
            memory=bytes_of(
                self._runs,
                self._registers.ints,
                self._registers.floats,
                self._registers.valid,
                self._partitions,
                *self._buffer(),
            ),
        )

    def _buffer(self) -> Iterable[npt.NDArray[Any]]:
        """Where the events of runs are."""
        return [self._nodes]
