"""Dense numbers for the values of partition keys, kept across batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.events.arrays import Int64s, lent_numbers
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.kernels import partition_ids
from cepheid.snapshots import Arrays

_FIRST_SIZE = 64
_SMALL = 256
_MOST_SMALL = 1 << 18
"""The numbers of values from 0 to this are found without a hash, if any of them are."""
FEW = 16_384
"""So many numbers are not taken back between batches."""
FEW_STORED = 256
"""So many numbers are not taken back before they are stored."""
_FIRST_PART = 256
"""How many events are looked up in the table at first, where one has no number at its place."""
_NOTHING = np.empty(0, dtype=np.int64)


class PartitionNumbers:
    """Numbers 0, 1, 2, … for the values of a key, in the order in which they first come."""

    def __init__(self) -> None:
        self.count = 0
        self._slots = _empty(_FIRST_SIZE)
        self._direct = np.full(_SMALL, partition_ids.EMPTY, dtype=np.int64)
        self._places = 1
        self._after_shrinking = 0
        self._first_count = 0

    def number(
        self, columns: Sequence[EncodedColumn], length: int, places: Int64s | None = None
    ) -> Int64s:
        """The number of each event's key; negative where a value is null.

        Without columns all events are in partition 0. If ``places`` are given, other events have
        no number.

        >>> keys = [EncodedColumn(np.array([70, 80, 90]))]
        >>> PartitionNumbers().number(keys, 3, np.array([0, 2])).tolist()
        [0, -1, 1]
        """
        if places is None or not columns:
            return self._numbered(columns, length, _NOTHING, _NOTHING)[0]
        numbers = lent_numbers(length)
        numbers.fill(partition_ids.NULL)
        if len(columns) == 1 and columns[0].valid is None:
            self._places = 1
            self._number_at(numbers, _key_values(columns[0]), places)
            return numbers
        picked = [
            EncodedColumn(
                column.values[places], None if column.valid is None else column.valid[places]
            )
            for column in columns
        ]
        numbers[places] = self._numbered(picked, len(places), _NOTHING, _NOTHING)[0]
        return numbers

    def number_and_count(
        self, columns: Sequence[EncodedColumn], length: int, counts: Int64s
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The same, with how many events of its key came before each, and how many now have.

        ``counts`` are what the batch before had last.

        >>> keys = [EncodedColumn(np.array([70, 80, 70]))]
        >>> PartitionNumbers().number_and_count(keys, 3, np.zeros(0, np.int64))
        (array([0, 1, 0]), array([0, 0, 1]), array([2, 1]))
        """
        axis = lent_numbers(length)
        numbers, counts = self._numbered(columns, length, counts, axis)
        return numbers, axis, counts

    def _numbered(
        self, columns: Sequence[EncodedColumn], length: int, counts: Int64s, axis: Int64s
    ) -> tuple[Int64s, Int64s]:
        """The numbers of all events, and how many each has; these only if there is an axis."""
        numbers = lent_numbers(length)
        self._places = max(len(columns), 1)
        if not columns:
            self.count = max(self.count, 1)
        if len(columns) != 1 or columns[0].valid is not None:
            numbers.fill(0)
        for column in columns:
            if column.valid is not None:
                numbers[~column.valid] = partition_ids.NULL
        if len(columns) == 1:
            return numbers, self._number_one(numbers, columns[0], counts, axis)
        # Keys of one attribute and of two never meet in the table: the place sets them apart.
        for place, column in enumerate(columns):
            self._number(numbers, place, _key_values(column))
        return numbers, self._count(numbers, counts, axis, 0)

    def _number_one(
        self, numbers: Int64s, column: EncodedColumn, counts: Int64s, axis: Int64s
    ) -> Int64s:
        """Number the values of a key of one attribute, and count them.

        Small values are looked up at their place. From one on that is not there a part of the
        events is looked up in the table, and its small values are put at their places.
        """
        values, size = _key_values(column), _FIRST_PART
        counts = self._count(numbers, counts, axis, len(values))
        at, has_nulls = 0, column.valid is not None
        while at < len(values):
            at = partition_ids.number_small(
                self._direct, values, numbers, has_nulls, at, counts, axis
            )
            if at < len(values):
                here = slice(at, at + size)
                if not has_nulls:
                    numbers[here] = 0
                self._number(numbers[here], 0, values[here])
                if 0 <= values[at] < _MOST_SMALL:
                    self._note_small(values[here], numbers[here])
                counts = self._count(numbers[: at + size], counts, axis, at)
                at, size = min(at + size, len(values)), 4 * size
        return counts

    def _number_at(self, numbers: Int64s, values: Int64s, places: Int64s) -> None:
        """The same for the events at these places, of which none is null; nothing is counted."""
        at, size = 0, _FIRST_PART
        while at < len(places):
            at = partition_ids.number_small_at(self._direct, values, places, numbers, at)
            if at < len(places):
                here = places[at : at + size]
                found, keys = np.zeros(len(here), dtype=np.int64), values[here]
                self._number(found, 0, keys)
                numbers[here] = found
                if 0 <= keys[0] < _MOST_SMALL:
                    self._note_small(keys, found)
                at, size = at + len(here), 4 * size

    def _count(self, numbers: Int64s, counts: Int64s, axis: Int64s, first: int) -> Int64s:
        """Count the events from the first on, where there is an axis for them."""
        if len(axis):
            added = max(self.count, len(counts), 1) - len(counts)
            counts = np.concatenate([counts, np.full(added, self._first_count)])
            partition_ids.count_within(numbers, counts, axis, first)
        return counts

    def are_many(self, to_store: bool = False) -> bool:
        """Whether there are twice as many as after the last time that some were taken back.

        Taking them back costs time when their keys come again, and storing them room.
        """
        return self.count > 2 * self._after_shrinking + (FEW_STORED if to_store else FEW)

    def settle(self) -> None:
        """Let numbers be many again when there are twice as many as now."""
        self._after_shrinking = self.count

    def count_from(self, first: int) -> None:
        """Let the events of new keys be counted from at least this on.

        It is beyond what those of keys that were taken back have reached: who remembers such an
        event finds that it is long ago.
        """
        self._first_count = max(self._first_count, first)

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
        counts = np.array([self.count, self._places, self._after_shrinking, self._first_count])
        return {"slots": self._slots, "count": counts}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._slots = state["slots"]
        self.count, self._places, self._after_shrinking, self._first_count = map(
            int, state["count"]
        )

    def _number(self, numbers: Int64s, place: int, values: Int64s) -> None:
        """Number the values of one attribute, with what those before it have given."""
        at = np.zeros(1, dtype=np.int64)
        while at[0] < len(values):
            self.count = partition_ids.number_pairs(
                self._slots, self.count, numbers, self._places, place, values, numbers, at
            )
            if at[0] < len(values):
                larger = _empty(2 * len(self._slots))
                partition_ids.rehash(self._slots, larger)
                self._slots = larger

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
