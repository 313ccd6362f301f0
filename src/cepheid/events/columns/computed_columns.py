"""Columns of a table, also those that are computed from its others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import column_named, one_array
from cepheid.events.columns.vectorised import Leaf, Vectorised
from cepheid.language import syntax as ast
from cepheid.schema import PARTITION_INDEX, Computed, Position, sources_of


def column_of(table: pa.Table, name: str, numbers: Int64s | int = 0) -> pa.Array | pa.ChunkedArray:
    """A column of the table, or the values of a computed attribute.

    ``numbers`` are the numbers of the events in the stream, or that of the first one.

    >>> column_of(pa.table({"x": [1, 2]}), "x").to_pylist()
    [1, 2]
    >>> column_of(pa.table({"x": [1, 2]}), Position("INDEX"), 5).to_pylist()
    [5, 6]
    """
    if isinstance(name, Position) and name not in table.column_names:
        if name.is_of_partition:
            return table.column(PARTITION_INDEX)
        if isinstance(numbers, int):
            return pa.array(np.arange(numbers, numbers + table.num_rows, dtype=np.int64))
        return pa.array(numbers)
    if not isinstance(name, Computed):
        return column_named(table, name)

    def read(leaf: Leaf) -> pa.Array:
        assert isinstance(leaf, ast.Attribute)
        return one_array(column_of(table, leaf.attribute, numbers))

    return Vectorised(table.num_rows, read).value(name.expression)


def sources_in(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """The columns of a table that these attributes are read from; at least one, for its length."""
    wanted = {source for name in names for source in sources_of(name)}
    found = [name for name in table.column_names if name in wanted]
    return table.select(found or table.column_names[:1])
