"""The events that a lazy automaton keeps, column by column: the ones that fit a component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout as codegen_layout
from cepheid.codegen.predicates import Storage
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.layout import Events
from cepheid.events.arrays import Int64s, grown
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.columns.list_columns import ListColumns
from cepheid.events.columns.string_codes import StringCodes
from cepheid.snapshots import Arrays
from cepheid.tuning import tuning

Columns = Sequence[tuple[str, Storage]]
_KNOWN = ("numbers", "axis", "partitions", "masks")


class EventStore:
    """Events in stream order, by row: ``arrays`` and the columns that predicates read."""

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

    def column(self, attribute: str, low: int) -> EncodedColumn:
        """An attribute of the events from row ``low`` on."""
        ix = [name for name, _ in self._columns].index(attribute)
        valid = self._valid[ix][low : self.size].view(np.bool_) if self._has_nulls[ix] else None
        return EncodedColumn(self._values[ix][low : self.size], valid)

    def point(self, context: Int64s) -> None:
        """Write the addresses of the columns into a context."""
        for ix in range(len(self._columns)):
            place = layout.CONTEXT_COLUMNS + 2 * ix
            context[place] = self._values[ix].ctypes.data
            context[place + 1] = self._valid[ix].ctypes.data if self._has_nulls[ix] else 0

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


class Constants:
    """The constants of a query and the lists of list attributes, which predicates read."""

    def __init__(self, constants: Sequence[object], columns: Columns) -> None:
        self._constants = constants
        self._columns = columns
        self._held: list[object] = []

    def point(self, contexts: Sequence[Int64s], strings: StringCodes, lists: ListColumns) -> None:
        """Write the addresses of constants and lists into contexts."""
        codes = [
            strings.code(constant) if isinstance(constant, str) else constant
            for constant in self._constants
        ]
        ints = np.array([c if isinstance(c, int) else 0 for c in codes] or [0], dtype=np.int64)
        decimals = [c if isinstance(c, float) else 0.0 for c in codes]
        floats = np.array(decimals or [0.0], dtype=np.float64)
        self._held = [ints, floats]
        table = None
        if any(storage is Storage.LIST for _, storage in self._columns):
            wanted = [name if storage is Storage.LIST else None for name, storage in self._columns]
            table, held = lists.addresses(wanted)
            self._held += held
        for context in contexts:
            context[codegen_layout.CONTEXT_CONSTANTS] = ints.ctypes.data
            context[codegen_layout.CONTEXT_FLOAT_CONSTANTS] = floats.ctypes.data
            context[codegen_layout.CONTEXT_STRINGS] = strings.table.address(strings)
            if table is not None:
                context[codegen_layout.CONTEXT_LISTS] = table.ctypes.data

    def point_at_batch(self, context: Int64s, columns: Sequence[EncodedColumn]) -> None:
        """Write the addresses of a batch's columns into a context, for tests of single events."""
        for ix, ((_, storage), column) in enumerate(zip(self._columns, columns, strict=True)):
            dtype = np.float64 if storage is Storage.FLOAT else np.int64
            values = np.ascontiguousarray(column.values, dtype=dtype)
            place = layout.CONTEXT_COLUMNS + 2 * ix
            context[place], context[place + 1] = values.ctypes.data, 0
            self._held.append(values)
            if column.valid is not None:
                valid = np.ascontiguousarray(column.valid, dtype=np.uint8)
                context[place + 1] = valid.ctypes.data
                self._held.append(valid)
