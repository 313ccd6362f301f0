"""The list attributes of events in memory, for predicates that refer to earlier events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.codegen import layout
from cepheid.events.arrays import Int64s
from cepheid.events.columns.encoding import EncodedColumn, encode_column
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.layout import NULL_CODE


def encode_lists(
    column: pa.Array | pa.ChunkedArray, strings: StringCodes, name: str | None = None
) -> EncodedColumn:
    """A column of lists as floats; equal strings become equal floats."""
    encoded = encode_column(column, strings, name=name)
    floats = encoded.values.astype(np.float64, copy=False)
    if encoded.values.dtype == np.int64:
        floats[encoded.values == NULL_CODE] = np.nan
    return EncodedColumn(floats, encoded.valid, encoded.offsets)


class ListColumns:
    """The lists of the events in a table, looked up by event number.

    The events are numbered from ``first_event`` on, or have these ascending ``numbers``. The table
    is made when a list is first needed.
    """

    def __init__(
        self,
        table: Callable[[], pa.Table],
        strings: StringCodes,
        first_event: int,
        numbers: Int64s | None = None,
    ) -> None:
        self._make_table = table
        self._strings = strings
        self._first_event = first_event
        self._numbers = numbers
        self._encoded: dict[str, EncodedColumn] = {}

    @cached_property
    def _table(self) -> pa.Table:
        return self._make_table()

    def column(self, attribute: str) -> EncodedColumn:
        """The lists of an attribute."""
        if attribute not in self._encoded:
            column = self._table.column(attribute)
            self._encoded[attribute] = encode_lists(column, self._strings, attribute)
        return self._encoded[attribute]

    def addresses(self, attributes: Sequence[str | None]) -> tuple[Int64s, list[object]]:
        """The table for CONTEXT_LISTS with these columns, and the arrays that it points to.

        None takes the place of a column that does not hold lists.
        """
        table = np.zeros(layout.LISTS_FIRST_COLUMN + 2 * len(attributes), dtype=np.int64)
        table[layout.LISTS_FIRST_EVENT] = self._first_event
        table[layout.LISTS_COUNT] = self._table.num_rows
        held: list[object] = [table]
        if self._numbers is not None:
            numbers = np.ascontiguousarray(self._numbers, dtype=np.int64)
            table[layout.LISTS_NUMBERS] = numbers.ctypes.data
            held.append(numbers)
        for ix, attribute in enumerate(attributes):
            if attribute is not None:
                encoded = self.column(attribute)
                assert encoded.offsets is not None
                place = layout.LISTS_FIRST_COLUMN + 2 * ix
                table[place] = encoded.offsets.ctypes.data
                table[place + 1] = encoded.values.ctypes.data
                held.append(encoded)
        return table, held
