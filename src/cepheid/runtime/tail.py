"""The end of an endless array: numbers are added behind, and dropped in front."""

from __future__ import annotations

import numpy as np

from cepheid.runtime.bindings import Int64s

_FIRST_ROOM = 1_024


class Tail:
    """What is left of the numbers that were added; each is copied a constant number of times.

    >>> tail = Tail()
    >>> tail.append(np.array([3, 5, 8]))
    >>> tail.drop_first(1)
    >>> tail.values.tolist()
    [5, 8]
    """

    def __init__(self, values: Int64s | None = None) -> None:
        self._data: Int64s = np.empty(_FIRST_ROOM, dtype=np.int64) if values is None else values
        self._low = 0
        self._high = 0 if values is None else len(values)

    def __len__(self) -> int:
        return self._high - self._low

    @property
    def values(self) -> Int64s:
        """The numbers that are left; valid until more are added."""
        return self._data[self._low : self._high]

    def append(self, values: Int64s) -> None:
        """Add numbers."""
        high = self._high + len(values)
        if high > len(self._data):
            kept = self.values
            size = len(kept) + len(values)
            # Moving to the front pays where it frees at least half of the room.
            room = self._data if 2 * size <= len(self._data) else np.empty(2 * size, np.int64)
            room[: len(kept)] = kept
            self._data, self._low, self._high = room, 0, len(kept)
            high = size
        self._data[self._high : high] = values
        self._high = high

    def drop_first(self, count: int) -> None:
        """Drop the numbers that were added first."""
        self._low += count

    def keep(self, places: Int64s) -> None:
        """Drop all but those at these places."""
        values = self.values[places]
        self._data, self._low, self._high = values, 0, len(values)
