"""Measures in columns: from the labels of all matches, for all rows of the result together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.row_pattern import layout
from cepheid.engines.row_pattern.engine import Found
from cepheid.engines.row_pattern.folds import (
    RunningFolds,
    first_uses,
    running_folds,
    running_medians,
)
from cepheid.engines.row_pattern.kernels.result_rows import write_rows
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    from_numpy,
    in_microseconds,
    one_array,
    without_dictionary,
)
from cepheid.events.columns.column_arithmetic import without_nan
from cepheid.events.columns.vectorised import Leaf as VectorisedLeaf
from cepheid.events.columns.vectorised import Vectorised
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.encoding import plain_numbers
from cepheid.row_patterns.compiled.leaves import ROW_NODES, tree_with
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.reference.interpreter import operand_of

Bools = npt.NDArray[np.bool_]
_FINAL = rows.Semantics.FINAL


class NotInColumns(Exception):
    """A measure that is not computed in columns."""


@dataclass(frozen=True, slots=True)
class ResultRows:
    """The rows of the result: the row in the order of the search, the match, and how far it is.

    ``matches`` is -1 for a row in no match. ``seen`` is the number of rows of the match up to it.
    """

    rows: Int64s
    matches: Int64s
    seen: Int64s

    def __len__(self) -> int:
        return len(self.rows)


def result_rows(
    kind: rows.Rows, found: Found, count: int, searched: tuple[Int64s, Int64s]
) -> ResultRows:
    """The rows of the result in order, of ``count`` rows.

    ``searched`` is from where to where each partition was searched; a row there is unmatched if it
    is in no match.
    """
    lengths = np.diff(found.ends, prepend=0)
    matches = np.arange(len(found), dtype=np.int64)
    if kind is rows.Rows.ONE:
        return ResultRows(found.starts, matches, lengths)
    shows_empty = kind is not rows.Rows.ALL_OMIT_EMPTY
    made = expanded(found, shows_empty=shows_empty)
    if kind is rows.Rows.ALL_WITH_UNMATCHED:
        return _with_unmatched(made, found, _unmatched(found, lengths, count, searched))
    return made


def expanded(found: Found, *, shows_empty: bool) -> ResultRows:
    """All rows of matches that are not excluded, and one for each empty match if it is shown."""
    size = len(found.labels) + (len(found) if shows_empty else 0)
    places, of, seen = (np.empty(size, np.int64) for _ in range(3))
    count = write_rows(found.starts, found.ends, found.labels, int(shows_empty), places, of, seen)
    return ResultRows(places[:count], of[:count], seen[:count])


def _unmatched(
    found: Found, lengths: Int64s, count: int, searched: tuple[Int64s, Int64s]
) -> Int64s:
    """The rows that were searched and are in no match."""
    lows, highs = searched
    changes = np.zeros(
        count + 1, np.int64
    )  # Rows that are searched have -1, and covered ones more.
    np.add.at(changes, lows, -1)
    np.add.at(changes, np.maximum(lows, highs), 1)
    covered = np.zeros(count + 1, np.int64)
    np.add.at(covered, found.starts, 1)
    np.add.at(covered, found.starts + np.maximum(lengths, 1), -1)
    is_searched = np.cumsum(changes[:-1]) < 0
    return np.flatnonzero(is_searched & (np.cumsum(covered[:-1]) == 0))


def _with_unmatched(matched: ResultRows, found: Found, rest: Int64s) -> ResultRows:
    """The rows of matches, and between them the rows in no match."""
    starts = np.concatenate((found.starts[matched.matches], rest))
    order = np.argsort(starts, kind="stable")
    return ResultRows(
        np.concatenate((matched.rows, rest))[order],
        np.concatenate((matched.matches, np.full(len(rest), -1)))[order],
        np.concatenate((matched.seen, np.zeros(len(rest), np.int64)))[order],
    )


class Measures:
    """Computes measures for rows of the result that are in matches.

    Args:
        clause: the clause.
        table: the rows in the order of the search.
        found: the matches.
        result: the rows of the result; all of them have a match.
    """

    def __init__(
        self, clause: rows.Clause, table: SortedTable, found: Found, result: ResultRows
    ) -> None:
        self._clause = clause
        self._table = table
        self._found = found
        self._result = result
        self._members = clause.members()
        self._variables = clause.variables()
        self._begins = found.ends - np.diff(found.ends, prepend=0)

    def value(self, expression: Any) -> pa.Array:
        """The column of an expression.

        Raises:
            NotInColumns: it has to be computed row by row.
        """
        if isinstance(expression, ROW_NODES):
            return self._leaf(expression)
        leaves: list[pa.Array] = []

        def change(node: Any) -> Any:
            if not isinstance(node, ROW_NODES):
                return None
            leaves.append(in_microseconds(self._leaf(node)))
            return ast.Attribute("", str(len(leaves) - 1))

        def resolve(leaf: VectorisedLeaf) -> pa.Array:
            assert isinstance(leaf, ast.Attribute)
            return leaves[int(leaf.attribute)]

        tree = tree_with(expression, change)
        if isinstance(tree, ast.Not | ast.And | ast.Or):
            return Vectorised(len(self._result), resolve).truth(tree)
        return Vectorised(len(self._result), resolve).value(tree)

    def _leaf(self, node: Any) -> pa.Array:
        match node:
            case rows.MatchNumber():
                return from_numpy(self._found.numbers[self._result.matches])
            case rows.Aggregate():
                return self._aggregate(node)
            case rows.Logical() | rows.Physical():
                return self._at(operand_of(node), self.position(node))
        return self._at(node, self.position(node))

    def column_at(self, name: str, node: Any) -> pa.ChunkedArray | pa.Array:
        """A column of the table at the rows that a column or navigation reads."""
        return self._taken(name, self.position(node))

    def _taken(self, name: str, position: Int64s) -> Any:
        if not len(self._table):
            return self._table.table.column(name).take(pa.nulls(len(position), pa.int64()))
        missing = position < 0
        if not missing.any():
            return self._table.at(name, position)
        return self._table.at(name, np.maximum(position, 0), missing)

    def _at(self, operand: Any, position: Int64s) -> pa.Array:
        """An operand at rows; null where there is no row."""

        def change(node: Any) -> Any:
            match node:
                case rows.Column(_, name):
                    return ast.Attribute("", name.text)
                case rows.Classifier():
                    return ast.Attribute("label", "")
                case rows.MatchNumber():
                    return ast.Attribute("number", "")
            return None

        def resolve(leaf: VectorisedLeaf) -> pa.Array:
            assert isinstance(leaf, ast.Attribute)
            if leaf.variable == "label":
                return self._labels_at(position)
            if leaf.variable:
                return from_numpy(self._found.numbers[self._result.matches])
            array = without_dictionary(one_array(self._taken(leaf.attribute, position)))
            return array if isinstance(operand, rows.Column) else in_microseconds(array)

        tree = tree_with(operand, change)
        values = one_array(Vectorised(len(position), resolve).value(tree))
        if isinstance(tree, ast.Attribute):
            return values
        missing = from_numpy(position < 0)
        return pc.if_else(missing, pa.scalar(None, values.type), values)

    # --- Rows

    def position(self, node: Any) -> Int64s:
        """The rows that a column, CLASSIFIER or navigation reads; -1 where there is none."""
        match node:
            case rows.Column(variable) | rows.Classifier(variable):
                return self._nth("LAST", variable, 0, is_final=False)
            case rows.Logical(function, _, variable, offset, semantics):
                return self._nth(function, variable, offset, is_final=semantics is _FINAL)
            case rows.Physical(function, operand, variable, offset):
                base = (
                    self.position(operand)
                    if isinstance(operand, rows.Logical)
                    else self._nth("LAST", variable, 0, is_final=False)
                )
                moved = base + (offset if function == "NEXT" else -offset)
                lows, highs = self._partition_bounds
                return np.where((base >= 0) & (moved >= lows) & (moved < highs), moved, -1)
        raise AssertionError(f"{type(node).__name__} reads no row")

    @cached_property
    def _partition_bounds(self) -> tuple[Int64s, Int64s]:
        partitions = self._found.partitions[self._result.matches]
        return self._table.offsets[partitions], self._table.offsets[partitions + 1]

    def _is_member(self, variable: str | None) -> Bools:
        """Which of all labels are of the variable."""
        of = np.array([name in self._members[variable] for name in self._variables], np.bool_)
        is_member: Bools = of[self._found.labels & (layout.EXCLUDED - 1)]
        return is_member

    def _nth(self, function: str, variable: str | None, offset: int, *, is_final: bool) -> Int64s:
        matches = self._result.matches
        if offset == 0 and not is_final and self._members[variable] == self._members[None]:
            is_last = function == "LAST" and self._is_at_rows
            if is_last or function == "FIRST":
                found = self._result.rows if is_last else self._found.starts[matches]
                return found if self._has_rows else np.where(self._result.seen > 0, found, -1)
        begins = self._begins[matches]
        ends = self._found.ends[matches] if is_final else begins + self._result.seen
        if self._members[variable] == self._members[None]:
            places = ends - 1 - offset if function == "LAST" else begins + offset
            is_there = (places >= begins) & (places < ends)
        else:
            is_member = self._is_member(variable)
            counts = np.concatenate(([0], np.cumsum(is_member)))
            members = np.flatnonzero(is_member)
            low, high = counts[begins], counts[ends]
            ranks = high - 1 - offset if function == "LAST" else low + offset
            is_there = (ranks >= low) & (ranks < high)
            if not len(members):
                return np.full(len(matches), -1, np.int64)
            places = members[np.where(is_there, ranks, 0)]
        return np.where(is_there, self._found.starts[matches] + places - begins, -1)

    @cached_property
    def _has_rows(self) -> bool:
        """Whether no row of the result is that of an empty match."""
        return bool((self._result.seen > 0).all())

    @cached_property
    def _is_at_rows(self) -> bool:
        """Whether each row of the result is the current one, and not the first of its match."""
        return self._clause.rows is not rows.Rows.ONE

    def _labels_at(self, position: Int64s) -> pa.Array:
        """The variables of rows; null outside their match."""
        matches = self._result.matches
        begins, ends = self._begins[matches], self._found.ends[matches]
        places = position - self._found.starts[matches] + begins
        outside = (position < 0) | (places < begins) | (places >= ends)
        codes = np.zeros(len(position), np.int64)
        if len(self._found.labels):
            codes = self._found.labels[np.where(outside, 0, places)] & (layout.EXCLUDED - 1)
        names = pa.array(self._variables, pa.string())
        return names.take(from_numpy(codes.astype(np.int64), outside))

    # --- Aggregates

    def _aggregate(self, node: rows.Aggregate) -> pa.Array:
        matches, is_final = self._result.matches, node.semantics is _FINAL
        is_over_all = self._members[node.variable] == self._members[None]
        if node.argument is None and is_over_all and not is_final:
            return from_numpy(self._result.seen)
        begins = self._begins[matches]
        ends = self._found.ends[matches] if is_final else begins + self._result.seen
        is_member = self._is_member(node.variable)
        if node.argument is None:
            counts = np.concatenate(([0], np.cumsum(is_member)))
            return from_numpy(counts[ends] - counts[begins])
        if node.function not in _FOLDS:
            raise NotInColumns
        values = self._argument(node.argument)
        is_time = pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type)
        numbers, valid = plain_numbers(values.cast(pa.int64()) if is_time else values)
        use, operation = is_member & valid, _FOLDS[node.function]
        if node.is_distinct:
            use = first_uses(numbers, use, self._found.ends)
        if operation is None:
            folds = running_medians(numbers, use, self._found.ends)
        else:
            folds = running_folds(numbers, use, self._found.ends, operation)
        # Before the first label of a match there is no value.
        return _aggregated(node.function, values, folds.at(ends - 1, ends > begins))

    def _argument(self, argument: Any) -> pa.Array:
        """The argument of an aggregate at the rows of all labels."""
        found = self._found
        lengths = found.ends - self._begins
        of = np.repeat(np.arange(len(found), dtype=np.int64), lengths)
        places = np.arange(len(of), dtype=np.int64) + (found.starts - self._begins)[of]
        labels = Measures(self._clause, self._table, found, ResultRows(places, of, places))
        return labels._at(argument, places)


_FOLDS = {
    "count": layout.FOLD_COUNT,
    "sum": layout.FOLD_SUM,
    "avg": layout.FOLD_TOTAL,
    "min": layout.FOLD_MIN,
    "max": layout.FOLD_MAX,
    "variance": layout.FOLD_DEVIATIONS,
    "stddev": layout.FOLD_DEVIATIONS,
    "median": None,
}
"""The aggregates that are computed in columns, by their folds; a median has none."""


def _aggregated(function: str, values: pa.Array, folds: RunningFolds) -> pa.Array:
    """An aggregate from its fold."""
    counts = folds.counts
    match function:
        case "count":
            return from_numpy(counts)
        case "min" | "max":
            return values.take(from_numpy(folds.ints, counts == 0))
        case "sum" if not folds.is_float:
            return from_numpy(folds.ints, (counts == 0) | (folds.extras != 0))
        case "sum" | "median":
            return without_nan(from_numpy(folds.floats, counts == 0))
        case "avg":
            return without_nan(from_numpy(folds.floats / np.maximum(counts, 1), counts == 0))
    found = folds.floats / np.maximum(counts - 1, 1)
    return without_nan(from_numpy(np.sqrt(found) if function == "stddev" else found, counts <= 1))
