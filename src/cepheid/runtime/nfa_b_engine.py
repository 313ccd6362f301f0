"""The runs of one automaton: fed with batches, gives the matches of the positive components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cepheid.automata.generated import predicate_address
from cepheid.automata.nfa_b import NfaB
from cepheid.kernels import nfa_b
from cepheid.kernels import nfa_b_layout as layout
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.event_batch import EventBatch
from cepheid.runtime.kernel_tables import Registers, grown, int64s, step_tables
from cepheid.runtime.snapshot import Arrays, part, prefixed

_FIRST_RUNS = 1_024
_FIRST_NODES = 16_384
_OUTPUT_IDS = 1 << 20
_OUTPUT_MATCHES = 1 << 17


class NfaBEngine:
    """Holds the state of all runs between batches."""

    def __init__(self, automaton: NfaB, window: int) -> None:
        self.automaton = automaton
        self._steps, self._updates = step_tables(automaton.steps, automaton.columns)
        self._runs = np.zeros(0, dtype=layout.RUN)
        self._nodes = np.zeros(_FIRST_NODES, dtype=layout.NODE)
        self._partitions = np.zeros(0, dtype=layout.PARTITION)
        self._registers = Registers(
            automaton.registers, automaton.columns, automaton.constants, _FIRST_RUNS
        )
        self._tests = [
            test for step in automaton.steps for test in (step.begin_test, step.take_test)
        ]
        self._ids, self._offsets = int64s(_OUTPUT_IDS), int64s(_OUTPUT_MATCHES)
        self._evaluations = int64s(max(automaton.predicate_count, 1))
        self._control = np.zeros(1, dtype=layout.CONTROL)
        control = self._control[0]
        control["strategy"] = automaton.strategy
        control["window"] = window
        control["emit"] = 1
        control["free"] = layout.NONE
        control["predicate"] = predicate_address(automaton.source)
        self._grow_runs(_FIRST_RUNS)

    def feed(
        self, batch: EventBatch, partition_of: Int64s, partitions: int, axis: Int64s
    ) -> Iterator[tuple[Int64s, Int64s]]:
        """Read a batch; the tags and offsets of the matches that it completes, in blocks.

        A block is valid until the next one is asked for.
        """
        self._grow_partitions(partitions)
        columns = [batch.column(name) for name, _ in self.automaton.columns]
        self._registers.point_at(columns, batch.strings)
        control = self._control[0]
        mask = batch.mask(self._tests, int(control["predicate"]), self._registers.context)
        control["base_event"] = batch.first_event
        at = int64s(1)
        while True:
            control["context"] = self._registers.context.ctypes.data
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
                self._ids,
                self._offsets,
                self._evaluations,
                mask,
                partition_of,
                axis,
                at[0],
                at,
            )
            if status == layout.DONE:
                break
            if status == layout.NEED_RUNS:
                self._make_room_for_runs(int(axis[at[0]]))
            elif status == layout.NEED_NODES:
                self._make_room_for_nodes()
            elif control["matches"]:
                yield self._drained()
            else:
                self._ids = int64s(2 * len(self._ids))
                self._offsets = int64s(2 * len(self._offsets))
        if control["matches"]:
            yield self._drained()

    def state(self) -> Arrays:
        """All runs and what they share as arrays, for a snapshot; dead nodes are left out."""
        nfa_b.drop_nodes(self._control, self._runs, self._nodes)
        control = self._control[0]
        used = int(control["top_node"] - control["base_node"])
        return {
            "control": self._control,
            "runs": self._runs,
            "nodes": self._nodes[:used],
            "partitions": self._partitions,
            "evaluations": self._evaluations,
            **prefixed("registers", self._registers.state()),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot; addresses in it are those of this process."""
        predicate = self._control[0]["predicate"]
        self._control = state["control"]
        self._control[0]["predicate"] = predicate
        self._runs, self._partitions = state["runs"], state["partitions"]
        self._evaluations = state["evaluations"]
        self._nodes = grown(state["nodes"], max(2 * len(state["nodes"]), _FIRST_NODES))
        self._registers.load(part("registers", state))

    def _drained(self) -> tuple[Int64s, Int64s]:
        control = self._control[0]
        block = self._ids[: control["ids"]], self._offsets[: control["matches"] + 1]
        control["ids"] = control["matches"] = 0
        return block

    def _make_room_for_runs(self, now: int) -> None:
        freed = nfa_b.expire_runs(self._control, self._runs, self._partitions, now)
        if freed < len(self._runs) // 4:
            self._grow_runs(2 * len(self._runs))

    def _grow_runs(self, size: int) -> None:
        old = len(self._runs)
        self._runs = grown(self._runs, size)
        added = self._runs[old:]
        added["state"] = layout.FREE
        added["next"] = np.arange(old + 1, size + 1)
        added["next"][-1] = self._control[0]["free"]
        self._control[0]["free"] = old
        self._registers.resize(size)

    def _make_room_for_nodes(self) -> None:
        dropped = nfa_b.drop_nodes(self._control, self._runs, self._nodes)
        if dropped < len(self._nodes) // 2:
            self._nodes = grown(self._nodes, 2 * len(self._nodes))

    def _grow_partitions(self, count: int) -> None:
        old = len(self._partitions)
        if count > old:
            self._partitions = grown(self._partitions, max(count, 2 * old))
            self._partitions["first"][old:] = layout.NONE

    @property
    def metrics(self) -> dict[str, int]:
        """What the runs have done so far."""
        control: npt.NDArray[np.void] = self._control
        names = ("runs_created", "runs_expired", "runs_peak", "nodes_created", "matches_found")
        return {name: int(control[0][name]) for name in names}
