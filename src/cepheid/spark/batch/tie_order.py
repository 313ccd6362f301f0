"""Events by time, and those of equal time by columns, in the order in which Spark sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s


def order_with_ties(ticks: Int64s, ties: Sequence[pa.ChunkedArray]) -> Int64s:
    """The rows in order: by time, then by the first of the columns, and so on.

    A column is looked at only for the rows that all before it leave undecided.

    >>> order_with_ties(np.array([5, 3, 5]), [pa.chunked_array([["b", "c", "a"]])]).tolist()
    [1, 2, 0]
    """
    order = np.argsort(ticks, kind="stable")
    places, groups = _alike(np.arange(len(ticks)), [ticks[order]])
    for column in ties:
        if not len(places):
            break
        rows = order[places]
        keys = _keys(column.take(pa.array(rows)).combine_chunks())
        sorted_rows = _sorted(groups, keys)
        order[places] = rows[sorted_rows]
        # Groups are in order, so that they stay where they are.
        places, groups = _alike(places, [groups, *(key[sorted_rows] for key in keys)])
    return order


def can_rank(kind: pa.DataType, is_plain: bool) -> bool:
    """Whether values of a type are put here into the order that they have on Spark.

    ``is_plain`` tells that Spark compares them as everybody does: texts can have a collation.

    >>> can_rank(pa.string(), True), can_rank(pa.list_(pa.string()), False)
    (True, False)
    """
    return is_plain or not (arrow.is_nested(kind) or arrow.is_string(kind))


def _alike(places: Int64s, keys: Sequence[npt.NDArray[Any]]) -> tuple[Int64s, Int64s]:
    """The places that have the same keys as one beside them, and numbers for those that do."""
    begins = np.ones(len(places), dtype=np.bool_)
    begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    are_alike = ~begins
    are_alike[:-1] |= ~begins[1:]
    return places[are_alike], np.cumsum(begins, dtype=np.int64)[are_alike]


def _sorted(groups: Int64s, keys: Sequence[npt.NDArray[Any]]) -> Int64s:
    """The rows by group, and by the keys in each, of which the last counts most.

    Where both fit into one number, that is sorted: it is nearly in order, since groups are, and
    such numbers are sorted several times as fast as one key after another.
    """
    if len(keys) == 1:
        least, greatest = int(keys[0].min()), int(keys[0].max())
        span = greatest - least + 1
        if span * (int(groups[-1]) + 1) < 2**63:
            return np.argsort(groups * span + (keys[0].astype(np.int64) - least), kind="stable")
    return np.lexsort([*keys, groups])


def _keys(values: pa.Array) -> list[npt.NDArray[Any]]:
    """Numbers in the order of the values, and then, more important, whether there is a value.

    What is no number is greater than all numbers, and texts are in the order of their bytes.
    """
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    if arrow.is_floating(values.type):
        numbers = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        keys = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    elif arrow.is_integer(values.type):
        keys = values.fill_null(0).to_numpy(zero_copy_only=False)
    else:
        coded = values if arrow.is_dictionary(values.type) else values.dictionary_encode()
        ranks = np.asarray(pc.rank(_rankable(coded.dictionary), tiebreaker="dense"))
        codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        keys = np.append(ranks, 0)[codes]
    if is_null.any():
        keys = np.where(is_null, keys.dtype.type(0), keys)
        return [keys, ~is_null]
    return [keys]


def _rankable(values: pa.Array) -> pa.Array:
    return values.cast(pa.int8()) if arrow.is_boolean(values.type) else values
