"""Registers of runs, and the context through which generated predicates read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout
from cepheid.codegen.expressions import Storage
from cepheid.codegen.steps import Generated
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.kernels.conditions import Conditions
from cepheid.engines.base.layout import RegisterArrays, Rows
from cepheid.events.arrays import address_of, grown
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.columns.list_columns import ListColumns
from cepheid.events.columns.string_codes import StringCodes
from cepheid.snapshot_checks import Expected, expected
from cepheid.snapshots import Arrays


class Registers:
    """The registers of a number of runs, and the context through which predicates read them."""

    def __init__(self, code: Generated, runs: int) -> None:
        registers, columns, constants = code.registers, code.columns, code.constants
        self._widths = tuple(
            len(registers) if storage in registers else 0
            for storage in (Storage.INT, Storage.FLOAT)
        )
        self._columns = columns
        self._strings = [(ix, c) for ix, c in enumerate(constants) if isinstance(c, str)]
        self._int_constants = np.array(
            [c if isinstance(c, int) else 0 for c in constants] or [0], dtype=np.int64
        )
        self._float_constants = np.array(
            [c if isinstance(c, float) else 0.0 for c in constants] or [0.0], dtype=np.float64
        )
        self.context = np.zeros(layout.CONTEXT_COLUMNS + 2 * len(columns) + 1, dtype=np.int64)
        self.context[layout.CONTEXT_CONSTANTS] = self._int_constants.ctypes.data
        self.context[layout.CONTEXT_FLOAT_CONSTANTS] = self._float_constants.ctypes.data
        self._held: list[object] = []
        self.arrays = RegisterArrays(
            np.zeros((0, self._widths[0]), dtype=np.int64),
            np.zeros((0, self._widths[1]), dtype=np.float64),
            np.zeros(0, dtype=np.int64),
        )
        self.resize(runs)

    def resize(self, runs: int) -> None:
        """Make room for this many runs; existing values are kept."""
        self.arrays = RegisterArrays(*(grown(array, runs) for array in self.arrays))
        self.context[layout.CONTEXT_INTS] = self.arrays.ints.ctypes.data
        self.context[layout.CONTEXT_FLOATS] = self.arrays.floats.ctypes.data
        self.context[layout.CONTEXT_VALID] = self.arrays.valid.ctypes.data
        self.context[layout.CONTEXT_INTS_STRIDE] = self._widths[0]
        self.context[layout.CONTEXT_FLOATS_STRIDE] = self._widths[1]

    def conditions(self, tables: tuple[Rows, Rows], predicate: int) -> Conditions:
        """The conditions across events of steps and updates, until the registers are resized.

        ``predicate`` is the address of the predicate function, or 0.
        """
        address = address_of(self.context)
        return Conditions(*tables, self.arrays, self.context, predicate, address)

    def state(self) -> Arrays:
        """The registers as arrays, for a snapshot."""
        return self.arrays._asdict()

    def expected(self, runs: str) -> dict[str, Expected]:
        """The arrays of a snapshot; ``runs`` is the name of their length."""
        return {
            "ints": expected(np.int64, runs, self._widths[0]),
            "floats": expected(np.float64, runs, self._widths[1]),
            "valid": expected(np.int64, runs),
        }

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot, which was checked."""
        self.arrays = RegisterArrays(**{name: state[name] for name in RegisterArrays._fields})
        self.resize(len(self.arrays.valid))

    def read(self, batch: EventBatch) -> list[EncodedColumn]:
        """Point the context at the columns of a batch that the predicates read; these columns."""
        columns = [batch.column(name) for name, _ in self._columns]
        self.point_at(columns, batch.strings, batch.lists)
        return columns

    def point_at(
        self,
        columns: Sequence[EncodedColumn],
        strings: StringCodes,
        lists: ListColumns | None = None,
    ) -> None:
        """Point the context at the columns of a batch, at lists, and at the constants."""
        for ix, constant in self._strings:
            self._int_constants[ix] = strings.code(constant)
        self._held = []
        for ix, ((_, storage), column) in enumerate(zip(self._columns, columns, strict=True)):
            dtype = np.float64 if storage is Storage.FLOAT else np.int64
            values: npt.NDArray[Any] = column.values
            if values.dtype != dtype or not values.flags.c_contiguous:
                values = np.ascontiguousarray(values, dtype=dtype)
            place = layout.CONTEXT_COLUMNS + 2 * ix
            self.context[place] = address_of(values)
            self.context[place + 1] = 0
            self._held.append(values)
            if column.valid is not None:
                valid = np.ascontiguousarray(column.valid)
                self.context[place + 1] = address_of(valid)
                self._held.append(valid)
        self.context[layout.CONTEXT_STRINGS] = strings.table.address(strings)
        if any(storage is Storage.LIST for _, storage in self._columns):
            assert lists is not None
            wanted = [name if storage is Storage.LIST else None for name, storage in self._columns]
            table, held = lists.addresses(wanted)
            self.context[layout.CONTEXT_LISTS] = table.ctypes.data
            self._held += held
