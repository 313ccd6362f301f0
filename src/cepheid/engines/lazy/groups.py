"""The rows of a lazy automaton's tables: partitions, and groups of events that agree in a value.

An equality such as ``a.x = b.x`` links two components: events that can be bound to them are found
by their value of x, in the group of it. A group has a row of its own in the tables in which
partitions have theirs, so that to look something up is to read another row [Kolchinsky17 §4.1].
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
    """The rows of partitions and groups: without links, a row is the number of a partition.

    With links, partition p has row 2 p and group g row 2 g + 1. A group is a value of a link's
    attributes within a partition.
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
        """For each event the row of its group by each of the columns.

        An event that fits none of the components of a column, or has null there, has none.
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
        """How many rows there are, where there are so many partitions."""
        return self._stride * max(partitions, self._numbers.count)

    @property
    def are_many(self) -> bool:
        """Whether there are so many that those which are gone should be taken back."""
        return self._numbers.are_many()

    def begin_anew(self) -> None:
        """Forget all groups."""
        self._numbers = PartitionNumbers()

    def settle(self) -> None:
        """Let groups be many again when there are twice as many as now."""
        self._numbers.settle()

    def state(self) -> Arrays:
        """The groups as arrays, for a snapshot."""
        return self._numbers.state()

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._numbers.load(state)
