"""The order of a stream: by time, then by the tie-break columns, then by row.

This is the only place that sorts events, locally and in Spark workers. Values are compared as
Spark compares them: null first, NaN last, strings by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy

_CHUNK = 65_536
"""How many values are compared in one step; they stay in the CPU cache."""

_FEW_RUNS = 64
"""A sorting algorithm that merges runs is the faster one for runs of this average length."""


def stream_order(ticks: Int64s, ties: Sequence[pa.Array | pa.ChunkedArray]) -> Int64s | None:
    """The stable permutation that sorts rows by (ticks, ties); None if they are in order.

    A tie-break column is read only for the rows that all columns before it leave undecided.

    >>> stream_order(np.array([5, 3, 5]), [pa.array(["b", "c", "a"])]).tolist()
    [1, 2, 0]
    >>> stream_order(np.array([3, 5, 5]), [])
    """
    if len(ticks) < 2:
        return None
    is_ordered = _never_decreases(ticks)
    if is_ordered and not ties:
        return None
    order = np.arange(len(ticks)) if is_ordered else _order_of(ticks)
    tied, groups = _alike(np.arange(len(ticks)), [ticks[order]])
    for column in ties:
        if not len(tied):
            break
        rows = order[tied]
        keys = _keys(column.take(from_numpy(rows)))
        among = _order_in_groups(groups, keys)
        is_ordered = is_ordered and _never_decreases(among)
        order[tied] = rows[among]
        # Groups are in order, so that they stay where they are.
        tied, groups = _alike(tied, [groups, *(key[among] for key in keys)])
    return None if is_ordered else order


def _never_decreases(numbers: Int64s) -> bool:
    parts = (numbers[low : low + _CHUNK + 1] for low in range(0, len(numbers), _CHUNK))
    return all(bool((part[1:] >= part[:-1]).all()) for part in parts)


def _order_of(ticks: Int64s) -> Int64s:
    """The stable order of times.

    NumPy sorts numbers several times as fast as it finds their order. Where there is room, the
    row is therefore made part of each number, unless the times consist of few sorted runs.

    >>> _order_of(np.array([30, 10, 30, 20])).tolist()
    [1, 3, 0, 2]
    """
    count = len(ticks)
    first, last = int(ticks.min()), int(ticks.max())
    runs = int(np.count_nonzero(ticks[1:] < ticks[:-1])) + 1
    if runs * _FEW_RUNS < count or (last - first + 1) * count >= 2**63:
        return np.argsort(ticks, kind="stable").astype(np.int64, copy=False)
    keys = (ticks - first) * count + np.arange(count)
    keys.sort()
    order: Int64s = keys % count
    return order


def _alike(rows: Int64s, keys: Sequence[npt.NDArray[Any]]) -> tuple[Int64s, Int64s]:
    """The rows with the same keys as a neighbour, and the number of the group of each."""
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    are_alike = ~begins
    are_alike[:-1] |= ~begins[1:]
    return rows[are_alike], np.cumsum(begins, dtype=np.int64)[are_alike]


def _order_in_groups(groups: Int64s, keys: Sequence[npt.NDArray[Any]]) -> Int64s:
    """The order by group, and within each group by the keys, the last of which counts most.

    If group and key fit into one number, that number is sorted. It is nearly in order, since
    groups are, and is sorted several times as fast as one key after another.
    """
    if len(keys) == 1:
        least, greatest = int(keys[0].min()), int(keys[0].max())
        span = greatest - least + 1
        if span * (int(groups[-1]) + 1) < 2**63:
            return np.argsort(groups * span + (keys[0] - least), kind="stable")
    return np.lexsort([*keys, groups])


def _keys(values: pa.Array | pa.ChunkedArray) -> list[npt.NDArray[Any]]:
    """Numbers in the order of the values, and, more important, whether there is a value."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    keys = np.where(is_null, 0, _ranks(values))
    return [keys, ~is_null] if is_null.any() else [keys]


def _ranks(values: pa.Array) -> Int64s:
    """An int64 for each value, in the order of the values; any number for null.

    Spark cannot order by structs and maps of every kind, so that nested values are all equal.
    """
    ranks: Int64s
    if arrow.is_nested(values.type) or arrow.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    if arrow.is_floating(values.type):
        numbers = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        ranks = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    elif arrow.is_integer(values.type) and not arrow.is_uint64(values.type):
        ranks = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    else:
        coded = values if arrow.is_dictionary(values.type) else values.dictionary_encode()
        different = coded.dictionary
        if arrow.is_boolean(different.type):
            different = different.cast(pa.int8())
        codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        of_codes = np.asarray(pc.rank(different, tiebreaker="dense")).astype(np.int64)
        ranks = np.append(of_codes, 0)[codes]
    return ranks
