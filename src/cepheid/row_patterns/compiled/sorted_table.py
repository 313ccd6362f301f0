"""A table in the order of its partitions, and expressions over all of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
