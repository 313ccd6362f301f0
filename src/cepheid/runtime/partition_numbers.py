"""Dense numbers for the values of partition keys, kept across batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.kernels import partition_ids
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.encoding import EncodedColumn
from cepheid.runtime.snapshot import Arrays

_FIRST_SIZE = 1_024
_SMALL = 4_096
_MOST_SMALL = 1 << 18
"""The numbers of values from 0 to this are found without a hash, if any of them are."""
FEW = 16_384
"""So many numbers are not taken back between batches."""
FEW_STORED = 256
"""So many numbers are not taken back before they are stored."""


class PartitionNumbers:
    """Numbers 0, 1, 2, … for the values of a key, in the order in which they first come."""

    def __init__(self) -> None:
        self.count = 0
        self._slots = _empty(_FIRST_SIZE)
        self._direct = np.full(_SMALL, partition_ids.EMPTY, dtype=np.int64)
        self._places = 1
        self._after_shrinking = 0

    def number(self, columns: Sequence[EncodedColumn], length: int) -> Int64s:
        """The number of each event's key; negative where a value is null.

        Without columns all events are in partition 0.
        """
        numbers = np.zeros(length, dtype=np.int64)
        self._places = max(len(columns), 1)
        if not columns:
            self.count = max(self.count, 1)
        # Keys of one attribute and of two never meet in the table: the place sets them apart.
        for place, column in enumerate(columns):
            if column.valid is not None:
                numbers[~column.valid] = partition_ids.NULL
            self._number(numbers, len(columns), place, _key_values(column))
        return numbers

    def are_many(self, to_store: bool = False) -> bool:
        """Whether there are twice as many as after the last time that some were taken back.

        Taking them back costs time when their keys come again, and storing them room.
        """
        return self.count > 2 * self._after_shrinking + (FEW_STORED if to_store else FEW)

    def settle(self) -> None:
        """Let numbers be many again when there are twice as many as now."""
        self._after_shrinking = self.count

    def keep(self, used: Int64s) -> Int64s:
        """Take back the numbers p for which ``used[p]`` is 0; the new number of each, or -1.

        >>> numbers = PartitionNumbers()
        >>> numbers.number([EncodedColumn(np.array([70, 80, 90]))], 3).tolist()
        [0, 1, 2]
        >>> numbers.keep(np.array([0, 1, 0])).tolist()
        [-1, 0, -1]
        >>> numbers.number([EncodedColumn(np.array([90, 80]))], 2).tolist()
        [1, 0]
        """
        renumbered = np.empty(len(used), dtype=np.int64)
        size = _FIRST_SIZE
        while size < 4 * np.count_nonzero(used) * self._places:
            size *= 2
        kept = _empty(size)
        self.count = partition_ids.keep_used(
            self._slots, self._places, np.ascontiguousarray(used), renumbered, kept
        )
        self._slots = kept
        self._direct.fill(partition_ids.EMPTY)
        self.settle()
        return renumbered

    def state(self) -> Arrays:
        """The table as arrays, for a snapshot."""
        counts = np.array([self.count, self._places, self._after_shrinking])
        return {"slots": self._slots, "count": counts}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._slots = state["slots"]
        self.count, self._places, self._after_shrinking = map(int, state["count"])

    def _number(self, numbers: Int64s, places: int, place: int, values: Int64s) -> None:
        at = np.zeros(1, dtype=np.int64)
        if places == 1:
            at[0] = partition_ids.number_small(self._direct, values, numbers)
        # A small value that lacks a number there is new; others are not looked for there again.
        is_new = places == 1 and at[0] < len(values) and 0 <= values[at[0]] < _MOST_SMALL
        while at[0] < len(values):
            self.count = partition_ids.number_pairs(
                self._slots, self.count, numbers, places, place, values, numbers, at
            )
            if at[0] < len(values):
                larger = _empty(2 * len(self._slots))
                partition_ids.rehash(self._slots, larger)
                self._slots = larger
        if is_new:
            self._note_small(values, numbers)

    def _note_small(self, values: Int64s, numbers: Int64s) -> None:
        """Let the numbers of small values be found at their place the next time."""
        small = (values >= 0) & (values < _MOST_SMALL) & (numbers >= 0)
        values = values[small]
        size = len(self._direct)
        while size <= values.max(initial=0):
            size *= 2
        if size > len(self._direct):
            larger = np.full(size, partition_ids.EMPTY, dtype=np.int64)
            larger[: len(self._direct)] = self._direct
            self._direct = larger
        self._direct[values] = numbers[small]


def _empty(size: int) -> Int64s:
    slots = np.zeros((size, 3), dtype=np.int64)
    slots[:, 2] = partition_ids.EMPTY
    return slots


def _key_values(column: EncodedColumn) -> Int64s:
    """The values of a key as integers; floats by their bits, with one zero."""
    values = column.values
    if values.dtype == np.float64:
        values = (values + 0.0).view(np.int64)
    return values.astype(np.int64, copy=False)
