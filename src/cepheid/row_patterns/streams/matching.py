"""Matches the rows that are known so far: what rows to come cannot change.

A matcher is given the known rows of partitions and where each partition continues. It returns the
decided part of the result, and for each partition the first start whose answer rows to come can
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EvaluationError, LimitError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.row_patterns.compiled.evaluation import plan_of
from cepheid.row_patterns.compiled.execution import Execution
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.compiled.row_order import sorted_rows
from cepheid.row_patterns.compiled.searching import Continued
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.reference.evaluation import Progress, ResultRow, matches, result_rows
from cepheid.row_patterns.reference.interpreter import Match, Partition
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.running import Run
from cepheid.row_patterns.streams.bounds import rows_after
from cepheid.row_patterns.streams.match_ids import RowNames, begun
from cepheid.tuning import tuning


class Places(NamedTuple):
    """How far each partition has been matched; see :class:`Progress`, which has the fields of one.

    ``before`` is the number of rows of the partition that came before those that are prepared.
    """

    before: Int64s
    start: Int64s
    covered: Int64s
    number: Int64s

    @classmethod
    def new(cls, partitions: int) -> Places:
        """The beginning of these partitions."""
        before, start, covered = np.zeros((3, partitions), np.int64)
        return cls(before, start, covered, np.ones(partitions, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRows:
    """The rows to match, one partition after another, each in order.

    ``order`` are rows of the table; ``ends`` is where each partition ends in it. ``numbers`` are
    those of the rows of the table in the whole stream, ``ties`` their indices among the rows of
    their partition and time, and ``ticks`` their times. ``window`` is the length of WITHIN. If
    more rows may come, their ticks are at least ``now``.
    """

    order: Int64s
    ends: Int64s
    places: Places
    numbers: Int64s
    ties: Int64s
    ticks: Int64s
    window: int | None = None
    is_complete: bool = False
    now: int = 0


class KnownRows(Run):
    """A clause over the rows of a stream that are known so far.

    After an answer by the engine, ``plan`` is its program, and ``loops`` are the columns of
    :meth:`Plan.loops` for the states in which the open searches of partitions wait.
    """

    plan: Plan | None = None
    loops: Int64s

    def answer(self, prepared: PreparedRows) -> tuple[RowMatches, Places]:
        """The rows of the result, as far as rows to come cannot change them, and how far that is.

        A partition is matched up to the first start whose answer rows to come can change.
        """
        plan = plan_of(self._binding, self._settings.evaluation)
        # The reference knows when a row that NEXT waits for does not matter.
        if not isinstance(plan, str) and not rows_after(self._clause):
            with self.limited():
                return self._by_engine(plan, prepared)
        count = 0
        made: list[ResultRow] = []
        reached: list[Progress] = []
        columns, max_steps, begin = self._plain_columns(), self._settings.max_steps, 0
        ticks, numbers = prepared.ticks, prepared.numbers.tolist()
        for end, before, *at in zip(prepared.ends.tolist(), *_lists(prepared.places), strict=True):
            order, progress = prepared.order[begin:end].tolist(), Progress(*at)
            times = None if prepared.window is None else ticks[order].tolist()
            known = Partition(
                order, columns, times, before, prepared.is_complete, prepared.now, numbers
            )
            for found in matches(self._clause, known, prepared.window, max_steps, progress):
                count += isinstance(found, Match)
                made += result_rows(self._clause, found, known)
            reached.append(progress)
            begin = end
        fields = [[each.start, each.covered, each.number] for each in reached]
        start, covered, number = np.array(fields, np.int64).reshape(-1, 3).T
        places = Places(prepared.places.before, start, covered, number)
        result = self._result_of(made, count)
        if self._settings.match_id:
            names = RowNames(self.partition_keys(), from_numpy(ticks), prepared.ties)
            result = result.with_ids(names.match_ids(self._clause, *begun(made)))
        return result, places

    def _by_engine(self, plan: Plan, prepared: PreparedRows) -> tuple[RowMatches, Places]:
        offsets = np.concatenate(([0], prepared.ends)).astype(np.int64)
        places, lows = prepared.places, offsets[:-1]
        table = SortedTable(self._table, prepared.order, offsets)
        window = None
        if prepared.window is not None:
            times = prepared.ticks[prepared.order]
            window = (times, np.ones(len(times), np.bool_), prepared.window)
        continued = Continued(
            lows + places.start,
            lows + places.covered,
            places.number,
            places.before,
            prepared.is_complete,
            prepared.now,
            prepared.numbers,
        )
        execution = Execution(plan, table, window, self._settings.max_steps, continued)
        self.plan, self.loops = plan, plan.loops[:, execution.found.open_states]
        reached = Places(
            places.before,
            execution.found.opens - lows,
            execution.covered - lows,
            execution.found.next_numbers,
        )
        result = self._of_execution(execution)
        if self._settings.match_id:
            names = RowNames(self.partition_keys(), from_numpy(prepared.ticks), prepared.ties)
            result = result.with_ids(names.match_ids(self._clause, *execution.begun))
        return result, reached

    def order(self) -> Int64s:
        """The rows of the table in the order of ORDER BY; ties keep the order of the table."""
        return sorted_rows(self._table, replace(self._clause, partition_by=()))[0]

    def parts(self) -> Iterator[RowMatches]:
        """The result for all rows, in parts: each has some of the partitions."""
        codes = key_codes(self.partition_keys())
        together = tuning().matched_rows
        if codes is None or len(codes) <= together:
            yield self.result()
            return
        group = np.cumsum(np.bincount(codes)) // together
        rows = np.argsort(group[codes], kind="stable")
        for each in np.split(rows, np.flatnonzero(np.diff(group[codes[rows]])) + 1):
            part = Run(self._binding, self._table.take(from_numpy(each)), self._settings)
            try:
                yield part.result()
            except (EvaluationError, LimitError):
                self.result()  # Its error names the row of the whole table.
                raise


def _lists(places: Places) -> list[list[int]]:
    return [each.tolist() for each in places]


def key_codes(keys: Sequence[pa.Array]) -> Int64s | None:
    """A number for each row, from 0 in the order of first rows; None if there are no keys.

    >>> key_codes([pa.array(["b", "a", "b"]), pa.array([1, None, 2])]).tolist()
    [0, 1, 2]
    """
    found: Int64s | None = None
    for key in keys:
        codes = _codes(key)
        found = codes if found is None else _codes(from_numpy(found * (len(key) + 1) + codes))
    return found


def _codes(key: pa.Array) -> Int64s:
    indices = pc.dictionary_encode(key, null_encoding="encode").indices
    codes: Int64s = indices.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return codes
