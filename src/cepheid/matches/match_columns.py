"""Blocks of matches: the memory that kernels write them into, and the listing of finals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, PositionArray, int64s, lent, zeros
from cepheid.jit.drive import Drive
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.kernels import match_columns as kernel
from cepheid.matches.layout import Chains
from cepheid.tuning import tuning

_MEMOS = 1 << 13


def width_of(first_event: int, next_event: int) -> np.dtype[Any]:
    """The type of positions from one event up to, but not including, another.

    >>> width_of(2**40, 2**40 + 10_000), width_of(0, 2**40)
    (dtype('int32'), dtype('int64'))
    """
    return np.dtype(np.int32 if next_event - first_event <= tuning().narrow_positions else np.int64)


_IDLE: dict[tuple[int, int, str], list[npt.NDArray[Any]]] = {}
"""Memory of blocks that are no longer referenced, by shape and type."""


class BlockMemory:
    """Memory into which the events of each component are written, a block at a time.

    The memory of a block that is no longer referenced is reused, unless it is very large.
    """

    def __init__(self, components: int) -> None:
        self._components = components
        self.positions: PositionArray = np.empty((components, 0), np.int32)

    def make_room(self, room: int, width: np.dtype[Any]) -> None:
        """Allocate room for this many events of each component, as numbers of this width."""
        if self.positions.shape[1] < room or self.positions.dtype != width:
            shape = (self._components, room)
            idle = (
                _IDLE.setdefault((*shape, width.char), []) if room <= tuning().block_events else []
            )
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

    def __init__(self, components: Sequence[ast.Component]) -> None:
        self._components = components
        self._memory = BlockMemory(len(components))
        # The first offset of every component is 0.
        self._offsets = np.zeros((len(components), tuning().block_matches + 1), np.int64)
        self._path: PositionArray = np.empty(0, np.int32)
        # The memo is all zeros between calls of the kernel.
        self._listing = kernel.Listing(
            cursor=np.zeros(kernel.CURSOR_FIELDS, np.int64),
            stack=np.empty((2, 3), np.int64),
            begins=np.zeros(len(components), np.int64),
            pieces=np.empty((0, kernel.PIECE_FIELDS), np.int64),
            memos=np.empty((_MEMOS, kernel.MEMO_FIELDS), np.int64),
        )
        self.drive = Drive()

    def blocks(self, chains: Chains, first_event: int, next_event: int) -> Iterator[Bindings]:
        """The matches of the finals; their events are all before ``next_event``.

        Positions count from ``first_event``.
        """
        width = width_of(first_event, next_event)
        nodes, longest = len(chains.nodes), chains.longest
        if len(self._listing.memo) < nodes:
            self._listing = self._listing._replace(
                memo=int64s(2 * nodes), stack=zeros((2 * nodes + 2, 3), np.int64)
            )
        if len(self._path) <= longest or self._path.dtype != width:
            self._path = np.empty(2 * longest + 2, width)
            pieces = np.empty((2 * longest + 2, kernel.PIECE_FIELDS), np.int64)
            self._listing = self._listing._replace(pieces=pieces)
        # The kernel reserves room for the length of this array.
        path = self._path[: longest + 1]
        cursor = np.zeros(kernel.CURSOR_FIELDS, np.int64)
        listing = self._listing._replace(cursor=cursor)

        def list_more() -> int:
            self._memory.make_room(max(tuning().block_events, 2 * (longest + 1)), width)
            status: int = kernel.list_columns(
                chains, listing, first_event, path, self._memory.positions, self._offsets
            )
            return status

        yield from self.drive(list_more, {kernel.FULL: partial(self._drained, cursor)})
        yield from self._drained(cursor)

    def _drained(self, cursor: Int64s) -> Iterator[Bindings]:
        """The matches that the kernel has written."""
        count = int(cursor[kernel.AT_MATCH])
        if count:
            offsets = self._offsets[:, : count + 1].copy()
            positions = self._memory.taken(max(offsets[:, count].tolist()))
            yield Bindings.of_columns(positions, offsets, count, self._components)
            cursor[kernel.AT_MATCH] = 0
