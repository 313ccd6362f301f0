"""A table in the order of its partitions, and expressions over all of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    from_numpy,
    in_microseconds,
    one_array,
    to_numpy,
    without_dictionary,
)
from cepheid.events.columns.vectorised import Leaf as VectorisedLeaf
from cepheid.events.columns.vectorised import Vectorised
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.leaves import ROW_NODES, LeavesOf, tree_with
from cepheid.tuning import tuning

Bools = npt.NDArray[np.bool_]


def key_of(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column to compare rows by: NaN is null, and there is one zero."""
    array = without_dictionary(one_array(column))
    if arrow.is_boolean(array.type):
        return array.cast(pa.int8())
    if not arrow.is_floating(array.type):
        return array
    array = array.cast(pa.float64())
    return pc.add(pc.if_else(pc.is_nan(array), None, array), 0.0)


def sorted_rows(table: pa.Table, clause: rows.Clause) -> tuple[Int64s, Int64s]:
    """The rows of a table by partition, each in order, and where each partition begins and ends.

    Partitions are in the order of their first rows in the table.
    """
    count = table.num_rows
    order = _by_columns(table, clause.order_by)
    codes = np.zeros(count, np.int64)
    for name in clause.partition_by:
        encoded = pc.dictionary_encode(key_of(table.column(name.text)), null_encoding="encode")
        codes *= len(encoded.dictionary)
        codes += to_numpy(encoded.indices.cast(pa.int64()))
        if len(clause.partition_by) > 1:  # Numbers stay below the number of rows.
            codes = to_numpy(from_numpy(codes).dictionary_encode().indices.cast(pa.int64())).copy()
    if not count:
        return order, np.zeros(1, np.int64)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(codes)))).astype(np.int64)
    if len(offsets) == 2:
        return order, offsets
    if count <= tuning().first_run_events:  # Such a table may need no compiled code at all.
        return order[np.argsort(codes[order], kind="stable")], offsets
    from cepheid.engines.row_pattern.kernels.row_order import group_rows

    in_order = np.empty(count, np.int64)
    group_rows(np.ascontiguousarray(codes), order, offsets.copy(), in_order)
    return in_order, offsets


def _by_columns(table: pa.Table, items: Sequence[rows.SortItem]) -> Int64s:
    order = np.arange(table.num_rows, dtype=np.int64)
    is_sorted = True
    for item in reversed(items):  # Each sort keeps the order of the one before.
        key = key_of(table.column(item.column.text))
        if is_sorted and _ascends(key, item):
            continue
        if not is_sorted:
            key = key.take(from_numpy(order))
        places = pc.array_sort_indices(
            key,
            order="ascending" if item.is_ascending else "descending",
            null_placement="at_start" if item.nulls_first else "at_end",
        )
        order = order[to_numpy(places.cast(pa.int64()))]
        is_sorted = False
    return order


def _ascends(key: pa.Array, item: rows.SortItem) -> bool:
    """Whether a column without nulls is in order already."""
    if key.null_count or not item.is_ascending:
        return False
    kinds = (arrow.is_integer, arrow.is_floating, arrow.is_timestamp, arrow.is_date)
    if len(key) < 2 or not any(test(key.type) for test in kinds):
        return len(key) < 2
    return bool(pc.all(pc.less_equal(key.slice(0, len(key) - 1), key.slice(1))).as_py())


@dataclass(frozen=True, slots=True)
class LocalTest:
    """A condition on rows at fixed distances, over columns and over operands that are elsewhere.

    ``moved`` has the operand and the distance of each name that replaces one.
    """

    condition: Any
    moved: dict[str, tuple[Any, int]]

    @classmethod
    def of(cls, conditions: Sequence[Any], leaves: LeavesOf) -> LocalTest:
        """The test of conditions that all have to be true."""
        moved: dict[str, tuple[Any, int]] = {}

        def change(node: Any) -> Any:
            if not isinstance(node, ROW_NODES):
                return None
            leaf = leaves.leaf(node)
            assert leaf.row is not None
            operand, distance = _over_row(leaf.operand, leaves.variable), leaf.row.distance
            if not distance:
                return operand
            name = f"{distance} {operand!r}"
            moved[name] = operand, distance
            return ast.Attribute(name, "")

        trees = tuple(tree_with(each, change) for each in conditions)
        return cls(trees[0] if len(trees) == 1 else ast.And(trees), moved)


