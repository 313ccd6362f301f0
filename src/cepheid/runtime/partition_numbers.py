"""Dense numbers for the values of partition keys, kept across batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.kernels import partition_ids
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.encoding import EncodedColumn
from cepheid.runtime.snapshot import Arrays

_FIRST_SIZE = 1_024


class PartitionNumbers:
    """Numbers 0, 1, 2, … for the values of a key, in the order in which they first come."""

    def __init__(self) -> None:
        self.count = 0
        self._left, self._right, self._numbers = _empty(_FIRST_SIZE)

    def number(self, columns: Sequence[EncodedColumn], length: int) -> Int64s:
        """The number of each event's key; negative where a value is null.

        Without columns all events are in partition 0.
        """
        numbers = np.zeros(length, dtype=np.int64)
        if not columns:
            self.count = max(self.count, 1)
            return numbers
        for place, column in enumerate(columns):
            if column.valid is not None:
                numbers[~column.valid] = partition_ids.NULL
            # Keys of one attribute and of two never meet in the table: the place sets them apart.
            left = np.where(numbers >= 0, numbers * len(columns) + place, partition_ids.NULL)
            numbers = self._number(np.ascontiguousarray(left), _key_values(column))
        return numbers

    def state(self) -> Arrays:
        """The table as arrays, for a snapshot."""
        return {
            "left": self._left,
            "right": self._right,
            "numbers": self._numbers,
            "count": np.array([self.count]),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._left, self._right, self._numbers = state["left"], state["right"], state["numbers"]
        self.count = int(state["count"][0])

    def _number(self, left: Int64s, right: Int64s) -> Int64s:
        out = np.empty(len(left), dtype=np.int64)
        at = np.zeros(1, dtype=np.int64)
        while True:
            self.count = partition_ids.number_pairs(
                self._left, self._right, self._numbers, self.count, left, right, out, at[0], at
            )
            if at[0] == len(left):
                return out
            self._grow()

    def _grow(self) -> None:
        larger = _empty(2 * len(self._numbers))
        partition_ids.rehash(self._left, self._right, self._numbers, *larger)
        self._left, self._right, self._numbers = larger


def _empty(size: int) -> tuple[Int64s, Int64s, Int64s]:
    left, right = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    return left, right, np.full(size, partition_ids.EMPTY, dtype=np.int64)


def _key_values(column: EncodedColumn) -> Int64s:
    """The values of a key as integers; floats by their bits, with one zero."""
    values = column.values
    if values.dtype == np.float64:
        values = (values + 0.0).view(np.int64)
    return values.astype(np.int64, copy=False)
