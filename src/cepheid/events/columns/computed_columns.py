"""Columns of a table, also those that are computed from its others."""

from __future__ import annotations

import pyarrow as pa

from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.columns.vectorised import Leaf, Vectorised
from cepheid.language import syntax as ast
from cepheid.schema import Computed


def column_of(table: pa.Table, name: str) -> pa.Array | pa.ChunkedArray:
    """A column of the table, or the values of a computed attribute.

    >>> column_of(pa.table({"x": [1, 2]}), "x").to_pylist()
    [1, 2]
    """
    if not isinstance(name, Computed):
        return table.column(name)

    def read(leaf: Leaf) -> pa.Array:
        assert isinstance(leaf, ast.Attribute)
        return one_array(column_of(table, leaf.attribute))

    return Vectorised(table.num_rows, read).value(name.expression)
