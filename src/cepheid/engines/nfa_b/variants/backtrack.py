"""The runs of one automaton, one at a time: kept to compare the other algorithms with."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from cepheid.codegen import layout
from cepheid.engines.base.engine import Chunk
from cepheid.engines.nfa_b.engine import NfaBEngine
from cepheid.engines.nfa_b.variants.kernels import backtrack
from cepheid.events.arrays import grown, int64s
from cepheid.matches.match_columns import MatchColumns
from cepheid.snapshots import Arrays


class BacktrackEngine(NfaBEngine):
    """Searches the runs of a batch depth-first [Agrawal08 §5.2.3].

    Between batches it keeps what the basic algorithm keeps: the runs that still live.
    """

    _events_read = 0
    _stack = np.zeros(0, dtype=backtrack.POSTPONED)

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[MatchColumns]:
        """Read a chunk; its matches come in the order in which the search finds them."""
        mask = self._begin_batch(chunk.events, chunk.partitions)
        partition_of, partitions, axis = chunk.partition_of, chunk.partitions, chunk.axis
        control = self._control[0]
        heads = np.full(max(partitions, 1), layout.NONE, dtype=np.int64)
        following, cursor = int64s(len(mask)), int64s(4)
        contiguous = control["strategy"] <= layout.PARTITION_CONTIGUITY
        backtrack.link_events(mask, partition_of, contiguous, heads, following)
        while True:
            control["context"] = self._registers.context.ctypes.data
            begun = perf_counter()
            status = backtrack.search_runs(
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
                self._evaluations,
                self._stack,
                heads,
                following,
                mask,
                partition_of,
                axis,
                cursor,
            )
            self._seconds_matching += perf_counter() - begun
            if status == layout.DONE:
                break
            if status == layout.NEED_RUNS:
                self._make_room_for_runs(int(axis[cursor[backtrack.EVENT]]))
            elif status == layout.NEED_NODES:
                yield from self._listed(first_event)
                self._make_room_for_nodes()
            else:
                if not control["finals"]:
                    self._finals = grown(self._finals, 2 * len(self._finals))
                yield from self._listed(first_event)
        self._events_read += int(cursor[backtrack.READ])
        yield from self._listed(first_event)

    @property
    def events_read(self) -> int:
        """How often a run has read an event since the engine was made."""
        return self._events_read

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot, at which no run is postponed."""
        super().load(state)
        self._stack = np.zeros(len(self._runs), dtype=backtrack.POSTPONED)

    def _grow_runs(self, size: int) -> None:
        super()._grow_runs(size)
        # No run is on the stack twice.
        self._stack = grown(self._stack, size)
