"""Arrow columns as the arrays that kernels read.

Kernels use int64 and float64 only, and no nulls. A column becomes an array of one of these types
and, if values are missing, an array that says which values are there. The dtype depends on the
column's type alone, never on its values, so that every batch of a stream fits the same compiled
kernel. Kernels are compiled for contiguous, writable arrays, so every array is flagged as such.
It may still be the memory of the column itself: nothing may write to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import (
    numbers_of,
    one_array,
    plain_decimals,
    to_numpy,
    without_dictionary,
)
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.layout import NULL_CODE
from cepheid.schema import Kind, kind_of

Int64s = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn:
    """One attribute of every event, for kernels.

    ``values`` are int64 (integers, booleans, string codes, ticks of ``unit``) or float64. Where
    ``valid`` is False they are NaN for floats, NULL_CODE for strings, and 0 otherwise. ``valid`` is
    None if no value is missing. NaN counts as missing.

    The list of event i is ``values[offsets[i] : offsets[i + 1]]``: string codes, or floats (also
    for integers). A missing element is NULL_CODE or NaN, and a missing list is empty.
    """

    values: Numbers
    valid: Bools | None = None
    offsets: Int64s | None = None
    unit: str | None = None

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1


_PLAIN = pa.int64()


def encode_column(
    column: pa.Array | pa.ChunkedArray, strings: StringCodes, *, name: str | None = None
) -> EncodedColumn:
    """A column as arrays; ``name`` is the attribute in error messages.

    >>> encode_column(pa.array([3, None]), StringCodes())
    EncodedColumn(values=array([3, 0]), valid=array([ True, False]), offsets=None, unit=None)
    >>> encode_column(pa.array([[1, 2], []]), StringCodes()).offsets.tolist()
    [0, 2, 2]
    """
    if column.type == _PLAIN and not column.null_count:
        return EncodedColumn(numbers_of(one_array(column)))
    kind = kind_of(column.type)
    try:
        if kind is Kind.STRING:
            codes = strings.encode(column)
            return EncodedColumn(codes, _all_or(codes != NULL_CODE))
        if kind is Kind.LIST:
            return _encode_list(one_array(column), strings)
        return _encode_scalars(without_dictionary(one_array(column)), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        subject = "a column" if name is None else f"attribute {name!r}"
        raise EventError(
            f"{subject} of type {column.type} has a value that cannot be kept exactly: "
            f"{' '.join(str(error).split())}"
            if isinstance(error, pa.ArrowInvalid)
            else f"{subject} has type {column.type}, which conditions cannot use"
        ) from error


def writable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is contiguous, aligned and writable, otherwise a copy that is.

    >>> writable(pa.array([1, 2]).to_numpy()).flags.writeable
    True
    """
    return np.require(values, requirements=("C", "A", "W"))


def _all_or(valid: Bools) -> Bools | None:
    """The array, or None if all values are True."""
    return None if bool(valid.all()) else valid


def _valid(array: pa.Array) -> Bools | None:
    return to_numpy(array.is_valid()) if array.null_count else None


def _encode_scalars(array: pa.Array, kind: Kind) -> EncodedColumn:
    if pa.types.is_decimal(array.type):
        array = plain_decimals(array)
    if kind is Kind.FLOAT or pa.types.is_null(array.type):
        floats = _floats(array)
        return EncodedColumn(floats, _all_or(~np.isnan(floats)))
    unit = None
    if kind in (Kind.TIMESTAMP, Kind.DATE, Kind.DURATION):
        unit = "ns" if kind is not Kind.DATE and array.type.unit == "ns" else "us"
        zone = array.type.tz if kind is Kind.TIMESTAMP else None
        ticks = pa.duration(unit) if kind is Kind.DURATION else pa.timestamp(unit, zone)
        array = array.cast(ticks)
    elif kind not in (Kind.INTEGER, Kind.BOOLEAN):
        raise pa.ArrowNotImplementedError(str(array.type))
    integers = array if array.type == pa.int64() else array.cast(pa.int64())
    if integers.null_count:
        integers = integers.fill_null(0)
    return EncodedColumn(numbers_of(integers), _valid(array), unit=unit)


def _floats(array: pa.Array) -> npt.NDArray[np.float64]:
    floats = array.cast(pa.float64())
    if floats.null_count:
        floats = floats.fill_null(float("nan"))
    return numbers_of(floats)


def _encode_list(array: pa.Array, strings: StringCodes) -> EncodedColumn:
    lengths = to_numpy(pc.list_value_length(array).fill_null(0).cast(pa.int64()))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    elements = without_dictionary(array.flatten())  # Leaves out the elements of null lists.
    kind = kind_of(elements.type)
    if pa.types.is_decimal(elements.type):
        elements = plain_decimals(elements)
    values: Numbers
    if kind is Kind.STRING:
        values = strings.encode(elements)
    elif kind in (Kind.INTEGER, Kind.FLOAT) or pa.types.is_null(elements.type):
        values = _floats(elements)
    elif kind is Kind.BOOLEAN:
        values = _floats(elements.cast(pa.int64()))
    else:
        raise pa.ArrowNotImplementedError(str(array.type))
    return EncodedColumn(values, _valid(array), offsets)
