"""``PARTITION_INDEX``: the number of an event among the events of its partition.

Queries use it only in differences, so that counting may begin anew for a partition of which no
event is left. The numbers are a column of the events that a query reads, which results do not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.errors import EvaluationError
from cepheid.events.arrays import int64s
from cepheid.events.columns.encoding import EncodedColumn, encode_column
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.language.computed import reads_partition_positions
from cepheid.schema import PARTITION_INDEX


class PartitionPositions:
    """Counts the events of each partition of a stream."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self._attributes = attributes
        self._begin()

    @classmethod
    def of(cls, query: AnalysedQuery) -> PartitionPositions | None:
        """The counts that a query needs; None if it needs none.

        Raises:
            EvaluationError: events of some type belong to every partition.
        """
        if not reads_partition_positions(query.query):
            return None
        schema = query.schema
        assert schema is not None
        attributes = [test.attribute for test in query.tests]
        named = {
            name
            for each in query.alternatives
            for part in (*each.components, *(negated.component for negated in each.negations))
            for name in part.types
        }
        for attribute in attributes:
            for name in sorted(named | {*(schema.types or ())}):
                if not schema.has_attribute(name, attribute):
                    raise EvaluationError(
                        f"PARTITION_INDEX counts the events of a partition, and {name} has no "
                        f"attribute '{attribute}', so that its events belong to every partition"
                    )
        return cls(attributes)

    def _begin(self) -> None:
        from cepheid.events.partition_numbers import PartitionNumbers  # loads the compiler

        self._numbers = PartitionNumbers()
        self._strings = StringCodes()
        self._counts = int64s(0)

    def added(self, events: Events) -> Events:
        """The next events of the stream, with their numbers; null if a key is null."""
        if PARTITION_INDEX in events.table.column_names:
            return events
        numbers = pa.array([], pa.int64())
        if len(events):
            partition, axis, self._counts = self._numbers.number_and_count(
                self._keys(events), len(events), self._counts
            )
            numbers = pa.array(axis.copy(), mask=partition < 0)
        return replace(events, table=events.table.append_column(PARTITION_INDEX, numbers))

    def resume(self, retained: Events) -> None:
        """Count on from the events that are left."""
        self._begin()
        if not len(retained):
            return
        keys = self._keys(retained)
        partition, _, counts = self._numbers.number_and_count(keys, len(retained), self._counts)
        known = partition >= 0
        self._counts = np.zeros(len(counts), dtype=np.int64)
        numbers = retained.table.column(PARTITION_INDEX).fill_null(0).to_numpy()
        np.maximum.at(self._counts, partition[known], numbers[known] + 1)
        self._numbers.settle()

    def are_many(self) -> bool:
        """Whether most partitions may have no events left."""
        return self._numbers.are_many()

    def _keys(self, events: Events) -> list[EncodedColumn]:
        columns = ((name, events.table.column(name)) for name in self._attributes)
        return [encode_column(column, self._strings, name=name) for name, column in columns]


def with_partition_positions(query: AnalysedQuery, events: Events) -> Events:
    """A whole stream with the numbers that a query reads."""
    positions = PartitionPositions.of(query)
    return events if positions is None else positions.added(events)
