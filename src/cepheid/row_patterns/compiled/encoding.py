"""Columns as the numbers that kernels compare and add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.columns.arrow_arrays import numbers_of, plain_decimals, to_numpy
from cepheid.events.columns.column_arithmetic import whole_numbers, without_nan
from cepheid.events.conforming import ARROW_TYPE
from cepheid.schema import Kind

Numbers = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

MADE = set(ARROW_TYPE) - {Kind.LIST}
"""The kinds of measures whose type is known before their values."""


def plain(array: pa.Array) -> pa.Array:
    """Integers, floats without NaN, strings, or microseconds as integers.

    >>> plain(pa.array([1.5, float("nan")])).to_pylist(), plain(pa.array([True])).to_pylist()
    ([1.5, None], [1])
    """
    kind = array.type
    if arrow.is_decimal(kind):
        array = plain_decimals(array)
    elif arrow.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    elif arrow.is_date(kind):
        array = array.cast(pa.timestamp("us"))
    elif arrow.is_duration(kind):
        array = array.cast(pa.duration("us"), safe=False)
    if arrow.is_floating(array.type):
        return without_nan(array.cast(pa.float64()))
    if arrow.is_string(kind) or arrow.is_large_string(kind) or arrow.is_string_view(kind):
        return array.cast(pa.string())
    return whole_numbers(array) if arrow.is_integer(kind) else array.cast(pa.int64())


def type_of_extreme(kind: pa.DataType, usual: pa.DataType) -> pa.DataType:
    """The type of min and max of a column: a time keeps its zone, and its nanoseconds."""
    if arrow.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us", kind.tz)
    return kind if arrow.is_duration(kind) and kind.unit == "ns" else usual


def ranked(arrays: Sequence[pa.Array]) -> pa.Array:
    """All strings, each once, in order."""
    unique = pc.unique(pa.chunked_array(arrays, pa.string())).drop_null()
    return unique.take(pc.array_sort_indices(unique))


def ranks(strings: pa.Array, known: pa.Array) -> pa.Array:
    """The place of each string among the known ones."""
    return pc.index_in(strings, known, skip_nulls=True).cast(pa.int64())


def filled(array: pa.Array) -> tuple[Numbers, Bools]:
    """The numbers, and where there are some; 0 where there is none."""
    valid = to_numpy(array.is_valid())
    return numbers_of(array.fill_null(0) if array.null_count else array), valid


def plain_numbers(array: pa.Array) -> tuple[Numbers, Bools]:
    """Numbers in the order of the values, and where there are some."""
    values = plain(array)
    if arrow.is_string(values.type):
        values = ranks(values, ranked([values]))
    return filled(values)