@dataclass
class SortedTable:
    """The rows of a table in the order of :func:`sorted_rows`."""

    table: pa.Table
    order: Int64s
    offsets: Int64s
    _columns: dict[str, pa.Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_whole = len(self.order) == self.table.num_rows
        self._is_as_given = is_whole and bool((self.order[:-1] < self.order[1:]).all())

    def __len__(self) -> int:
        return len(self.order)

    def column(self, name: str) -> pa.Array:
        """A column in this order."""
        if name not in self._columns:
            array = without_dictionary(one_array(self.table.column(name)))
            self._columns[name] = array if self._is_as_given else array.take(from_numpy(self.order))
        return self._columns[name]

    def at(self, name: str, places: Int64s, missing: Bools | None = None) -> Any:
        """A column at rows in this order, with the type that it has in the table.

        A column that was sorted for the search is read in order, and not copied if all rows are.
        """
        column, known = self.table.column(name), self._columns.get(name)
        if missing is None and self._are_all(places):
            known = column if self._is_as_given else known
            if known is None or known.type != column.type:
                return column.take(from_numpy(self.order))
            return known
        if known is not None and known.type == column.type:
            return known.take(from_numpy(places, missing))
        return column.take(from_numpy(self.order[places], missing))

    def _are_all(self, places: Int64s) -> bool:
        """Whether these are all rows, in this order."""
        if len(places) != len(self) or (len(self) and (places[0] != 0 or places[-1] >= len(self))):
            return False
        return bool((places[1:] > places[:-1]).all())

    def operand(self, operand: Any, variable: str | None = None) -> pa.Array:
        """The value of an expression over one row, for every row as one of a variable."""
        return self.over_rows(_over_row(operand, variable), 0, len(self))

    def over_rows(self, operand: Any, low: int, high: int) -> pa.Array:
        """The value of an expression with attributes, for the rows from ``low`` to ``high``."""

        def resolve(leaf: VectorisedLeaf) -> pa.Array:
            assert isinstance(leaf, ast.Attribute)
            return in_microseconds(self.column(leaf.attribute).slice(low, high - low))

        return Vectorised(high - low, resolve).value(operand)

    def blocks(self) -> Iterator[Block]:
        """The rows in blocks, so that intermediate results stay in the cache."""
        size = tuning().mask_rows
        for low in range(0, len(self), size):
            yield Block(self, low, min(low + size, len(self)))


class Block:
    """Some rows of a sorted table, in which conditions are tested."""

    def __init__(self, table: SortedTable, low: int, high: int) -> None:
        self._table = table
        self.low = low
        self.high = high
        self._moved: dict[str, pa.Array] = {}

    def truth(self, test: LocalTest) -> Bools:
        """Where a condition is true."""

        def resolve(leaf: VectorisedLeaf) -> pa.Array:
            assert isinstance(leaf, ast.Attribute)
            if not leaf.variable:
                return self._table.over_rows(leaf, self.low, self.high)
            if leaf.variable not in self._moved:
                self._moved[leaf.variable] = self._at_distance(*test.moved[leaf.variable])
            return self._moved[leaf.variable]

        found = Vectorised(self.high - self.low, resolve).truth(test.condition)
        return to_numpy(one_array(found.fill_null(False)))

    def _at_distance(self, operand: Any, distance: int) -> pa.Array:
        """The values at this distance in rows, null outside the partition."""
        count, size = len(self._table), abs(distance)
        low, high = (min(max(each + distance, 0), count) for each in (self.low, self.high))
        values = self._table.over_rows(operand, low, high)
        missing = self.high - self.low - len(values)
        if missing:
            nothing = pa.nulls(missing, values.type)
            values = pa.concat_arrays([nothing, values] if distance < 0 else [values, nothing])
        offsets = self._table.offsets
        if len(offsets) <= 2:
            return values
        first = int(np.searchsorted(offsets, self.low, "right")) - 1
        last = int(np.searchsorted(offsets, self.high, "left"))
        lows, highs = offsets[first:last], offsets[first + 1 : last + 1]
        counts = np.minimum(highs - lows, size)
        firsts = lows if distance < 0 else highs - counts
        places = np.repeat(firsts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        places = places[(places >= self.low) & (places < self.high)] - self.low
        outside = np.zeros(self.high - self.low, np.bool_)
        outside[places] = True
        return pc.if_else(from_numpy(outside), pa.scalar(None, values.type), values)


def _over_row(operand: Any, variable: str | None) -> Any:
    """An expression over one row, with attributes in place of columns."""

    def change(node: Any) -> Any:
        if isinstance(node, rows.Classifier):
            return ast.Literal(variable)
        return ast.Attribute("", node.name.text) if isinstance(node, rows.Column) else None

    return tree_with(operand, change)
