"""The runs of one automaton, one at a time: kept to compare the other algorithms with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.codegen.layout import NONE, PARTITION_CONTIGUITY
from cepheid.engines.base.engine import Chunk, Restored
from cepheid.engines.nfa_b import layout
from cepheid.engines.nfa_b.engine import NfaBEngine
from cepheid.engines.nfa_b.variants.kernels import backtrack
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.matches.bindings import Bindings
from cepheid.snapshots import Arrays


class BacktrackEngine(NfaBEngine):
    """Searches the runs of a batch depth-first [Agrawal08 §5.2.3].

    Between batches it keeps what the basic algorithm keeps: the runs that still live.
    """

    events_read = 0
    """The number of times that a run has read an event since the engine was made."""
    _postponed = np.zeros(0, dtype=backtrack.POSTPONED)

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; its matches come in the order in which the search finds them."""
        batch = self._begin_batch(chunk)
        heads = np.full(max(chunk.partitions, 1), NONE, dtype=np.int64)
        following, cursor = int64s(len(batch.mask)), int64s(4)
        ends = np.full(len(heads), backtrack.NOT_YET, dtype=np.int64)
        contiguous = self._control[0]["strategy"] <= PARTITION_CONTIGUITY
        backtrack.link_events(batch.mask, batch.partition_of, contiguous, heads, following)

        def search() -> int:
            at = backtrack.Search(self._postponed, heads, following, cursor, ends)
            status: int = backtrack.search_runs(self._tables, self._state, batch, at, self._out)
            return status

        def now() -> int:
            return int(batch.axis[cursor[backtrack.EVENT]])

        yield from self._drive(
            search,
            {
                layout.NEED_RUNS: lambda: self._make_room_for_runs(now()),
                layout.NEED_NODES: lambda: self._make_room_for_nodes(first_event),
                layout.NEED_FINALS: lambda: self._make_room_for_finals(first_event),
            },
        )
        backtrack.free_overlapping(self._state, ends)
        self.events_read += int(cursor[backtrack.READ])
        yield from self._listed(first_event)

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot, in which no run is postponed."""
        super().load(state, restored)
        self._postponed = np.zeros(len(self._state.runs), dtype=backtrack.POSTPONED)

    def live_starts(self) -> Int64s | None:
        """Not known: a run does not lead to its first event."""
        return None

    def _grow_runs(self, size: int) -> None:
        super()._grow_runs(size)
        # No run is on the stack twice.
        self._postponed = grown(self._postponed, size)
