"""A clause over a sorted table by the engine: its matches, and the measures of its result."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.row_pattern import layout
from cepheid.engines.row_pattern.engine import Found
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy, one_array
from cepheid.events.conforming import ARROW_TYPE
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.encoding import MADE, type_of_extreme
from cepheid.row_patterns.compiled.measures import (
    Measures,
    NotInColumns,
    ResultRows,
    result_rows,
)
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.compiled.searching import Continued, Searching, Window
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.reference.evaluation import ResultRow
from cepheid.row_patterns.reference.interpreter import Match, Partition, operand_of
from cepheid.schema import Kind


class Execution:
    """The matches of a clause in a sorted table.

    Raises:
        EvaluationError: AFTER MATCH SKIP names a row that a match does not have, or its first row.
        LimitError: the search from a row takes too many steps.
    """

    def __init__(
        self,
        plan: Plan,
        table: SortedTable,
        window: Window | None,
        max_steps: int,
        continued: Continued | None = None,
    ) -> None:
        self._clause = plan.clause
        self._table = table
        self._continued = continued or Continued.anew(table)
        self.found: Found = Searching(plan, table, window, max_steps, continued).run()

    @cached_property
    def result(self) -> ResultRows:
        """The rows of the result."""
        lows = np.maximum(self._continued.starts, self._continued.covered)
        highs = np.minimum(self.found.opens, self._table.offsets[1:])
        return result_rows(self._clause.rows, self.found, len(self._table), (lows, highs))

    @property
    def covered(self) -> Int64s:
        """The place in each partition before which no row is unmatched."""
        found, covered = self.found, self._continued.covered.copy()
        lengths = np.diff(found.ends, prepend=0)
        np.maximum.at(covered, found.partitions, found.starts + lengths)
        return covered

    @property
    def row_numbers(self) -> Int64s:
        """The rows of the table that the rows of the result are."""
        return self._table.order[self.result.rows]

    def column(self, name: str) -> Any:
        """A column of the table in the rows of the result."""
        return self._table.at(name, self.result.rows)

    @property
    def begun(self) -> tuple[Int64s, Int64s]:
        """The first row of the match of each row of the result, or -1, and the match's length."""
        matches, found = self.result.matches, self.found
        starts = np.append(self._table.order[found.starts], -1)
        lengths = np.append(np.diff(found.ends, prepend=0), 0)
        return starts[matches], lengths[matches]  # Without a match, it is the last one.

    def measure(self, expression: Any, kind: Kind) -> Any:
        """The column of a measure.

        Raises:
            NotInColumns: it has to be computed row by row.
        """
        values = self._measured(expression, kind)
        places = self._places
        return values if places is None else values.take(places)

    def _measured(self, expression: Any, kind: Kind) -> Any:
        match expression:
            case rows.Column(_, name):
                return self._measures.column_at(name.text, expression)
            case rows.Logical() | rows.Physical():
                operand = operand_of(expression)
                if isinstance(operand, rows.Column):
                    return self._measures.column_at(operand.name.text, expression)
        if kind not in MADE:
            raise NotInColumns
        values = one_array(self._measures.value(expression))
        wanted = ARROW_TYPE[kind]
        match expression:
            case rows.Aggregate("min" | "max", rows.Column()):
                wanted = type_of_extreme(values.type, wanted)
        return values if values.type == wanted else values.cast(wanted, safe=False)

    @cached_property
    def _matched(self) -> npt.NDArray[np.bool_]:
        return self.result.matches >= 0

    @cached_property
    def _places(self) -> pa.Array | None:
        """Where the measures of each row are among those of matched rows; None if all are."""
        matched = self._matched
        if matched.all():
            return None
        return from_numpy(np.maximum(np.cumsum(matched) - 1, 0), ~matched)

    @cached_property
    def _measures(self) -> Measures:
        result, matched = self.result, self._matched
        if not matched.all():
            result = ResultRows(result.rows[matched], result.matches[matched], result.seen[matched])
        return Measures(self._clause, self._table, self.found, result)

    def interpreted_rows(self, columns: dict[str, list[Any]]) -> list[ResultRow]:
        """The rows of the result as the reference has them, for a measure row by row."""
        names, members, found = self._clause.variables(), self._clause.members(), self.found
        order, offsets = self._table.order, self._table.offsets
        partitions = {
            each: Partition(order[offsets[each] : offsets[each + 1]].tolist(), columns)
            for each in np.unique(found.partitions).tolist()
        }
        begins = found.ends - np.diff(found.ends, prepend=0)
        variables = [names[label] for label in (found.labels & (layout.EXCLUDED - 1)).tolist()]
        matches = [
            Match(
                partitions[partition],
                members,
                start - int(offsets[partition]),
                number,
                variables[begin:end],
            )
            for partition, start, number, begin, end in zip(
                found.partitions.tolist(),
                found.starts.tolist(),
                found.numbers.tolist(),
                begins.tolist(),
                found.ends.tolist(),
                strict=True,
            )
        ]
        return [
            ResultRow(row, matches[match] if match >= 0 else None, seen)
            for row, match, seen in zip(
                self.row_numbers.tolist(),
                self.result.matches.tolist(),
                self.result.seen.tolist(),
                strict=True,
            )
        ]
