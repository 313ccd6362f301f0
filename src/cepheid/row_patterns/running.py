"""Runs a clause over a table: partitions, order, the matches, and the columns of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.engines.reference import plain_values
from cepheid.errors import OptionError, QuerySemanticError
from cepheid.events.columns.arrow_arrays import from_list, one_array, without_dictionary
from cepheid.events.conforming import ARROW_TYPE
from cepheid.events.sources.tables import read_columns
from cepheid.events.sources.text_files import TextFormat
from cepheid.events.time_axis import TimeAxis
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.row_patterns.reference.evaluation import ResultRow, matches, result_rows
from cepheid.row_patterns.reference.interpreter import (
    Match,
    Partition,
    RowInterpreter,
    operand_of,
)
from cepheid.row_patterns.results import RowMatches
from cepheid.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class Settings:
    """How a clause is run; :meth:`cepheid.RowPatternQuery.match` documents the fields."""

    time_unit: str | None
    sep: str | None
    max_steps: int


class Run:
    """A clause over a table that has been read.

    Raises:
        QuerySemanticError: the table does not have the columns, or their kinds do not fit;
            the text is unknown here, so that the faults have no lines.
    """

    def __init__(self, clause: rows.Clause, events: Any, settings: Settings) -> None:
        needed, text = partial(named_columns, clause), TextFormat(settings.sep)
        self._table, schema = read_columns(events, needed, text)
        self._binding = Binding(clause, Schema.from_arrow(schema))
        if self._binding.faults:
            raise QuerySemanticError(self._binding.faults)
        self._clause = self._binding.clause
        self._settings = settings

    def count(self) -> int:
        """The number of matches."""
        return sum(isinstance(found, Match) for _, found in self._found())

    def result(self) -> RowMatches:
        """The rows of the result."""
        count = 0
        made: list[ResultRow] = []
        for partition, found in self._found():
            count += isinstance(found, Match)
            made += result_rows(self._clause, found, partition)
        numbers = pa.array([each.row for each in made], pa.int64())
        binding = self._binding
        columns = {name: self._table.column(name).take(numbers) for name in binding.leading_columns}
        for measure, kind in zip(self._clause.measures, binding.measure_kinds, strict=True):
            columns[measure.name.text] = self._measured(measure.expression, kind, made)
        for name in binding.trailing_columns:
            columns[name] = self._table.column(name).take(numbers)
        # A table without columns still has rows.
        return RowMatches(pa.table(columns), len(made), count)

    def _found(self) -> Iterator[tuple[Partition, Match | int]]:
        """The matches of each partition, and the rows in no match."""
        ticks, window = self._window()
        named = {node.name.text for node in self._clause.walk() if isinstance(node, rows.Column)}
        columns = {name: plain_values(self._table.column(name)) for name in named}
        for numbers in self._partitions():
            times = None if ticks is None else [ticks[row] for row in numbers]
            partition = Partition(numbers, columns, times)
            for found in matches(self._clause, partition, window, self._settings.max_steps):
                yield partition, found

    def _partitions(self) -> list[list[int]]:
        """The rows of each partition in order; partitions in the order of their first rows."""
        codes = [self._key(name.text) for name in self._clause.partition_by]
        coded = [
            pc.dictionary_encode(each, null_encoding="encode").indices.to_pylist() for each in codes
        ]
        keys = list(zip(*coded, strict=True)) if coded else [()] * self._table.num_rows
        partitions: dict[tuple[Any, ...], list[int]] = {key: [] for key in keys}
        for row in self._order():
            partitions[keys[row]].append(row)
        return list(partitions.values())

    def _order(self) -> list[int]:
        order = pa.array(range(self._table.num_rows), pa.int64())
        for item in reversed(self._clause.order_by):  # each sort keeps the order of the one before
            sorted_rows = pc.array_sort_indices(
                self._key(item.column.text).take(order),
                order="ascending" if item.is_ascending else "descending",
                null_placement="at_start" if item.nulls_first else "at_end",
            )
            order = order.take(sorted_rows)
        found: list[int] = order.to_pylist()
        return found

    def _key(self, name: str) -> pa.Array:
        """A column to compare rows by: NaN is null, and there is one zero."""
        array = without_dictionary(one_array(self._table.column(name)))
        if arrow.is_boolean(array.type):
            return array.cast(pa.int8())
        if not arrow.is_floating(array.type):
            return array
        array = array.cast(pa.float64())
        return pc.add(pc.if_else(pc.is_nan(array), None, array), 0.0)

    def _window(self) -> tuple[Sequence[int | None] | None, int | None]:
        """The time of each row, and how many ticks WITHIN is."""
        within = self._clause.within
        if within is None:
            return None, None
        name = self._clause.order_by[0].column.text
        column = without_dictionary(one_array(self._table.column(name)))
        axis = TimeAxis.of(name, column.type, self._settings.time_unit)
        if axis.unit is None:
            raise OptionError(
                f"WITHIN is an interval of time, and column {name!r} has plain numbers: say what "
                "they count, for instance with time_unit='ms' (--time-unit ms)"
            )
        present = pc.invert(self._key(name).is_null()).to_pylist()
        times = iter(axis.encode(column.filter(pa.array(present))).tolist())
        return [next(times) if each else None for each in present], axis.window_ticks(
            within.amount, within.unit
        )

    def _measured(self, expression: Any, kind: Kind, made: Sequence[ResultRow]) -> Any:
        """The column of a measure."""
        each_row = [
            None if row.match is None else RowInterpreter(row.match, row.seen) for row in made
        ]
        column = self._column_of(expression)
        if column is not None and not isinstance(expression, rows.Aggregate):
            numbers = [each and _row_read(each, expression) for each in each_row]
            return column.take(pa.array(numbers, pa.int64()))
        values = [None if each is None else each.value(expression) for each in each_row]
        array = pa.array(values, ARROW_TYPE[kind]) if kind in _MADE else from_list(values)
        is_zoned = column is not None and kind is Kind.TIMESTAMP and column.type.tz is not None
        return array.cast(pa.timestamp("us", column.type.tz)) if is_zoned else array

    def _column_of(self, expression: Any) -> Any:
        """The column that an expression reads without change, if that is all that it does."""
        match expression:
            case rows.Logical() | rows.Physical():
                return self._column_of(operand_of(expression))
            case rows.Aggregate("min" | "max", argument):
                return self._column_of(argument)
            case rows.Column(_, name):
                return self._table.column(name.text)
        return None


_MADE = set(ARROW_TYPE) - {Kind.LIST}


def _row_read(interpreter: RowInterpreter, expression: Any) -> int | None:
    """The row of the table that a column or a navigation reads."""
    position = interpreter.position(expression)
    return None if position is None else interpreter.match.partition.rows[position]
