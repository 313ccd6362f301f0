"""Matches as kernels write them: for each component the events of all matches, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.events.arrays import Int64s, PositionArray, lent
from cepheid.language import syntax as ast
from cepheid.matches.bindings import ListPositions, SinglePositions
from cepheid.matches.kernels import match_columns as kernel
from cepheid.matches.kernels import match_lists
from cepheid.matches.layout import Chains

ROOM_EVENTS = 1 << 19
"""The number of events of a component that a block has room for."""
_ROOM_MATCHES = 1 << 16
"""The number of matches with lists that a block has room for."""
_MEMOS = 1 << 13
_MOST_NARROW = 2**31 - 1
"""The greatest position that fits into four bytes."""


def width_of(first_event: int, next_event: int) -> np.dtype[Any]:
    """The type of positions from one event to before another.

    >>> width_of(2**40, 2**40 + 10_000), width_of(0, 2**40)
    (dtype('int32'), dtype('int64'))
    """
    return np.dtype(np.int32 if next_event - first_event <= _MOST_NARROW else np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class MatchColumns:
    """Matches of a sequence, as the events of each of its components, in stream order.

    Component c of match m has ``positions[c, offsets[c, m]:offsets[c, m + 1]]``; without offsets
    it has the one event ``positions[c, m]``.
    """

    positions: PositionArray
    offsets: Int64s | None
    count: int

    def __len__(self) -> int:
        return self.count

    @classmethod
    def of_tags(
        cls, tags: Int64s, begins: Int64s, components: Sequence[ast.Component], first_event: int
    ) -> MatchColumns:
        """Matches from the tags of their events, one match after the other."""
        count = len(begins) - 1
        if not any(component.is_kleene for component in components):
            positions = np.empty((len(components), count), dtype=np.int64)
            match_lists.split_single_variables(tags, first_event, positions)
            return cls(positions, None, count)
        counts = np.zeros((len(components), count), dtype=np.int64)
        # Room for all events in each component: pages that are not written take no memory.
        positions = np.empty((len(components), len(tags)), dtype=np.int64)
        totals = np.zeros(len(components), dtype=np.int64)
        match_lists.split_variables(tags, begins, first_event, positions, counts, totals)
        offsets = np.zeros((len(components), count + 1), dtype=np.int64)
        np.cumsum(counts, axis=1, out=offsets[:, 1:])
        return cls(positions, offsets, count)

    @property
    def events(self) -> int:
        """The number of events of all matches."""
        if self.offsets is None:
            return len(self.positions) * self.count
        return int(self.offsets[:, self.count].sum())

    def first(self) -> PositionArray:
        """The first event of each match."""
        if self.offsets is None:
            return self.positions[0, : self.count]
        first: PositionArray = self.positions[0][self.offsets[0, : self.count]]
        return first

    def last(self) -> PositionArray:
        """The last event of each match."""
        if self.offsets is None:
            return self.positions[-1, : self.count]
        last: PositionArray = self.positions[-1][self.offsets[-1, 1 : self.count + 1] - 1]
        return last

    def variables(
        self, components: Sequence[ast.Component]
    ) -> dict[str, SinglePositions | ListPositions]:
        """The events of each variable."""
        columns: dict[str, SinglePositions | ListPositions] = {}
        for ix, component in enumerate(components):
            if self.offsets is None:
                columns[component.variable] = SinglePositions(self.positions[ix, : self.count])
                continue
            offsets = self.offsets[ix, : self.count + 1]
            positions = self.positions[ix, : offsets[-1]]
            columns[component.variable] = (
                ListPositions(offsets, positions)
                if component.is_kleene
                else SinglePositions(positions)
            )
        return columns

    def tags(self) -> tuple[Int64s, Int64s]:
        """The matches one after the other, as tags of their events, and where each begins."""
        if self.offsets is None:
            components = len(self.positions)
            numbers = self.positions[:, : self.count].T.astype(np.int64, order="C")
            tags = (numbers << TAG_SHIFT) | np.arange(components)
            begins = np.arange(0, components * self.count + 1, components)
            return tags.ravel(), begins
        ids, offsets = np.empty(self.events, np.int64), np.zeros(self.count + 1, np.int64)
        match_lists.tag_columns(self.positions, self.offsets, self.count, ids, offsets)
        return ids, offsets


_IDLE: dict[tuple[int, int, str], list[npt.NDArray[Any]]] = {}
"""Memory of blocks that nobody holds, by shape and type."""


class BlockMemory:
    """Memory into which the events of each component are written, a block at a time.

    The memory of a block that nobody holds any more is used again, unless it is very large.
    """

    def __init__(self, components: int) -> None:
        self._components = components
        self.positions: PositionArray = np.empty((components, 0), np.int32)

    def make_room(self, room: int, width: np.dtype[Any]) -> None:
        """Have room for this many events of each component, as numbers of a width."""
        if self.positions.shape[1] < room or self.positions.dtype != width:
            shape = (self._components, room)
            idle = _IDLE.setdefault((*shape, width.char), []) if room <= ROOM_EVENTS else []
            try:
                memory = idle.pop()
            except IndexError:
                memory = np.empty(shape, width)
            self.positions = lent(memory, idle)

    def taken(self, used: int) -> PositionArray:
        """The positions written: the memory itself if much of it is used, otherwise a copy."""
        positions = self.positions
        if 16 * used <= positions.shape[1]:
            return positions[:, :used].copy()
        self.positions = np.empty((self._components, 0), np.int32)
        return positions


class MatchLister:
    """Lists the matches of chains, in blocks."""

    def __init__(self, components: int) -> None:
        self._memory = BlockMemory(components)
        # All matches begin at 0.
        self._offsets = np.zeros((components, _ROOM_MATCHES + 1), np.int64)
        self._path: PositionArray = np.empty(0, np.int32)
        # The memo is all zeros between calls of the kernel.
        self._listing = kernel.Listing(
            cursor=np.zeros(kernel.CURSOR_FIELDS, np.int64),
            stack=np.empty((2, 3), np.int64),
            begins=np.zeros(components, np.int64),
            pieces=np.empty((0, kernel.PIECE_FIELDS), np.int64),
            memos=np.empty((_MEMOS, kernel.MEMO_FIELDS), np.int64),
        )
        self.seconds = 0.0

    def blocks(self, chains: Chains, first_event: int, next_event: int) -> Iterator[MatchColumns]:
        """The matches of the finals; their events are all before ``next_event``.

        Positions count from ``first_event``.
        """
        width = width_of(first_event, next_event)
        nodes, longest = len(chains.nodes), chains.longest
        if len(self._listing.memo) < nodes:
            self._listing = self._listing._replace(
                memo=np.zeros(2 * nodes, np.int64), stack=np.empty((2 * nodes + 2, 3), np.int64)
            )
        if len(self._path) <= longest or self._path.dtype != width:
            self._path = np.empty(2 * longest + 2, width)
            pieces = np.empty((2 * longest + 2, kernel.PIECE_FIELDS), np.int64)
            self._listing = self._listing._replace(pieces=pieces)
        # The kernel leaves as much room as the path is long.
        path = self._path[: longest + 1]
        cursor = np.zeros(kernel.CURSOR_FIELDS, np.int64)
        listing = self._listing._replace(cursor=cursor)
        status = kernel.FULL
        while status == kernel.FULL:
            self._memory.make_room(max(ROOM_EVENTS, 2 * (longest + 1)), width)
            begun = perf_counter()
            status = kernel.list_columns(
                chains, listing, first_event, path, self._memory.positions, self._offsets
            )
            self.seconds += perf_counter() - begun
            if cursor[kernel.AT_MATCH]:
                yield self._handed_out(int(cursor[kernel.AT_MATCH]))
                cursor[kernel.AT_MATCH] = 0

    def _handed_out(self, count: int) -> MatchColumns:
        offsets = self._offsets[:, : count + 1].copy()
        return MatchColumns(self._memory.taken(int(offsets[:, count].max())), offsets, count)
