"""The end of an endless array: numbers are appended at the end and dropped at the front."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

import numpy as np

from cepheid.events.arrays import Int64s, PositionArray, lent_numbers

_NOTHING = np.empty(0, np.int64)
_FEW_PLACES = 4_096
"""For so few, compiled code saves nothing, and a process that needs no other does not load it."""
_FEW = 8
"""Looking up one in this many numbers costs as much as copying all of them."""


class Tail:
    """The remaining numbers of those that were added; they are copied only when they are read.

    >>> tail = Tail()
    >>> tail.append(np.array([3, 5]))
    >>> tail.append(np.array([8]))
    >>> tail.drop_first(1)
    >>> tail.values.tolist()
    [5, 8]
    >>> tail.at(np.array([1, 1])).tolist()
    [8, 8]
    """

    def __init__(self, values: Int64s | None = None) -> None:
        self._pieces: deque[Int64s] = deque([] if values is None else [values])
        self._length = 0 if values is None else len(values)

    def __len__(self) -> int:
        return self._length

    @property
    def pieces(self) -> Iterator[Int64s]:
        """The remaining numbers, in the pieces in which they were added."""
        return iter(self._pieces)

    @property
    def values(self) -> Int64s:
        """The remaining numbers."""
        if len(self._pieces) != 1:
            self._pieces = deque([_joined(self._pieces)])
        return self._pieces[0]

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last number, if there are any.

        >>> Tail(np.array([3, 5, 8])).span
        (3, 8)
        """
        pieces = [piece for piece in self._pieces if len(piece)]
        return (int(pieces[0][0]), int(pieces[-1][-1])) if pieces else None

    def at(self, places: PositionArray) -> Int64s:
        """The numbers at these indices; if they are few, they are looked up in the pieces."""
        found, low = lent_numbers(len(places)), 0
        self._join_for(len(places))
        if len(self._pieces) <= 2:
            before = self._pieces[0] if len(self._pieces) == 2 else _NOTHING
            after = self._pieces[-1] if self._pieces else _NOTHING
            if not len(before) and len(places) <= _FEW_PLACES:
                return np.take(after, places, out=found, mode="clip")
            from cepheid.events.kernels.look_up import look_up

            look_up(before, after, places, found)
            return found
        order = np.argsort(places, kind="stable")
        ends = np.cumsum([len(piece) for piece in self._pieces])
        bounds = np.searchsorted(places, ends, sorter=order).tolist()
        for piece, end, bound in zip(self._pieces, ends.tolist(), bounds, strict=True):
            here = order[low:bound]
            found[here] = piece[places[here] - (end - len(piece))]
            low = bound
        return found

    def as_it_is(self, looked_up: int) -> Tail:
        """The current numbers, of which ``count`` will be looked up.

        >>> tail = Tail(np.array([3, 5]))
        >>> now = tail.as_it_is(1)
        >>> tail.drop_first(1)
        >>> now.at(np.array([0])).tolist()
        [3]
        """
        self._join_for(looked_up)
        now = Tail()
        now._pieces, now._length = self._pieces.copy(), self._length
        return now

    def _join_for(self, looked_up: int) -> None:
        """Join all pieces but the last one, if they are many or this many numbers are looked up.

        The last piece is usually much longer than the others together.
        """
        pieces = len(self._pieces)
        if pieces > 2 and _FEW * (looked_up + pieces) > self._length:
            last = self._pieces.pop()
            self._pieces = deque([_joined(self._pieces), last])

    def up_to(self, value: int) -> int:
        """How many numbers are at most a value; the numbers never decrease.

        >>> tail = Tail(np.array([3, 5]))
        >>> tail.append(np.array([5, 8]))
        >>> tail.up_to(4), tail.up_to(5), tail.up_to(9)
        (1, 3, 4)
        """
        before = 0
        for piece in self._pieces:
            if len(piece) and piece[-1] > value:
                if piece[0] > value:
                    return before
                return before + int(piece.searchsorted(value, side="right"))
            before += len(piece)
        return before

    def append(self, values: Int64s) -> None:
        """Add numbers, which must not change afterwards."""
        self._pieces.append(values)
        self._length += len(values)

    def drop_first(self, count: int) -> None:
        """Drop the numbers that were added first."""
        self._length -= count
        while self._pieces and count >= len(self._pieces[0]):
            count -= len(self._pieces.popleft())
        if count:
            self._pieces[0] = self._pieces[0][count:]

    def keep(self, places: Int64s) -> None:
        """Drop all numbers except those at these indices."""
        self.replace(self.values[places])

    def replace(self, values: Int64s) -> None:
        """Replace all numbers."""
        self._pieces, self._length = deque([values]), len(values)


def _joined(pieces: Collection[Int64s]) -> Int64s:
    joined = lent_numbers(sum(len(piece) for piece in pieces))
    return np.concatenate([joined[:0], *pieces], out=joined)
