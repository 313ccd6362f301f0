"""Runs a clause over a table: partitions, order, the matches, and the columns of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.budget import charge
from cepheid.cache import note_run
from cepheid.engines.base.evaluation import AUTO, ROW_PATTERN
from cepheid.engines.reference import plain_values
from cepheid.errors import OptionError, QuerySemanticError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    from_list,
    from_numpy,
    one_array,
    to_numpy,
    without_dictionary,
)
from cepheid.events.conforming import ARROW_TYPE
from cepheid.events.sources.tables import read_columns
from cepheid.events.sources.text_files import TextFormat
from cepheid.events.time_axis import TimeAxis
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.row_patterns.compiled.encoding import MADE, type_of_extreme
from cepheid.row_patterns.compiled.evaluation import plan_of
from cepheid.row_patterns.compiled.row_order import key_of, sorted_rows
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.first_runs import Found, found_soon
from cepheid.row_patterns.reference.evaluation import ResultRow, matches, result_rows
from cepheid.row_patterns.reference.interpreter import (
    Match,
    Partition,
    RowInterpreter,
    operand_of,
)
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.run_errors import within_memory
from cepheid.row_patterns.settings import Settings
from cepheid.row_patterns.streams.match_ids import RowNames, begun, ties_of
from cepheid.schema import Kind, Schema
from cepheid.sessions.first_runs import is_first_run

if TYPE_CHECKING:
    from cepheid.row_patterns.compiled.execution import Execution
    from cepheid.row_patterns.compiled.searching import Window


class Run:
    """A clause over a table that has its columns."""

    def __init__(self, binding: Binding, table: pa.Table, settings: Settings) -> None:
        self._table = table
        self._binding = binding
        self._clause = binding.clause
        self._settings = settings
        self._soon: Found | None = None

    @classmethod
    def over(cls, clause: rows.Clause, events: Any, settings: Settings) -> Self:
        """A clause over a table that is read.

        Raises:
            QuerySemanticError: the table does not have the columns, or their kinds do not fit;
                the text is unknown here, so that the faults have no lines.
        """
        needed, text = partial(named_columns, clause), TextFormat(settings.sep)
        table, schema = read_columns(events, needed, text)
        binding = Binding(clause, Schema.from_arrow(schema))
        if binding.faults:
            raise QuerySemanticError(binding.faults)
        return cls(binding, table, settings)

    def count(self) -> int:
        """The number of matches."""
        with self.limited():
            execution = self._execution()
        if execution is not None:
            return len(execution.found)
        return sum(isinstance(found, Match) for _, found in self._found())

    def result(self) -> RowMatches:
        """The rows of the result."""
        with self.limited():
            execution = self._execution()
            if execution is not None:
                return self._with_ids(self._of_execution(execution), lambda: execution.begun)
        count = 0
        made: list[ResultRow] = []
        for partition, found in self._found():
            count += isinstance(found, Match)
            made += result_rows(self._clause, found, partition)
        return self._with_ids(self._result_of(made, count), lambda: begun(made))

    def limited(self) -> AbstractContextManager[None]:
        """Charge what is allocated to the limit of memory."""
        return within_memory(self._settings.max_memory, self._clause)

    def _result_of(self, made: list[ResultRow], count: int) -> RowMatches:
        numbers = pa.array([each.row for each in made], pa.int64())
        return self._table_of(
            len(made),
            lambda name: self._table.column(name).take(numbers),
            lambda each, kind: self._measured(each, kind, made),
            count,
        )

    def _of_execution(self, execution: Execution) -> RowMatches:
        """The result of an execution by the engine."""
        from cepheid.row_patterns.compiled.measures import NotInColumns

        made: list[ResultRow] = []

        def measured(expression: Any, kind: Kind) -> Any:
            try:
                return execution.measure(expression, kind)
            except NotInColumns:
                if not made:
                    made.extend(execution.interpreted_rows(self._plain_columns()))
                return self._measured(expression, kind, made)

        length, count = len(execution.result), len(execution.found)
        return self._table_of(length, execution.column, measured, count)

    def _with_ids(
        self, result: RowMatches, begun_at: Callable[[], tuple[Int64s, Int64s]]
    ) -> RowMatches:
        """The result with the ids of matches, if they are asked for.

        ``begun_at`` gives the first row and the length of the match of each row of the result.
        """
        if not self._settings.match_id:
            return result
        return result.with_ids(self._row_names().match_ids(self._clause, *begun_at()))

    def _table_of(
        self,
        length: int,
        column: Callable[[str], Any],
        measured: Callable[[Any, Kind], Any],
        count: int,
    ) -> RowMatches:
        """The result, whose rows have columns of the table and measures."""
        binding = self._binding
        names = (*binding.leading_columns, *self._clause.measures, *binding.trailing_columns)
        charge(8 * length * (1 + len(names)))
        columns = {name: column(name) for name in binding.leading_columns}
        for measure, kind in zip(self._clause.measures, binding.measure_kinds, strict=True):
            columns[measure.name.text] = measured(measure.expression, kind)
        for name in binding.trailing_columns:
            columns[name] = column(name)
        # A table without columns still has rows.
        return RowMatches(pa.table(columns), length, count)

    def _execution(self) -> Execution | None:
        """The matches by the engine; None if the reference finds them."""
        evaluation, steps = self._settings.evaluation, self._settings.max_steps
        plan = plan_of(self._binding, evaluation)
        if isinstance(plan, str):
            return None
        if evaluation == AUTO and is_first_run(ROW_PATTERN, len(self._table)):
            self._soon = found_soon(self._clause, self._partitions(), steps)
            if self._soon is not None:
                return None
        from cepheid.row_patterns.compiled.execution import Execution

        note_run(ROW_PATTERN)
        sorted_table = SortedTable(self._table, *sorted_rows(self._table, self._clause))
        times, order = self._times(), sorted_table.order
        window = None if times is None else (times[0][order], times[1][order], times[2])
        return Execution(plan, sorted_table, window, steps)

    def partition_keys(self) -> list[pa.Array]:
        """The columns of PARTITION BY, as rows are compared by them."""
        return [key_of(self._table.column(name.text)) for name in self._clause.partition_by]

    def _row_names(self) -> RowNames:
        """What names each row of the table."""
        order, offsets = sorted_rows(self._table, self._clause)
        keys, count = self.partition_keys(), len(order)
        times: pa.Array = pa.nulls(count, pa.int64())
        if self._clause.order_by:
            times = key_of(self._table.column(self._clause.order_by[0].column.text))
        if arrow.is_floating(times.type) or arrow.is_temporal(times.type):
            axis = TimeAxis.of("", times.type)
            ticks = np.zeros(count, np.int64)
            is_known = to_numpy(times.is_valid())
            ticks[is_known] = axis.encode(times.filter(from_numpy(is_known)))
            times = from_numpy(ticks, ~is_known)
        codes = pc.dictionary_encode(times, null_encoding="encode").indices.cast(pa.int64())
        ties = np.empty(count, np.int64)
        partition = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ties[order] = ties_of(partition, to_numpy(codes)[order])
        return RowNames(keys, times, ties)

    def _plain_columns(self) -> dict[str, list[Any]]:
        named = {node.name.text for node in self._clause.walk() if isinstance(node, rows.Column)}
        return {name: plain_values(self._table.column(name)) for name in named}

    def _found(self) -> Iterator[tuple[Partition, Match | int]]:
        """The matches of each partition by the reference, and the rows in no match."""
        if self._soon is not None:
            yield from self._soon
            return
        for partition, window in self._partitions():
            for found in matches(self._clause, partition, window, self._settings.max_steps):
                yield partition, found

    def _partitions(self) -> Iterator[tuple[Partition, int | None]]:
        """The partitions as the reference reads them, each with the ticks of WITHIN."""
        times, columns = self._times(), self._plain_columns()
        order, offsets = sorted_rows(self._table, self._clause)
        for low, high in pairwise(offsets.tolist()):
            numbers, ticks, window = order[low:high], None, None
            if times is not None:
                pairs = zip(times[0][numbers].tolist(), times[1][numbers].tolist(), strict=True)
                ticks, window = [tick if known else None for tick, known in pairs], times[2]
            yield Partition(numbers.tolist(), columns, ticks), window

    def _times(self) -> Window | None:
        """The time of each row, whether there is one, and how many ticks WITHIN is."""
        if self._clause.within is None:
            return None
        name = self._clause.order_by[0].column.text
        column = without_dictionary(one_array(self._table.column(name)))
        axis = TimeAxis.of(name, column.type, self._settings.time_unit)
        window = window_ticks(self._clause, axis)
        assert window is not None
        is_known = to_numpy(key_of(column).is_valid())
        ticks = np.zeros(len(is_known), np.int64)
        ticks[is_known] = axis.encode(column.filter(from_numpy(is_known)))
        return ticks, is_known, window

    def _measured(self, expression: Any, kind: Kind, made: Sequence[ResultRow]) -> Any:
        """The column of a measure."""
        each_row = [
            None if row.match is None else RowInterpreter(row.match, row.seen) for row in made
        ]
        column = self._column_of(expression)
        if column is not None and not isinstance(expression, rows.Aggregate):
            numbers = [each and _row_read(each, expression) for each in each_row]
            return column.take(pa.array(numbers, pa.int64()))
        if column is not None and kind in (Kind.TIMESTAMP, Kind.DURATION):
            return _extremes(expression, column, each_row)
        values = [None if each is None else each.value(expression) for each in each_row]
        return pa.array(values, ARROW_TYPE[kind]) if kind in MADE else from_list(values)

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


def window_ticks(clause: rows.Clause, axis: TimeAxis) -> int | None:
    """How many ticks WITHIN is, if there is one."""
    if clause.within is None:
        return None
    if axis.unit is None:
        raise OptionError(
            f"WITHIN is an interval of time, and column {axis.column!r} has plain numbers: say "
            "what they count, for instance with time_unit='ms' (--time-unit ms)"
        )
    return axis.window_ticks(clause.within.amount, clause.within.unit)


def _extremes(
    expression: rows.Aggregate, column: Any, each_row: Sequence[RowInterpreter | None]
) -> pa.Array:
    """The least or greatest time of a column, to the nanosecond."""
    kind = type_of_extreme(column.type, pa.duration("us"))
    ticks = without_dictionary(one_array(column)).cast(kind).cast(pa.int64()).to_pylist()
    extreme = min if expression.function == "min" else max

    def found(each: RowInterpreter) -> int | None:
        seen = None if expression.semantics is rows.Semantics.FINAL else each.seen
        positions = each.match.positions(expression.variable, seen)
        read = (ticks[each.match.partition.rows[position]] for position in positions)
        return extreme((tick for tick in read if tick is not None), default=None)

    values = [None if each is None else found(each) for each in each_row]
    return pa.array(values, pa.int64()).cast(kind)


def _row_read(interpreter: RowInterpreter, expression: Any) -> int | None:
    """The row of the table that a column or a navigation reads."""
    position = interpreter.position(expression)
    return None if position is None else interpreter.match.partition.rows[position]
