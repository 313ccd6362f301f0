"""The runs of one automaton, with what they have selected in a shared versioned buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout
from cepheid.codegen.steps import NfaB
from cepheid.engines.base.engine import Chunk, EngineTask
from cepheid.engines.nfa_b.engine import NfaBEngine
from cepheid.engines.nfa_b.kernels import advance as nfa_b
from cepheid.engines.nfa_b.variants.kernels import versioned, versioned_matches, versions
from cepheid.engines.nfa_b.variants.kernels import versioned_layout as shared
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.matches.match_columns import MatchColumns
from cepheid.snapshots import Arrays, part, prefixed

_OUTPUT_IDS = 1 << 20
_OUTPUT_MATCHES = 1 << 17
_FIRST_ROWS = 4_096
_COMPLETE = 1 << 14
_PARTS = {
    "entries": shared.ENTRY,
    "pointers": shared.POINTER,
    "versions": shared.VERSION,
    "members": shared.MEMBER,
}


class VersionedEngine(NfaBEngine):
    """Holds runs, and apart from them the buffer that they share [Agrawal08 §5.1]."""

    _version_of: Int64s = int64s(0)

    def __init__(self, automaton: NfaB, task: EngineTask) -> None:
        assert not task.keeps_all
        super().__init__(automaton, task)
        self._ids, self._offsets = int64s(_OUTPUT_IDS), int64s(_OUTPUT_MATCHES)
        self._tops = np.zeros(1, dtype=shared.TOPS)
        self._parts: dict[str, npt.NDArray[np.void]] = {
            name: np.zeros(_FIRST_ROWS, dtype=row) for name, row in _PARTS.items()
        }
        self._complete = np.zeros(_COMPLETE, dtype=shared.COMPLETE)
        self._stacks = int64s(2 * len(automaton.steps))
        self._now = 0
        self._index_pointers()

    def _buffer(self) -> Iterable[npt.NDArray[Any]]:
        return self._parts.values()

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[MatchColumns]:
        """Read a chunk; the matches that it completes, in blocks."""
        mask = self._begin_batch(chunk.events, chunk.partitions)
        partition_of, axis = chunk.partition_of, chunk.axis
        control = self._control[0]
        at, lacked_at = int64s(1), layout.NONE
        while True:
            control["context"] = self._registers.context.ctypes.data
            begun = perf_counter()
            status = versioned.advance_versioned_runs(
                self._steps,
                self._updates,
                self._registers.context,
                self._control,
                self._tops,
                self._runs,
                self._version_of,
                self._registers.ints,
                self._registers.floats,
                self._registers.valid,
                self._partitions,
                *self._parts.values(),
                self._complete,
                self._index,
                self._stacks,
                self._until,
                self._table,
                self._stamps,
                self._evaluations,
                mask,
                partition_of,
                axis,
                at,
            )
            self._seconds_matching += perf_counter() - begun
            if status == layout.DONE:
                break
            self._now = int(axis[at[0]])
            if status == layout.NEED_RUNS:
                self._make_room_for_runs(self._now)
            elif status == layout.NEED_NODES:
                yield from self._retrieved(first_event)
                self._make_room_in_buffer(not_enough=int(at[0]) == lacked_at)
                lacked_at = int(at[0])
            else:
                if not self._tops[0]["complete"]:
                    self._complete = grown(self._complete, 2 * len(self._complete))
                yield from self._retrieved(first_event)
        if len(axis):
            self._now = int(axis[-1])
        yield from self._retrieved(first_event)

    def _retrieved(self, first_event: int) -> Iterator[MatchColumns]:
        """The matches of complete runs, in blocks: retrieved from the buffer."""
        control = self._control[0]
        count, longest = (
            int(self._tops[0]["complete"]),
            self._longest(int(self._tops[0]["entries"])),
        )
        if not count:
            return
        control["longest"] = longest - 1
        if len(self._ids) < 2 * longest:
            self._ids = int64s(4 * longest)
        room = int(self._tops[0]["members"]) + 2
        stack = int64s(room), int64s(room), int64s(room)
        path, cursor, written = int64s(longest + 1), int64s(2), int64s(2)
        status = versioned_matches.FULL
        while status == versioned_matches.FULL:
            begun = perf_counter()
            status = versioned_matches.list_matches(
                self._control,
                self._parts["entries"],
                self._parts["pointers"],
                self._index,
                self._parts["versions"],
                self._parts["members"],
                self._complete,
                count,
                *stack,
                path,
                cursor,
                self._ids,
                self._offsets,
                written,
            )
            self._lister.seconds += perf_counter() - begun
            assert status != versioned_matches.BROKEN, "an entry lacks a compatible pointer"
            if written[1]:
                control["matches_found"] += written[1]
                control["ids_found"] += written[0]
                tags, offsets = self._ids[: written[0]], self._offsets[: written[1] + 1]
                components = [step.component for step in self.automaton.steps]
                yield MatchColumns.of_tags(tags, offsets, components, first_event)
                written[:] = 0
        self._tops[0]["complete"] = 0

    def _make_room_in_buffer(self, not_enough: bool) -> None:
        """Prune the buffer, and let grow what is still more than half full, or all of it."""
        self._drop_nodes()
        for name, rows in self._parts.items():
            if not_enough or 2 * self._tops[0][name] > len(rows):
                self._parts[name] = grown(rows, 2 * len(rows))
        self._index_pointers()

    def _drop_nodes(self) -> int:
        """Forget what no match to come can contain; how many entries there were."""
        before = int(self._tops[0]["entries"])
        nfa_b.expire_runs(
            self._control, self._runs, self._partitions, self._now, self._by_partition
        )
        versioned_matches.prune_buffer(
            self._control,
            self._tops,
            self._runs,
            self._version_of,
            self._partitions,
            *self._parts.values(),
            self._now,
            self._by_partition,
            int64s(len(self._partitions)),
            *(int64s(int(self._tops[0][name])) for name in ("entries", "versions", "members")),
        )
        self._index_pointers()
        return before - int(self._tops[0]["entries"])

    def _index_pointers(self) -> None:
        pointers = self._parts["pointers"]
        self._index = int64s(1 << (2 * len(pointers) - 1).bit_length())
        versions.index_pointers(self._tops, pointers, self._parts["versions"], self._index)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the runs and entries of partition p to partition ``numbers[p]``."""
        super().renumber_partitions(numbers)
        partitions = self._parts["entries"]["partition"][: self._tops[0]["entries"]]
        partitions[:] = np.where(partitions >= 0, numbers[partitions], partitions)

    def state(self) -> Arrays:
        """The runs and the buffer as arrays, for a snapshot."""
        runs = super().state()
        used = {name: rows[: self._tops[0][name]] for name, rows in self._parts.items()}
        return {
            **runs,
            "tops": self._tops,
            "version_of": self._version_of,
            "now": np.array([self._now]),
            **prefixed("shared", used),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        super().load(state)
        self._tops, self._version_of = state["tops"], state["version_of"]
        self._now = int(state["now"][0])
        for name, rows in part("shared", state).items():
            self._parts[name] = grown(rows, max(2 * len(rows), _FIRST_ROWS))
        self._index_pointers()

    def _grow_runs(self, size: int) -> None:
        super()._grow_runs(size)
        version_of = int64s(size)
        version_of[: len(self._version_of)] = self._version_of
        self._version_of = version_of

    @property
    def buffer_bytes(self) -> int:
        """How much memory is in use for what runs have selected."""
        return sum(int(self._tops[0][name]) * row.itemsize for name, row in _PARTS.items())
