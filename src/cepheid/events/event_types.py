"""The types of events, read from their column: a code for each event, and a name for each code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import numbers_of, one_array, to_numpy
from cepheid.events.columns.string_codes import StringCodes
from cepheid.schema import Kind, kind_of

_FEW = 64
"""Up to this many strings are numbered by Python: a hash table of bytes takes longer to make."""
_KINDS = (Kind.STRING, Kind.INTEGER, Kind.BOOLEAN, Kind.UNKNOWN)
"""The kinds of the names of types; a column without values is of no kind yet."""
_AT_ONCE = 65_536
"""How many strings are encoded in one step; their codes stay in the CPU cache."""


def read_types(name: str, column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """The type of each event as an index into the type names.

    >>> codes, names = read_types("type", pa.chunked_array([["Shelf", "Exit", "Shelf"]]))
    >>> codes.tolist(), names
    ([0, 1, 0], ('Shelf', 'Exit'))
    """
    if not len(column):  # The columns of an empty pandas frame are floats.
        return np.empty(0, np.int32), ()
    kind = kind_of(column.type)
    if kind not in _KINDS:
        raise EventError(
            f"type column {name!r} is {column.type}; the name of a type is a string, an integer "
            "or a boolean"
        )
    is_null = kind is Kind.UNKNOWN
    array = one_array(column.cast(pa.string()) if is_null else column)
    is_coded = pa.types.is_dictionary(array.type)
    is_string = not is_coded and (kind is Kind.STRING or is_null)
    codes, names = _string_codes(array) if is_string else _dictionary_codes(array)
    if (array.null_count or is_coded) and codes.min() < 0:
        nulls = codes < 0
        raise EventError(
            f"type column {name!r} is null in {int(nulls.sum())} of {len(codes)} events, first in "
            f"row {int(np.flatnonzero(nulls)[0])} (counting from 0); an event needs a type: "
            "drop such rows or fill it in"
        )
    return codes, names


def _string_codes(array: pa.Array) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Strings as indices into the distinct strings; null is -1."""
    if len(array) <= _FEW:
        return _numbered(array.to_pylist())
    strings, codes = StringCodes(), np.empty(len(array), np.int32)
    for low in range(0, len(codes), _AT_ONCE):
        codes[low : low + _AT_ONCE] = strings.encode(array.slice(low, _AT_ONCE))
    return codes, tuple(strings.values.to_pylist())


def _dictionary_codes(array: pa.Array) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """The same for dictionary-encoded strings, and for other values converted to strings."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    # A dictionary may hold a name twice, or null.
    strings = encoded.dictionary.cast(pa.string()).to_pylist()
    code_at, names = _numbered([*strings, None])
    if not encoded.indices.null_count and (code_at[:-1] == np.arange(len(strings))).all():
        return numbers_of(encoded.indices.cast(pa.int32())), names
    indices = to_numpy(encoded.indices.cast(pa.int64()).fill_null(-1))
    return code_at[indices], names


def _numbered(strings: list[str | None]) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """The number of each string among the distinct strings, and these; None is -1."""
    code_of: dict[str | None, int] = {None: -1}
    for string in strings:
        code_of.setdefault(string, len(code_of) - 1)
    names = tuple(string for string in code_of if string is not None)
    return np.array([*map(code_of.__getitem__, strings)], np.int32), names
