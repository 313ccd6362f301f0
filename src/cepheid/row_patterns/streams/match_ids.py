"""An id for every match, the same wherever and however often the match is found.

From one row there is at most one match. So a match is named by its partition, its first row and its
length, and a row of a partition by its time and its index among the rows of that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import OptionError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.printer import print_clause
from cepheid.row_patterns.reference.evaluation import ResultRow

MATCH_ID = "match_id"


@dataclass(frozen=True, slots=True, eq=False)
class RowNames:
    """What names each row of a table: its partition, its time, and its index among equal times."""

    keys: Sequence[pa.Array]
    times: pa.Array
    ties: Int64s

    def match_ids(self, clause: rows.Clause, starts: Int64s, lengths: Int64s) -> pa.Array:
        """The ids of matches by their first rows and lengths; null where there is no first row."""
        from cepheid.matches.ids import row_ids  # it loads numba

        taken = from_numpy(np.maximum(starts, 0))
        columns = [*self.keys, self.times, from_numpy(self.ties)]
        if not len(self.ties):
            return pa.nulls(len(starts), pa.string())
        named = [*(each.take(taken) for each in columns), from_numpy(lengths)]
        found = row_ids(print_clause(clause), named)
        return pc.if_else(from_numpy(starts >= 0), found, pa.scalar(None, pa.string()))


def begun(made: Sequence[ResultRow]) -> tuple[Int64s, Int64s]:
    """The first row of the match of each row of a result, or -1, and the length of the match."""
    of_match = [each.match for each in made]
    starts = [-1 if each is None else each.partition.rows[each.start] for each in of_match]
    lengths = [0 if each is None else len(each.labels) for each in of_match]
    return np.array(starts, np.int64), np.array(lengths, np.int64)


def ties_of(partition: Int64s, times: Int64s) -> Int64s:
    """The index of each row among the rows of its partition and time; rows are in time order.

    >>> ties_of(np.array([0, 1, 0, 0, 1]), np.array([5, 5, 5, 6, 5])).tolist()
    [0, 0, 1, 0, 1]
    """
    order = np.lexsort((times, partition))  # It keeps the order of rows that are equal in both.
    by_partition, by_time = partition[order], times[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (by_partition[1:] != by_partition[:-1]) | (by_time[1:] != by_time[:-1])
    places = np.arange(len(order))
    ties = np.empty(len(order), np.int64)
    ties[order] = places - np.maximum.accumulate(np.where(is_new, places, 0))
    return ties


def refuse_own_id(columns: Sequence[str]) -> None:
    """Refuse a result that has a column of this name already."""
    if any(name.lower() == MATCH_ID for name in columns):
        raise OptionError(
            f"the result has a column {MATCH_ID!r} of its own; give it another name, or leave out "
            "match_id"
        )
