"""The rows of input buffers: a row for each partition, and for each group of equal values.

An equality such as ``a.x = b.x`` links two components: the events for them are looked up by
their value of x, in the group of that value. Groups have rows in the same tables as partitions,
so that a lookup reads another row [Kolchinsky17 §4.1].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.engines.lazy import layout
from cepheid.engines.lazy.kernel_tables import group_columns
from cepheid.engines.lazy.tables import LazyAutomaton
from cepheid.events.arrays import Int64s
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.snapshots import Arrays


class Groups:
    """Numbers the rows of partitions and groups.

    Without links, partition p has row p. With links, partition p has row 2 p and group g has row
    2 g + 1. A group is a value of a link's attributes within a partition.
    """

    def __init__(self, automaton: LazyAutomaton) -> None:
        self.columns = group_columns(automaton)
        self._links = max(len(automaton.links), 1)
        self._numbers = PartitionNumbers()
        self._masks = [
            sum(1 << ix for ix, name in automaton.links[link].terms if name == attribute)
            for link, attribute in self.columns
        ]
        self._stride = 2 if self.columns else 1

    def rows_of(self, partitions: Int64s) -> Int64s:
        """The rows of partitions."""
        return partitions * self._stride

    def partitions_of(self, rows: Int64s) -> Int64s:
        """The partitions that have these rows."""
        return rows // self._stride

    def number(self, partitions: Int64s, masks: Int64s, columns: Sequence[EncodedColumn]) -> Int64s:
        """For each event and each of the columns, the row of its group.

        It is NONE for an event that fits no component of the column, or has null there.
        """
        groups = np.empty((len(partitions), len(self.columns)), dtype=np.int64)
        for ix, ((link, _), column) in enumerate(zip(self.columns, columns, strict=True)):
            valid = masks & self._masks[ix] != 0
            if column.valid is not None:
                valid &= column.valid
            keys = [
                EncodedColumn(partitions * self._links + link),
                EncodedColumn(column.values, valid),
            ]
            numbers = self._numbers.number(keys, len(partitions))
            groups[:, ix] = np.where(valid, 2 * numbers + 1, layout.NONE)
        return groups

    def count(self, partitions: int) -> int:
        """The number of rows where there are this many partitions."""
        return self._stride * max(partitions, self._numbers.count)

    @property
    def are_many(self) -> bool:
        """Whether there are so many groups that unused ones should be dropped."""
        return self._numbers.are_many()

    def begin_anew(self) -> None:
        """Drop all groups."""
        self._numbers = PartitionNumbers()

    def settle(self) -> None:
        """Count as many again when there are twice as many groups as now."""
        self._numbers.settle()

    def state(self) -> Arrays:
        """The groups as arrays, for a snapshot."""
        return self._numbers.state()

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._numbers.load(state)
