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
        self._slots = _empty(_FIRST_SIZE)

    def number(self, columns: Sequence[EncodedColumn], length: int) -> Int64s:
        """The number of each event's key; negative where a value is null.

        Without columns all events are in partition 0.
        """
        numbers = np.zeros(length, dtype=np.int64)
        if not columns:
            self.count = max(self.count, 1)
        # Keys of one attribute and of two never meet in the table: the place sets them apart.
        for place, column in enumerate(columns):
            if column.valid is not None:
                numbers[~column.valid] = partition_ids.NULL
            self._number(numbers, len(columns), place, _key_values(column))
        return numbers

    def state(self) -> Arrays:
        """The table as arrays, for a snapshot."""
        return {"slots": self._slots, "count": np.array([self.count])}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._slots = state["slots"]
        self.count = int(state["count"][0])

    def _number(self, numbers: Int64s, places: int, place: int, values: Int64s) -> None:
        at = np.zeros(1, dtype=np.int64)
        while True:
            self.count = partition_ids.number_pairs(
                self._slots, self.count, numbers, places, place, values, numbers, at
            )
            if at[0] == len(values):
                return
            larger = _empty(2 * len(self._slots))
            partition_ids.rehash(self._slots, larger)
            self._slots = larger


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
