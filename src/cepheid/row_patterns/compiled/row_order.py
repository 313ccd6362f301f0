"""The rows of a table by partition, and in the order of ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    from_numpy,
    numbers_of,
    one_array,
    to_numpy,
    without_dictionary,
)
from cepheid.row_patterns import syntax as rows
from cepheid.tuning import tuning

Codes = npt.NDArray[np.int32]

_GROUPS = 512
"""Partitions are first grouped coarsely, so that few places are written to at a time."""


def key_of(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column to compare rows by: NaN is null, and there is one zero."""
    array = without_dictionary(one_array(column))
    if arrow.is_boolean(array.type):
        return array.cast(pa.int8())
    if not arrow.is_floating(array.type):
        return array
    array = array.cast(pa.float64())
    return pc.add(pc.if_else(pc.is_nan(array), None, array), 0.0)


def sorted_rows(table: pa.Table, clause: rows.Clause) -> tuple[Int64s, Int64s]:
    """The rows of a table by partition, each in order, and where each partition begins and ends.

    Partitions are in the order of their first rows in the table.
    """
    keys = [(key_of(table.column(item.column.text)), item) for item in clause.order_by]
    is_sorted = all(_ascends(key, item) for key, item in keys)
    nothing = np.empty(0, np.int64)
    if not table.num_rows:
        return nothing, np.zeros(1, np.int64)
    codes, offsets = _partitions([key_of(table.column(name.text)) for name in clause.partition_by])
    if len(offsets) <= 2:
        order = np.arange(table.num_rows, dtype=np.int64) if is_sorted else _by_columns(keys)
        return order, np.array([0, table.num_rows], np.int64)
    if not is_sorted and len(keys) == 1 and _is_plain(*keys[0]):
        in_order = _grouped(codes, nothing, offsets)
        if _ascends_in_partitions(keys[0][0], in_order, offsets):
            return in_order, offsets
    return _grouped(codes, nothing if is_sorted else _by_columns(keys), offsets), offsets


# --- Order

_Key = tuple[pa.Array, rows.SortItem]


def _by_columns(keys: Sequence[_Key]) -> Int64s:
    """The rows in the order of some columns; each sort keeps the order of the one before."""
    order: Int64s | None = None
    for key, item in reversed(keys):
        if order is None and _ascends(key, item):
            continue
        places = pc.array_sort_indices(
            key if order is None else key.take(from_numpy(order)),
            order="ascending" if item.is_ascending else "descending",
            null_placement="at_start" if item.nulls_first else "at_end",
        )
        sorted_places = to_numpy(places.cast(pa.int64()))
        order = sorted_places if order is None else order[sorted_places]
    assert order is not None
    return order


def _ascends(key: pa.Array, item: rows.SortItem) -> bool:
    """Whether the rows are in the order of a column already."""
    if len(key) < 2 or not _is_plain(key, item):
        return len(key) < 2
    return bool(pc.all(pc.less_equal(key.slice(0, len(key) - 1), key.slice(1))).as_py())


def _ascends_in_partitions(key: pa.Array, order: Int64s, offsets: Int64s) -> bool:
    """Whether the rows of each partition are in the order of a column without nulls."""
    in_order = key.take(from_numpy(order))
    falls = to_numpy(pc.less(in_order.slice(1), in_order.slice(0, len(key) - 1))).copy()
    falls[offsets[1:-1] - 1] = False
    return not falls.any()


def _is_plain(key: pa.Array, item: rows.SortItem) -> bool:
    """Whether a column is to ascend, has no nulls, and is fast to compare."""
    kinds = (arrow.is_integer, arrow.is_floating, arrow.is_timestamp, arrow.is_date)
    return item.is_ascending and not key.null_count and any(test(key.type) for test in kinds)


# --- Partitions


def _partitions(keys: Sequence[pa.Array]) -> tuple[Codes, Int64s]:
    """The number of the partition of each row, and where each partition is to begin and end."""
    if not keys:
        return np.empty(0, np.int32), np.zeros(1, np.int64)
    codes, count = numbered(keys[0])
    for key in keys[1:]:
        more, times = numbered(key)
        codes, count = numbered(from_numpy(codes.astype(np.int64) * times + more))
    sizes = np.zeros(count, np.int64)
    if _is_small(len(codes)):
        sizes += np.bincount(codes)
    else:
        from cepheid.engines.row_pattern.kernels.row_order import count_codes

        count_codes(codes, sizes)
    return codes, np.concatenate(([0], np.cumsum(sizes)))


def numbered(key: pa.Array) -> tuple[Codes, int]:
    """The number of each value, in the order in which they first occur, and how many there are."""
    if not _is_small(len(key)) and (arrow.is_signed_integer(key.type) or arrow.is_date32(key.type)):
        narrow = key.view(pa.int32()) if arrow.is_date32(key.type) else key
        values = narrow.cast(pa.int64())
        least, most = pc.min_max(values).values()
        spread = most.as_py() - least.as_py() + 2 if least.is_valid else 2
        if spread <= 2 * len(key):
            return _numbered_by_table(values, least.as_py() or 0, spread)
    encoded = pc.dictionary_encode(key, null_encoding="encode")
    return to_numpy(encoded.indices.cast(pa.int32())), len(encoded.dictionary)


def _numbered_by_table(values: pa.Array, least: int, spread: int) -> tuple[Codes, int]:
    from cepheid.engines.row_pattern.kernels.row_order import number_values

    codes, numbers = np.empty(len(values), np.int32), np.full(spread, -1, np.int32)
    is_known = np.empty(0, np.bool_)
    if values.null_count:
        is_known, values = to_numpy(values.is_valid()), values.fill_null(least)
    count = number_values(numbers_of(values), is_known, least, numbers, codes)
    return codes, count


def _grouped(codes: Codes, order: Int64s, offsets: Int64s) -> Int64s:
    """The rows by partition, each in the given order; an empty one is that of the rows."""
    if _is_small(len(codes)):
        order = order if len(order) else np.arange(len(codes))
        return order[np.argsort(codes[order], kind="stable")]
    from cepheid.engines.row_pattern.kernels.row_order import group_coarsely, group_rows

    shift = max((len(offsets) - 2).bit_length() - _GROUPS.bit_length() + 1, 0)
    coded, in_order = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    group_coarsely(codes, order, offsets[:-1][:: 1 << shift].copy(), shift, coded)
    group_rows(coded, offsets[:-1].copy(), in_order)
    return in_order


def _is_small(count: int) -> bool:
    """Whether no compiled code is needed; a table of so few rows may need none at all."""
    return count <= tuning().first_run_events or count > tuning().narrow_positions
