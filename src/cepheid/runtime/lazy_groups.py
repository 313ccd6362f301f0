"""The rows of a lazy automaton's tables: partitions, and groups of events that agree in a value.

An equality such as ``a.x = b.x`` links two components: events that can be bound to them are found
by their value of x, in the group of it. A group has a row of its own in the tables in which
partitions have theirs, so that to look something up is to read another row [Kolchinsky17 §4.1].
"""

from __future__ import annotations

import numpy as np

from cepheid.automata.lazy_tables import LazyAutomaton
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.encoding import EncodedColumn
from cepheid.runtime.event_batch import EventBatch
from cepheid.runtime.kernel_tables import int64s
from cepheid.runtime.lazy_tables import group_columns
from cepheid.runtime.partition_numbers import PartitionNumbers
from cepheid.runtime.snapshot import Arrays


class Groups:
    """The rows of partitions and groups; without links, rows are the numbers of partitions."""

    def __init__(self, automaton: LazyAutomaton) -> None:
        self.columns = group_columns(automaton)
        self._links = len(automaton.links)
        self._rows = PartitionNumbers()
        self._masks = [
            sum(1 << ix for ix, name in automaton.links[link].terms if name == attribute)
            for link, attribute in self.columns
        ]

    def number(
        self, batch: EventBatch, places: Int64s, partitions: Int64s, masks: Int64s
    ) -> tuple[Int64s, Int64s]:
        """The rows of the events at these places: of their partitions, and of their groups.

        ``partitions`` and ``masks`` are those of the same events. An event that fits none of the
        components of a column, or has null there, has no group.
        """
        size = len(places)
        groups = np.empty((size, len(self.columns)), dtype=np.int64)
        if not self.columns:
            return partitions, groups
        keys = EncodedColumn(partitions * (self._links + 1))
        rows = self._rows.number([keys, EncodedColumn(int64s(size))], size)
        for column, (link, attribute) in enumerate(self.columns):
            encoded = batch.column(attribute)
            valid = masks & self._masks[column] != 0
            if encoded.valid is not None:
                valid &= encoded.valid[places]
            keys = EncodedColumn(partitions * (self._links + 1) + link + 1)
            values = EncodedColumn(encoded.values[places], valid)
            numbers = self._rows.number([keys, values], size)
            groups[:, column] = numbers
        return rows, groups

    def count(self, partitions: int) -> int:
        """How many rows there are, where there are so many partitions."""
        return self._rows.count if self.columns else partitions

    @property
    def are_many(self) -> bool:
        """Whether rows should be taken back that nothing is kept in."""
        return bool(self.columns) and self._rows.are_many()

    def keep(self, used: Int64s) -> Int64s:
        """Take back the rows for which ``used`` is 0; the new row of each, or -1."""
        return self._rows.keep(used)

    def state(self) -> Arrays:
        """The rows as arrays, for a snapshot."""
        return self._rows.state()

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._rows.load(state)
