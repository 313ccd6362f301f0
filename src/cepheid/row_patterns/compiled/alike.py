"""Rows that predicates cannot tell apart once they are matched.

A failure that depends on a matched row then holds for every row that is like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.row_patterns.compiled.row_order import numbered
from cepheid.tuning import tuning

Numbers = npt.NDArray[Any]
Column = tuple[Numbers, Numbers | None]
"""Values, and where there are some, if not everywhere."""

_SAMPLE = 1_024


def alike_rows(
    reads: Sequence[tuple[int, int]], columns: Sequence[Column], offsets: Int64s
) -> Int64s:
    """A number for each row, the same for rows that look the same; empty if few do.

    ``reads`` are the columns that are read, and at what distance. A row beyond its partition, which
    ``offsets`` bound, has no value.

    >>> column = np.array([5, 6, 5, 5]), None
    >>> from cepheid.tuning import tuned
    >>> with tuned(alike_rows=0):
    ...     alike_rows([(0, 0)], [column], np.array([0, 4])).tolist()
    ...     alike_rows([(0, 0), (0, -1)], [column], np.array([0, 2, 4])).tolist()
    [0, 1, 0, 0]
    []
    """
    count = int(offsets[-1])
    if not reads or count < tuning().alike_rows:
        return np.empty(0, np.int64)
    sample = np.arange(0, count, max(count // _SAMPLE, 1))
    _, different = _compared(reads, columns, offsets, sample)
    if 2 * different > len(sample):
        return np.empty(0, np.int64)
    return _compared(reads, columns, offsets, np.arange(count))[0]


def _compared(
    reads: Sequence[tuple[int, int]],
    columns: Sequence[Column],
    offsets: Int64s,
    rows: Int64s,
) -> tuple[Int64s, int]:
    """The numbers of rows, and how many numbers there are."""
    codes, count = np.zeros(0, np.int64), 1
    for column, distance in reads:
        values, valid = columns[column]
        at = rows + distance
        missing = np.zeros(len(rows), np.bool_)
        if distance:
            partitions = np.searchsorted(offsets, rows, "right") - 1
            missing |= (at < offsets[partitions]) | (at >= offsets[partitions + 1])
            at = np.where(missing, rows, at)
        if valid is not None:
            missing |= valid[at] == 0
        more, times = numbered(from_numpy(values.view(np.int64)[at], missing))
        if len(codes):
            more, times = numbered(from_numpy(codes * times + more))
        codes, count = more.astype(np.int64), times
    return codes, count
