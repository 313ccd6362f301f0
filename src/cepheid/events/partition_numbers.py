"""Dense numbers for the values of partition keys, kept across batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.events.arrays import Int64s, lent_numbers
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.kernels import partition_ids
from cepheid.snapshot_checks import FAR, check_arrays, expected, require
from cepheid.snapshots import Arrays
from cepheid.tuning import tuning

_FIRST_SIZE = 64
_SMALL = 256
_MOST_SMALL = 1 << 18
_SPARSE = 8
"""Values from 0 to this, or to this number times that of the keys, are looked up by index,
without a hash."""
_NOTHING = np.empty(0, dtype=np.int64)
_TWICE = "two partitions have the same number"


class PartitionNumbers:
    """Numbers 0, 1, 2, … for the values of a key, in order of first appearance."""

    def __init__(self) -> None:
        self.count = 0
        self._slots = _empty(_FIRST_SIZE)
        self._hashed = 0
        self._direct = np.full(_SMALL, partition_ids.EMPTY, dtype=np.int32)
        self._places = 1
        self._after_shrinking = 0
        self._first_count = 0
        self._room = _NOTHING

    def number(
        self, columns: Sequence[EncodedColumn], length: int, places: Int64s | None = None
    ) -> Int64s:
        """The number of the key of each event; negative if a value is null.

        Without columns all events are in partition 0. If ``places`` are given, only the events
        there get a number.

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
            self._number_at(numbers, key_values(columns[0]), places)
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
        """The same, with each event's index within its key, and the new count of each key.

        ``counts`` are the counts that the previous call returned.

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
        """The numbers of all events; with an axis, also the count of each number."""
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
        # Keys of one attribute and of two never collide in the table: the place is part of the key.
        for place, column in enumerate(columns):
            self._number(numbers, place, key_values(column))
        return numbers, self._count(numbers, counts, axis, 0)

    def _number_one(
        self, numbers: Int64s, column: EncodedColumn, counts: Int64s, axis: Int64s
    ) -> Int64s:
        """Number the values of a key of one attribute, and count them.

        Small values are looked up by index. From the first one that is missing there, all values
        are looked up in the index or in the hash table, and new ones are added.
        """
        values, has_nulls = key_values(column), column.valid is not None
        counts = self._count(numbers, counts, axis, len(values))
        at = partition_ids.number_small(self._direct, values, numbers, has_nulls, 0, counts, axis)
        if at < len(values):
            self._number_values(numbers[at:], values[at:], has_nulls)
            counts = self._count(numbers, counts, axis, at)
        return counts

    def _number_at(self, numbers: Int64s, values: Int64s, places: Int64s) -> None:
        """The same for the events at these places, without nulls and without counting."""
        at = partition_ids.number_small_at(self._direct, values, places, numbers, 0)
        if at < len(places):
            here = places[at:]
            found = lent_numbers(len(here))
            self._number_values(found, values[here], has_nulls=False)
            numbers[here] = found

    def _number_values(self, numbers: Int64s, values: Int64s, has_nulls: bool) -> None:
        """Number the values of a key of one attribute; a negative number can mean null."""
        state = np.array([0, self.count, self._hashed])
        while True:
            most = max(_MOST_SMALL, _SPARSE * int(state[1]))
            lacks = partition_ids.number_values(
                self._slots, self._direct, most, values, numbers, has_nulls, state
            )
            if not lacks:
                break
            if lacks == 1:
                self._grow_slots()
                continue
            size = len(self._direct)
            while size <= values[state[0]]:
                size *= 2
            larger = np.full(size, partition_ids.EMPTY, dtype=np.int32)
            larger[: len(self._direct)] = self._direct
            self._direct = larger
        self.count, self._hashed = int(state[1]), int(state[2])

    def _grow_slots(self) -> None:
        larger = _empty(2 * len(self._slots))
        partition_ids.rehash(self._slots, larger)
        self._slots = larger

    def _count(self, numbers: Int64s, counts: Int64s, axis: Int64s, first: int) -> Int64s:
        """Count the events from ``first`` on, if there is an axis."""
        if len(axis):
            counts = self._with_new_keys(counts)
            partition_ids.count_within(numbers, counts, axis, first)
        return counts

    def _with_new_keys(self, counts: Int64s) -> Int64s:
        """The counts, with a count for each key that has none yet; all are in ``_room``.

        Counts that are not there yet, such as those of a snapshot, are copied.
        """
        old = len(counts)
        new = max(self.count, old, 1)
        if counts.base is not self._room or len(self._room) < new:
            self._room = np.empty(max(new, 2 * old), dtype=np.int64)
            self._room[:old] = counts
        self._room[old:new] = self._first_count
        return self._room[:new]

    def are_many(self, to_store: bool = False) -> bool:
        """Whether there are twice as many as after numbers were last freed.

        Freeing costs time when keys come back; keeping them costs space.
        """
        return self.count > 2 * self._after_shrinking + (
            tuning().few_stored_partitions if to_store else tuning().few_partitions
        )

    def settle(self) -> None:
        """Free numbers next when there are twice as many as now."""
        self._after_shrinking = self.count

    def count_from(self, first: int) -> None:
        """Count the events of new keys from at least this number on.

        It is beyond the counts of all freed keys. If such a key comes back, its earlier events
        are therefore far in the past.
        """
        self._first_count = max(self._first_count, first)

    def keep(self, used: Int64s) -> Int64s:
        """Free the numbers p with ``used[p]`` = 0; returns the new number of each, or -1.

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
        while size < 4 * min(int(np.count_nonzero(used)), self._hashed) * self._places:
            size *= 2
        kept = _empty(size)
        self.count = partition_ids.keep_used(
            self._slots, self._places, np.ascontiguousarray(used), renumbered, kept
        )
        self._slots = kept
        self._hashed = int(np.count_nonzero(kept[:, 2] != partition_ids.EMPTY))
        partition_ids.renumber(self._direct, renumbered)
        self.settle()
        return renumbered

    def state(self) -> Arrays:
        """The table as arrays, for a snapshot."""
        counts = np.array([self.count, self._places, self._after_shrinking, self._first_count])
        slots, size = self._slots, len(self._slots)
        if self.count > self._hashed:
            while size < 2 * self.count:
                size *= 2
            slots = _empty(size)
            partition_ids.rehash(self._slots, slots)
            partition_ids.put_into_table(self._direct, slots)
        return {"slots": slots, "count": counts}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        described = {
            "slots": expected(np.int64, "slots", 3),
            "count": expected(np.int64, 4, each=(0, FAR)),
        }
        size = check_arrays(state, described)["slots"]
        slots, (count, places, after_shrinking, first_count) = state["slots"], state["count"]
        keys = slots[slots[:, 2] != partition_ids.EMPTY]
        require(size >= _FIRST_SIZE and size & (size - 1) == 0, "a hash table has a wrong size")
        require(2 * len(keys) <= size and places >= 1, "a hash table is too full")
        require(
            # Without keys all events are in partition 0.
            count == len(keys) or (count == 1 and not len(keys)),
            "the numbers of partitions are not as many as the partitions",
        )
        require(np.array_equal(np.sort(keys[:, 2]), np.arange(len(keys))), _TWICE)
        extends = keys[:, 0] % places > 0
        require(_are_within(keys[extends, 0] // places, int(count)), "a key extends no other key")
        self._slots, self._hashed = slots, len(keys)
        self.count, self._places = int(count), int(places)
        self._after_shrinking, self._first_count = int(after_shrinking), int(first_count)

    def _number(self, numbers: Int64s, place: int, values: Int64s) -> None:
        """Number the values of one attribute, combined with the numbers of those before it."""
        at = np.zeros(1, dtype=np.int64)
        while at[0] < len(values):
            self.count = self._hashed = partition_ids.number_pairs(
                self._slots, self.count, numbers, self._places, place, values, numbers, at
            )
            if at[0] < len(values):
                self._grow_slots()


def _are_within(numbers: Int64s, count: int) -> bool:
    return bool(((numbers >= 0) & (numbers < count)).all())


def _empty(size: int) -> Int64s:
    slots = np.zeros((size, 3), dtype=np.int64)
    slots[:, 2] = partition_ids.EMPTY
    return slots


def key_values(column: EncodedColumn) -> Int64s:
    """The values of a key as integers; floats by their bits, where -0.0 is 0.0."""
    values = column.values
    if values.dtype == np.float64:
        values = (values + 0.0).view(np.int64)
    return values.astype(np.int64, copy=False)
