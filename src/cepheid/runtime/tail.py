"""The end of an endless array: numbers are added behind, and dropped in front."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from cepheid.runtime.bindings import Int64s
from cepheid.runtime.lent_memory import lent_numbers

_FEW = 8
"""One number in so many of a piece costs as much to look up there as all cost to be copied."""


class Tail:
    """What is left of the numbers that were added; they are copied only when they are looked at.

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
        """The numbers that are left, in the pieces in which they were added."""
        return iter(self._pieces)

    @property
    def values(self) -> Int64s:
        """The numbers that are left."""
        if len(self._pieces) != 1:
            joined = lent_numbers(self._length)
            np.concatenate([joined[:0], *self._pieces], out=joined)
            self._pieces = deque([joined])
        return self._pieces[0]

    def at(self, places: Int64s) -> Int64s:
        """The numbers at these places; few of them are looked up in the pieces."""
        found, low = lent_numbers(len(places)), 0
        if len(self._pieces) == 1 or _FEW * len(places) * len(self._pieces) > self._length:
            return np.take(self.values, places, out=found, mode="clip")  # without a buffer
        for piece in self._pieces:
            here = (places >= low) & (places < low + len(piece))
            found[here] = piece[places[here] - low]
            low += len(piece)
        return found

    def up_to(self, value: int) -> int:
        """How many of the numbers, which never decrease, are at most a value.

        >>> tail = Tail(np.array([3, 5]))
        >>> tail.append(np.array([5, 8]))
        >>> tail.up_to(4), tail.up_to(5), tail.up_to(9)
        (1, 3, 4)
        """
        before = 0
        for piece in self._pieces:
            if len(piece) and piece[-1] > value:
                return before + int(np.searchsorted(piece, value, side="right"))
            before += len(piece)
        return before

    def append(self, values: Int64s) -> None:
        """Add numbers, which must not change from now on."""
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
        """Drop all but those at these places."""
        kept = self.values[places]
        self._pieces, self._length = deque([kept]), len(kept)

    def replace(self, values: Int64s) -> None:
        """Have these numbers instead."""
        self._pieces, self._length = deque([values]), len(values)
