"""Conversion between Arrow arrays and NumPy arrays or plain Python values, by their memory.

``pyarrow.array`` and ``to_numpy`` import pandas if it is installed, to check for pandas objects.
That takes longer than finding the first matches of a query. These functions give the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError
from cepheid.events.arrays import Int64s

_MOST_BYTES = 2**31 - 1
"""The most bytes that the offsets of a string array can address."""
_EXACT = 2**53
"""Integers up to this are exact as floats."""
_PLAIN = {
    each.id: (np.dtype(each.to_pandas_dtype()).str, each.bit_width // 8)
    for each in (pa.int32(), pa.int64(), pa.float64())
}
"""NumPy's name of some types of numbers, and their width in bytes, by the number of the type."""
_EXACT_POWER = 22
"""Powers of ten up to this exponent are exact as floats."""


def from_numpy(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The numbers or booleans as an Arrow array, null where they are ``missing``.

    Contiguous numbers are not copied.

    >>> from_numpy(np.array([3, 4]), np.array([False, True])).to_pylist()
    [3, None]
    >>> from_numpy(np.array([True, False, True])).to_pylist()
    [True, False, True]
    """
    valid = None if missing is None or not missing.any() else _bits(~missing)
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers or booleans of an Arrow array without nulls; numbers are not copied.

    >>> to_numpy(pa.array([3, 4, 5])[1:]).tolist(), to_numpy(pa.array([True, False])).tolist()
    ([4, 5], [True, False])
    """
    assert not array.null_count
    data, low, high = array.buffers()[1], array.offset, array.offset + len(array)
    if not len(array):
        return np.empty(0, array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        flags = np.unpackbits(np.frombuffer(data, np.uint8), count=high, bitorder="little")
        return flags[low:].view(np.bool_)
    numbers: npt.NDArray[Any] = np.frombuffer(data, array.type.to_pandas_dtype())
    return numbers[low:high]


class _Unprotected:
    """Exposes the read-only memory of an array to NumPy."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = values  # keeps the memory alive
        address = values.__array_interface__["data"][0]
        self.__array_interface__ = {**values.__array_interface__, "data": (address, False)}


class _Memory:
    """Exposes the memory of an Arrow array to NumPy, as numbers that may be written to."""

    def __init__(self, array: pa.Array, code: str, width: int) -> None:
        self._data = array.buffers()[1]  # keeps the memory alive
        self.__array_interface__ = {
            "version": 3,
            "shape": (len(array),),
            "typestr": code,
            "data": (self._data.address + width * array.offset, False),
        }


def shared(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in the form that kernels accept, without a copy; it must not be written to.

    >>> column = np.frombuffer(b"abcd", np.uint8)
    >>> np.shares_memory(shared(column), column)
    True
    """
    flags = values.flags
    if not (flags.c_contiguous and flags.aligned and len(values)):
        return np.require(values, requirements=("C", "A", "W"))
    return values if flags.writeable else np.asarray(_Unprotected(values))


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers of an Arrow array without nulls, in the form that kernels accept.

    They are not copied, and must not be written to.

    >>> column = pa.array([1, 2, 3])
    >>> numbers_of(column[1:]).tolist(), np.shares_memory(numbers_of(column), to_numpy(column))
    ([2, 3], True)
    """
    dtype = _PLAIN.get(array.type.id)
    if dtype is None or not len(array):
        return shared(to_numpy(array))
    assert not array.null_count
    return np.asarray(_Memory(array, *dtype))


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; copied only if it has several chunks.

    >>> one_array(pa.chunked_array([[1], [2, 3]])).to_pylist()
    [1, 2, 3]
    """
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def column_named(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of a table with distinct names; several times as fast as ``table.column(name)``.

    >>> column_named(pa.table({"ts": [1], "x": [5]}), "x").to_pylist()
    [5]
    """
    index = table.schema.get_field_index(name)
    return table.column(name if index < 0 else index)


def without_dictionary(array: pa.Array) -> pa.Array:
    """The values of an array that may be dictionary-encoded."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def in_microseconds(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Times and durations in whole microseconds, also inside lists and structs.

    >>> in_microseconds(pa.array([1999], pa.timestamp("ns"))).cast(pa.int64()).to_pylist()
    [1]
    """
    wanted = _coarse(column.type)
    return column if wanted == column.type else column.cast(wanted, safe=False)


def _coarse(kind: pa.DataType) -> pa.DataType:
    if arrow.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if arrow.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if arrow.is_time64(kind):
        return pa.time64("us")
    if arrow.is_struct(kind):
        return pa.struct([each.with_type(_coarse(each.type)) for each in kind])
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        make = pa.list_ if arrow.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(_coarse(kind.value_type)))
    return kind


def from_list(values: Any) -> pa.Array | pa.ChunkedArray:
    """A list or array of values as an Arrow array, of the type that Arrow infers; None is null.

    NaN among strings is null too: pandas uses it for a missing string.

    >>> from_list(["north", None, "südlich"]).to_pylist()
    ['north', None, 'südlich']
    >>> from_list(["north", float("nan")]).to_pylist()
    ['north', None]
    >>> from_list([1, None]).type, from_list([1, 2.5]).type, from_list([[1], []]).type
    (DataType(int64), DataType(double), ListType(list<item: int64>))
    """
    if not isinstance(values, list):
        return _found(values)
    found = set(map(type, values))
    kinds = found - {type(None)}
    make = _MAKERS.get(kinds.pop()) if len(kinds) == 1 else None
    if make is None:
        return _found(values)
    missing = None
    if type(None) in found:
        missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return make(values, missing)


def _found(values: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(values, from_pandas=True)


def plain_decimals(array: pa.Array) -> pa.Array:
    """Decimals without fractional digits as int64, others as the nearest float64.

    Arrow's own cast multiplies by a power of ten that is not a float. It converts 3.30 to
    3.3000000000000003, which is not equal to 3.3.

    >>> from decimal import Decimal
    >>> plain_decimals(pa.array([Decimal("3.30"), None])).to_pylist()
    [3.3, None]
    >>> plain_decimals(pa.array([Decimal(2**53 + 1)])).to_pylist() == [2**53 + 1]
    True

    Raises:
        EventError: an integer does not fit into 64 bits.
    """
    scale = array.type.scale
    if scale <= 0:
        return _whole_decimals(array)
    if arrow.is_decimal128(array.type) and scale <= _EXACT_POWER:
        low, high = _words(array)
        missing = to_numpy(array.is_null())
        # The quotient of two floats is the float nearest to the exact quotient.
        if (missing | ((high == low >> 63) & (low <= _EXACT) & (low >= -_EXACT))).all():
            return from_numpy(low / 10.0**scale, missing)
    return array.cast(pa.string()).cast(pa.float64())


def _whole_decimals(array: pa.Array) -> pa.Array:
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        raise EventError(
            f"a column of type {array.type} has a number that does not fit into 64 bits; make it a "
            "string if it is an id: column.cast(pyarrow.string())"
        ) from None


def _words(array: pa.Array) -> tuple[Int64s, Int64s]:
    """The low and the high 64 bits of each unscaled number."""
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    words = words[array.offset : array.offset + len(array)]
    return words[:, 0], words[:, 1]


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table with the columns of a schema and no rows.

    >>> empty_table(pa.schema([("ts", pa.int64())])).shape
    (0, 1)
    """
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _numbers(dtype: type) -> Callable[..., pa.Array]:
    def make(values: list[Any], missing: npt.NDArray[np.bool_] | None) -> pa.Array:
        try:
            given = values if missing is None else [value or 0 for value in values]
            return from_numpy(np.fromiter(given, dtype, len(values)), missing)
        except OverflowError:  # Arrow finds a wider type, or reports the error.
            return pa.array(values)

    return make


def _strings(values: list[Any], missing: npt.NDArray[np.bool_] | None) -> pa.Array:
    encoded = [text.encode() if text else b"" for text in values]
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(values)), out=offsets[1:])
    if offsets[-1] > _MOST_BYTES:
        return pa.array(values)
    valid = None if missing is None else _bits(~missing)
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


_MAKERS: dict[object, Callable[..., pa.Array]] = {
    int: _numbers(np.int64),
    float: _numbers(np.float64),
    bool: _numbers(np.bool_),
    str: _strings,
}
