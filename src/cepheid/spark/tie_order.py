"""Events by time, and those of equal time by columns, in the order in which Spark sorts them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.runtime.bindings import Int64s


def order_with_ties(ticks: Int64s, ties: Sequence[pa.ChunkedArray]) -> Int64s:
    """The rows in order: by time, then by the first of the columns, and so on.

    >>> order_with_ties(np.array([5, 3, 5]), [pa.chunked_array([["b", "c", "a"]])]).tolist()
    [1, 2, 0]
    """
    order = np.argsort(ticks, kind="stable")
    in_order = ticks[order]
    same = in_order[1:] == in_order[:-1]
    places = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[places]
    ranks = [_ranks(column.take(pa.array(rows))) for column in reversed(ties)]
    order[places] = rows[np.lexsort([*ranks, in_order[places]])]
    return order


def can_rank(kind: pa.DataType, is_plain: bool) -> bool:
    """Whether values of a type are put here into the order that they have on Spark.

    ``is_plain`` tells that Spark compares them as everybody does: texts can have a collation.

    >>> can_rank(pa.string(), True), can_rank(pa.list_(pa.string()), False)
    (True, False)
    """
    return is_plain or not (arrow.is_nested(kind) or arrow.is_string(kind))


def _ranks(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """The place of each value among all: nothing is least, and what is no number greatest."""
    values = column.combine_chunks()
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    if arrow.is_dictionary(values.type):
        values = values.dictionary_decode()
    elif arrow.is_boolean(values.type):
        values = values.cast(pa.int8())
    elif arrow.is_floating(values.type):
        numbers = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        in_order = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
        values = pa.array(in_order)
    ranks = np.asarray(pc.rank(values, sort_keys="ascending", tiebreaker="dense"))
    return np.where(is_null, 0, ranks)
