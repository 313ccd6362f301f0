"""Runs the program of a clause over a sorted table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.codegen import layout as context_layout
from cepheid.codegen.generated import predicate_address
from cepheid.engines.row_pattern import layout
from cepheid.engines.row_pattern.engine import Found, Matcher, Stopped
from cepheid.engines.row_pattern.kernels.row_order import set_bits, window_ends
from cepheid.engines.row_pattern.layout import NONE, SortedRows
from cepheid.errors import EvaluationError, LimitError
from cepheid.events.arrays import Int64s, address_of
from cepheid.events.columns.arrow_arrays import one_array, to_numpy
from cepheid.events.columns.encoding import writable
from cepheid.row_patterns.compiled.alike import Numbers, alike_rows
from cepheid.row_patterns.compiled.encoding import filled, plain, ranked, ranks
from cepheid.row_patterns.compiled.leaves import LeavesOf, reads_labels
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.compiled.sorted_table import LocalTest, SortedTable
from cepheid.row_patterns.run_errors import no_target, too_long
from cepheid.schema import Kind

Window = tuple[Int64s, npt.NDArray[np.bool_], int]
"""The time of each row, whether it is known, and the ticks of WITHIN."""


@dataclass(frozen=True, slots=True, eq=False)
class Continued:
    """Partitions of a stream: where each of them continues.

    ``starts`` are the places in the sorted table from which matches are searched, ``covered`` those
    before which no row is unmatched, and ``match_numbers`` the numbers of the next matches.
    ``before`` is the number of rows of each partition before the known ones. If more rows may come,
    their times are at least ``now``. ``row_numbers`` are the numbers of rows in
    messages, if they are not those of the table.
    """

    starts: Int64s
    covered: Int64s
    match_numbers: Int64s
    before: Int64s
    is_complete: bool
    now: int
    row_numbers: Int64s | None = None

    @classmethod
    def anew(cls, table: SortedTable) -> Continued:
        """All rows are known, and nothing has been searched."""
        lows = table.offsets[:-1].copy()
        before, ones = np.zeros(len(lows), np.int64), np.ones(len(lows), np.int64)
        return cls(lows, lows, ones, before, True, 0)


class Searching:
    """A search for the matches of a clause in a sorted table.

    Args:
        plan: the program.
        table: the rows.
        window: the time of each row and whether it is known, and the ticks of WITHIN, if any.
        max_steps: how many steps the search from one row may take.
        continued: where the partitions of a stream continue.
    """

    def __init__(
        self,
        plan: Plan,
        table: SortedTable,
        window: Window | None,
        max_steps: int,
        continued: Continued | None = None,
    ) -> None:
        continued = continued or Continued.anew(table)
        self._row_numbers = continued.row_numbers
        self._plan = plan
        self._table = table
        self._max_steps = max_steps
        self._kept: list[Any] = []  # arrays that are read by their addresses
        program = plan.program(max_steps)
        context = None
        columns = self._columns()
        if plan.predicates.source is not None:
            program = program._replace(predicate=predicate_address(plan.predicates.source))
            context = self._context(columns)
            reads = sorted(plan.predicates.matched_reads)
            program = program._replace(alike=alike_rows(reads, columns, table.offsets))
        if plan.sees_labels:
            program = program._replace(label_codes=self._codes(plan.variables))
        rows = SortedRows(
            masks=row_masks(plan, table),
            offsets=table.offsets,
            ends=self._ends(window),
            first=continued.starts,
            numbers=continued.match_numbers,
            origins=table.offsets[:-1] - continued.before,
            is_closed=_closed(window, continued),
            is_complete=int(continued.is_complete),
            folds=self._folds(columns),
        )
        self._matcher = Matcher(program, rows, context)
        if context is not None and plan.sees_labels:
            place = [reads_labels(operand) for operand, _ in plan.predicates.columns].index(True)
            path = self._matcher.path
            context[context_layout.CONTEXT_COLUMNS + 2 * place] = address_of(path)

    @property
    def seconds(self) -> float:
        """The time that the search itself took."""
        return self._matcher.seconds

    def run(self) -> Found:
        """The matches.

        Raises:
            EvaluationError: AFTER MATCH SKIP names a row that a match does not have, or its first.
            LimitError: the search from a row takes too many steps.
        """
        try:
            return self._matcher.run()
        except Stopped as stopped:
            raise self._error(stopped) from None

    def _error(self, stopped: Stopped) -> EvaluationError | LimitError:
        order = self._table.order
        if self._row_numbers is not None:
            order = self._row_numbers[order]
        first = int(order[stopped.row])
        if stopped.status == layout.TOO_LONG:
            tests = dict(zip(self._plan.variables, stopped.tests.tolist(), strict=True))
            return too_long(first, self._max_steps, tests)
        last = int(order[stopped.row + stopped.length - 1])
        exists = stopped.target != NONE
        return no_target(self._plan.clause.skip, stopped.number, first, last, exists)

    # --- What rows are

    def _ends(self, window: Window | None) -> Int64s:
        if window is None:
            return np.zeros(0, np.int64)
        times, is_known, ticks = window
        ends = np.empty(len(times), np.int64)
        window_ends(times, is_known, self._table.offsets, ticks, ends)
        return ends

    def _columns(self) -> list[tuple[Numbers, Numbers | None]]:
        """The values of each column that predicates read, and where there are some."""
        arrays = []
        for operand, kind in self._plan.predicates.columns:
            if reads_labels(operand):
                arrays.append(pa.nulls(0, pa.int64()))
                continue
            values = plain(one_array(self._table.operand(operand)))
            arrays.append(values.cast(pa.float64(), safe=False) if kind is Kind.FLOAT else values)
        constants = [each for each in self._plan.predicates.constants if isinstance(each, str)]
        strings = [each for each in arrays if pa.types.is_string(each.type)]
        names = pa.array([*constants, *self._plan.variables], pa.string())
        self._strings = ranked([*strings, names])
        found = []
        for array in arrays:
            if pa.types.is_string(array.type):
                array = ranks(array, self._strings)
            values, valid = filled(array)
            found.append((values, valid if array.null_count else None))
        return found

    def _codes(self, strings: Sequence[str]) -> Int64s:
        return to_numpy(ranks(pa.array(strings, pa.string()), self._strings)).copy()

    def _context(self, columns: list[tuple[Numbers, Numbers | None]]) -> Int64s:
        constants = self._plan.predicates.constants
        ints, floats = np.zeros(len(constants) + 1, np.int64), np.zeros(len(constants) + 1)
        for number, constant in enumerate(constants):
            if isinstance(constant, str):
                ints[number] = self._codes([constant])[0]
            elif isinstance(constant, float):
                floats[number] = constant
            else:
                ints[number] = constant
        context = np.zeros(context_layout.CONTEXT_COLUMNS + 2 * len(columns) + 1, np.int64)
        context[context_layout.CONTEXT_CONSTANTS] = address_of(ints)
        context[context_layout.CONTEXT_FLOAT_CONSTANTS] = address_of(floats)
        for number, (values, valid) in enumerate(columns):
            place = context_layout.CONTEXT_COLUMNS + 2 * number
            context[place] = address_of(values)
            context[place + 1] = 0 if valid is None else address_of(valid)
        self._kept += [ints, floats, columns, context]
        return context

    def _folds(self, columns: list[tuple[Numbers, Numbers | None]]) -> npt.NDArray[np.void]:
        folds = np.zeros(len(self._plan.folds), layout.FOLDED)
        for number, (_, operation, column) in enumerate(self._plan.folds):
            values, valid = columns[column]
            is_float = self._plan.predicates.columns[column][1] is Kind.FLOAT
            address = 0 if valid is None else address_of(valid)
            folds[number] = (operation, int(is_float), address_of(values), address)
        return folds


def row_masks(plan: Plan, table: SortedTable) -> Int64s:
    """The variables that each row can be of, as far as the row and its neighbours decide."""
    always, tests = 0, []
    for number, variable in enumerate(plan.variables):
        conditions = plan.conditions[variable].masks
        if conditions:
            test = LocalTest.of(conditions, LeavesOf(plan.clause, variable))
            tests.append((1 << number, test))
        else:
            always |= 1 << number
    masks = np.full(len(table), always, np.int64)
    if tests:
        for block in table.blocks():
            of_block = masks[block.low : block.high]
            for bit, test in tests:
                set_bits(writable(block.truth(test)), bit, of_block)
    return masks


def _closed(window: Window | None, continued: Continued) -> npt.NDArray[np.bool_]:
    """For which first rows of matches WITHIN excludes all rows to come."""
    if window is None:
        return np.zeros(0, np.bool_)
    times, _, ticks = window
    return np.asarray(continued.now - times >= ticks)
