"""The runs of one automaton, with the events that they have selected in a versioned buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.codegen.steps import NfaB
from cepheid.engines.base.engine import Chunk, EngineTask, Restored, StandingBuffer
from cepheid.engines.base.layout import Rows
from cepheid.engines.nfa_b import layout
from cepheid.engines.nfa_b.engine import NfaBEngine
from cepheid.engines.nfa_b.kernels import memory
from cepheid.engines.nfa_b.variants.kernels import versioned, versioned_matches, versions
from cepheid.engines.nfa_b.variants.layout import (
    COMBINED,
    COMPLETE,
    ENTRY,
    MEMBER,
    POINTER,
    TOPS,
    VERSION,
    Shared,
)
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.matches.bindings import Bindings
from cepheid.matches.stored import check_tags
from cepheid.snapshot_checks import FAR, ROW, Expected, expected, require
from cepheid.snapshots import Arrays, part, prefixed
from cepheid.tuning import tuning

_PARTS = {"entries": ENTRY, "pointers": POINTER, "versions": VERSION, "members": MEMBER}


class VersionedEngine(NfaBEngine):
    """Holds runs, and apart from them the buffer that they share [Agrawal08 §5.1]."""

    _shared = Shared()

    def __init__(self, automaton: NfaB, task: EngineTask) -> None:
        assert not task.keeps_all
        super().__init__(automaton, task)
        self._is_restored = False
        self._ids, self._offsets = int64s(tuning().output_ids), int64s(tuning().output_matches)
        self._shared = self._shared._replace(
            tops=np.zeros(1, dtype=TOPS),
            complete=np.zeros(tuning().versioned_complete, dtype=COMPLETE),
            stacks=int64s(2 * len(automaton.steps)),
            **{name: np.zeros(tuning().versioned_rows, dtype=row) for name, row in _PARTS.items()},
        )
        self._now = 0
        self._index_pointers()

    def _buffer(self) -> Iterable[npt.NDArray[Any]]:
        return [getattr(self._shared, name) for name in _PARTS]

    @property
    def _used(self) -> Arrays:
        """The rows of the buffer that are in use."""
        tops = self._shared.tops[0]
        return {name: getattr(self._shared, name)[: tops[name]] for name in _PARTS}

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; the matches that it completes, in blocks."""
        batch, at = self._begin_batch(chunk), int64s(layout.AT_FIELDS)
        lacked_at = layout.FREE

        def advance() -> int:
            status: int = versioned.advance_versioned_runs(
                self._tables, self._state, self._shared, self._merging, batch, at, self._out
            )
            if len(batch.axis):
                self._now = int(batch.axis[min(at[0], len(batch.axis) - 1)])
            return status

        def make_room() -> Iterator[Bindings]:
            nonlocal lacked_at
            yield from self._retrieved(first_event)
            self._make_room_in_buffer(not_enough=int(at[0]) == lacked_at)
            lacked_at = int(at[0])

        def make_room_for_complete() -> Iterator[Bindings]:
            if not self._shared.tops[0]["complete"]:
                complete = grown(self._shared.complete, 2 * len(self._shared.complete))
                self._shared = self._shared._replace(complete=complete)
            return self._retrieved(first_event)

        yield from self._drive(
            advance,
            {
                layout.NEED_RUNS: lambda: self._make_room_for_runs(self._now),
                layout.NEED_NODES: make_room,
                layout.NEED_FINALS: make_room_for_complete,
            },
        )
        yield from self._retrieved(first_event)

    def _retrieved(self, first_event: int) -> Iterator[Bindings]:
        """The matches of complete runs, in blocks: retrieved from the buffer."""
        control, tops = self._control[0], self._shared.tops[0]
        if not tops["complete"]:
            return
        longest = self._longest(int(tops["entries"]))
        control["longest"] = longest - 1
        if len(self._ids) < 2 * longest:
            self._ids = int64s(4 * longest)
        room = int(tops["members"]) + 2
        cursor = int64s(versioned_matches.CURSOR_FIELDS)
        retrieval = versioned_matches.Retrieval(
            cursor,
            int64s(room),
            int64s(room),
            int64s(room),
            int64s(longest + 1),
            self._ids,
            self._offsets,
        )
        status = versioned_matches.FULL
        while status == versioned_matches.FULL:
            begun = perf_counter()
            status = versioned_matches.list_matches(self._state, self._shared, retrieval)
            self._lister.drive.seconds += perf_counter() - begun
            require(status != versioned_matches.BROKEN, "an entry lacks a compatible pointer")
            tags, matches = cursor[versioned_matches.AT_TAG], cursor[versioned_matches.AT_MATCH]
            if matches:
                control["matches_found"] += matches
                control["ids_found"] += tags
                components = [step.component for step in self.automaton.steps]
                found = self._ids[:tags], self._offsets[: matches + 1], components
                if self._is_restored:
                    check_tags(*found)
                yield Bindings.of_tags(*found, first_event)
                cursor[versioned_matches.AT_TAG :] = 0
        tops["complete"] = 0

    def _make_room_in_buffer(self, not_enough: bool) -> None:
        """Prune the buffer, and grow the parts that are still more than half full, or all."""
        self._drop_nodes()
        for name, used in self._used.items():
            rows = getattr(self._shared, name)
            if not_enough or 2 * len(used) > len(rows):
                self._shared = self._shared._replace(**{name: grown(rows, 2 * len(rows))})
        self._index_pointers()

    def _drop_nodes(self) -> int:
        """Drop what no match to come can contain; how many entries there were."""
        tops = self._shared.tops[0]
        before = int(tops["entries"])
        memory.expire_runs(self._state, self._now, self._by_partition)
        moved = versioned_matches.Moved(
            int64s(len(self._state.partitions)),
            *(int64s(int(tops[name])) for name in ("entries", "versions", "members")),
        )
        versioned_matches.prune_buffer(
            self._state, self._shared, self._now, self._by_partition, moved
        )
        self._index_pointers()
        return before - int(tops["entries"])

    def _index_pointers(self) -> None:
        index = int64s(1 << (2 * len(self._shared.pointers) - 1).bit_length())
        self._shared = self._shared._replace(by_label=index)
        versions.index_pointers(self._shared)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the runs and entries of partition p to partition ``numbers[p]``."""
        super().renumber_partitions(numbers)
        partitions = self._used["entries"]["partition"]
        partitions[:] = np.where(partitions >= 0, numbers[partitions], partitions)

    def state(self) -> Arrays:
        """The runs and the buffer as arrays, for a snapshot."""
        runs = super().state()
        return {
            **runs,
            "tops": self._shared.tops,
            "version_of": self._shared.version_of,
            "now": np.array([self._now]),
            **prefixed("shared", self._used),
        }

    def _expected(self) -> dict[str, Expected]:
        return {
            **super()._expected(),
            "tops": expected(TOPS, 1, complete=(0, 1), initiations=(0, FAR)),
            "version_of": expected(np.int64, "runs"),
            "now": expected(np.int64, 1),
            "shared.entries": expected(ENTRY, "entries", partition=(NONE, "partitions")),
            "shared.pointers": expected(
                POINTER, "pointers", entry=(0, "entries"), version=(0, "versions")
            ),
            "shared.versions": expected(VERSION, "versions", parent=(NONE, ROW)),
            "shared.members": expected(
                MEMBER, "members", version=(0, "versions"), next=(NONE, ROW)
            ),
        }

    def _check_chains(self, state: Arrays, live: Rows, restored: Restored) -> None:
        """Refuse heads and versions that lead nowhere."""
        rows = part("shared", state)
        entries, pointers, members = rows["entries"], rows["pointers"], rows["members"]
        for name, used in rows.items():
            require(state["tops"][0][name] == len(used), f"{name} are missing")
        tags = entries["tag"]
        component = tags & ((1 << TAG_SHIFT) - 1)
        require((component < len(self.automaton.steps)).all(), "an entry has no component")
        is_event = (tags >= 0) & (tags >> TAG_SHIFT < restored.events.stop)
        is_event &= (tags >> TAG_SHIFT >= restored.events.start) | (
            entries["axis"] <= restored.edge
        )
        require(is_event.all(), "an entry has an unknown event")
        # A link leads to an earlier entry, or to members, and members lead to earlier ones.
        before = pointers["previous"]
        require((before < pointers["entry"]).all(), "a pointer leads to a later entry")
        heads = np.concatenate([before, members["head"], live["head"]])
        require((heads < len(entries)).all(), "a head has no entry")
        require((COMBINED - heads < len(members)).all(), "a head has no members")
        combined = members["head"] <= COMBINED
        places = np.arange(len(members))
        require((COMBINED - members["head"] < places)[combined].all(), "members are in no order")
        latest = int64s(len(members))
        versions.follow_members(members, latest)
        combined = before <= COMBINED
        are_earlier = latest[COMBINED - before[combined]] < pointers["entry"][combined]
        require(are_earlier.all(), "a pointer leads to later members")
        is_live = state["runs"]["state"] >= 0
        own = state["version_of"][is_live]
        are_versions = (own >= 0) & (own < len(rows["versions"]))
        require(are_versions.all(), "a run has an unknown version")
        roots = live["root"]
        require(((roots >= 0) & (roots < max(len(entries), 1))).all(), "a run has no first entry")

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        super().load(state, restored)
        self._is_restored = True
        # No match is longer than all entries, whatever the snapshot says.
        entries = len(state["shared.entries"])
        for lengths in (self._control["longest"], self._state.runs["length"]):
            np.maximum(lengths, entries, out=lengths)
        self._now = int(state["now"][0])
        self._shared = self._shared._replace(
            tops=state["tops"],
            version_of=state["version_of"],
            **{
                name: grown(rows, max(2 * len(rows), tuning().versioned_rows))
                for name, rows in part("shared", state).items()
            },
        )
        self._index_pointers()

    def live_starts(self) -> Int64s | None:
        """Not known: a run does not lead to its first event."""
        return None

    def _grow_runs(self, size: int) -> None:
        super()._grow_runs(size)
        self._shared = self._shared._replace(version_of=grown(self._shared.version_of, size))

    def selected(self) -> StandingBuffer:
        """The buffer, and the runs that have not left the window."""
        runs, used = self._state.runs, self._used
        live = np.flatnonzero(runs["state"] >= 0)
        shown = [
            (int(self._shared.version_of[run]), int(runs["state"][run]), int(runs["head"][run]))
            for run in live
        ]
        return StandingBuffer(used["entries"], used["pointers"], used["versions"], tuple(shown))

    @property
    def buffer_bytes(self) -> int:
        """The memory in use for what runs have selected."""
        return sum(rows.nbytes for rows in self._used.values())
