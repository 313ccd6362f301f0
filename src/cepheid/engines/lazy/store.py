"""The events that a lazy automaton keeps, and the partitions and groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen.expressions import Storage
from cepheid.codegen.steps import Columns
from cepheid.engines.lazy.compile import LazyAutomaton
from cepheid.engines.lazy.layout import NONE, Events
from cepheid.events.arrays import Int64s, grown
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.snapshots import Arrays
from cepheid.tuning import tuning

_KNOWN = ("numbers", "axis", "partitions", "masks")


class EventStore:
    """The events that fit a component, in stream order: ``arrays`` and the columns by row."""

    def __init__(self, columns: Columns, group_columns: int = 0) -> None:
        self._columns = columns
        self.size = 0
        self.arrays = Events(groups=np.zeros((0, group_columns), dtype=np.int64))
        self._values: list[npt.NDArray[Any]] = [
            np.zeros(0, dtype=np.float64 if storage is Storage.FLOAT else np.int64)
            for _, storage in columns
        ]
        self._valid = [np.zeros(0, dtype=np.uint8) for _ in columns]
        self._has_nulls = [False] * len(columns)
        self._grow(tuning().lazy_store)

    def append(self, events: Events, columns: Sequence[EncodedColumn], places: Int64s) -> None:
        """Add events, which are at these places of a batch; their groups are not known yet."""
        low, high = self.size, self.size + len(places)
        if high > len(self.arrays.numbers):
            self._grow(max(2 * len(self.arrays.numbers), high))
        for name in _KNOWN:
            getattr(self.arrays, name)[low:high] = getattr(events, name)
        for ix, column in enumerate(columns):
            self._values[ix][low:high] = column.values[places]
            if column.valid is not None:
                self._valid[ix][low:high] = column.valid[places]
                self._has_nulls[ix] = True
            else:
                self._valid[ix][low:high] = 1
        self.size = high

    def columns(self, low: int = 0) -> dict[str, EncodedColumn]:
        """The attributes of the events from row ``low`` on."""
        kept = slice(low, self.size)
        return {
            name: EncodedColumn(
                self._values[ix][kept],
                self._valid[ix][kept].view(np.bool_) if self._has_nulls[ix] else None,
            )
            for ix, (name, _) in enumerate(self._columns)
        }

    def keep(self, rows: Int64s) -> None:
        """Drop all other events."""
        count = len(rows)
        for array in (*self.arrays, *self._values, *self._valid):
            array[:count] = array[rows]
        self.size = count

    def state(self) -> Arrays:
        """The events as arrays, for a snapshot."""
        named = self.arrays._asdict()
        arrays: Arrays = {name: array[: self.size] for name, array in named.items()}
        for ix in range(len(self._columns)):
            arrays[f"values{ix}"] = self._values[ix][: self.size]
            arrays[f"valid{ix}"] = self._valid[ix][: self.size]
        arrays["has_nulls"] = np.array(self._has_nulls, dtype=np.bool_)
        return arrays

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self.arrays = Events(**{name: state[name] for name in Events._fields})
        self._values = [state[f"values{ix}"] for ix in range(len(self._columns))]
        self._valid = [state[f"valid{ix}"] for ix in range(len(self._columns))]
        self._has_nulls = [bool(each) for each in state["has_nulls"]]
        self.size = len(self.arrays.numbers)
        self._grow(max(self.size, tuning().lazy_store))

    def _grow(self, room: int) -> None:
        self.arrays = Events(*(grown(array, room) for array in self.arrays))
        self._values = [grown(values, room) for values in self._values]
        self._valid = [grown(valid, room) for valid in self._valid]


class Groups:
    """Numbers the rows of input buffers: a row for each partition, and for each group of it.

    An equality such as ``a.x = b.x`` links two components: the events for them are looked up by
    their value of x, in the group of that value. Groups have rows in the same tables as
    partitions, so that a lookup reads another row [Kolchinsky17 §4.1].

    Without links, partition p has row p. With links, partition p has row 2 p and group g has row
    2 g + 1. A group is a value of a link's attributes within a partition.
    """

    def __init__(self, automaton: LazyAutomaton) -> None:
        self.columns = automaton.group_columns
        self.numbers = PartitionNumbers()
        self._links = max(len(automaton.links), 1)
        self._masks = [
            sum(1 << ix for ix, name in automaton.links[link] if name == attribute)
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
            numbers = self.numbers.number(keys, len(partitions))
            groups[:, ix] = np.where(valid, 2 * numbers + 1, NONE)
        return groups

    def count(self, partitions: int) -> int:
        """The number of rows where there are this many partitions."""
        return self._stride * max(partitions, self.numbers.count)
