"""Arrow columns as the arrays that kernels read.

Kernels use int64 and float64 only, and no nulls. A column becomes an array of one of these types
and, if values are missing, an array that says which values are there. The dtype depends on the
column's type alone, never on its values, so that every batch of a stream fits the same compiled
kernel. Kernels are compiled for contiguous, writable arrays, so every array is flagged as such.
It may still be the memory of the column itself: nothing may write to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import from_list, from_numpy, numbers_of, to_numpy
from cepheid.events.columns.decimals import plain_decimals
from cepheid.events.columns.string_index import StringIndex
from cepheid.events.columns.string_tables import StringTable
from cepheid.schema import Kind, kind_of

Int64s = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NULL_CODE = -1


class StringCodes:
    """Integer codes for strings: 0, 1, 2, … in order of first appearance, never reused.

    One object serves all columns and all batches of a run, so that two strings are equal exactly
    when their codes are. The order of codes says nothing about the order of strings. A string
    that was dropped gets another code when it comes back, so only strings that nothing will
    compare again may be dropped.

    ``operations`` are the string operations of conditions, and ``table`` has their results.
    """

    def __init__(self, operations: frozenset[str] = frozenset()) -> None:
        self._index = StringIndex()
        self._asked: dict[str, int] = {}
        self.table = StringTable(operations)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def values(self) -> pa.Array:
        """All strings, in code order."""
        return self._index.values

    @property
    def codes(self) -> Int64s:
        """The codes of all strings."""
        return self._index.codes

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes whenever the set of strings changes."""
        return self._index.next_code, len(self._index)

    def code(self, string: str) -> int:
        """The code of one string; a string not seen before gets the next one.

        >>> strings = StringCodes()
        >>> strings.code("north"), strings.code("south"), strings.code("north")
        (0, 1, 0)
        """
        if string not in self._asked:
            self._asked[string] = int(self._index.encode(from_list([string]))[0])
        return self._asked[string]

    def encode(self, column: pa.Array | pa.ChunkedArray) -> Int64s:
        """The codes of a column of strings, plain or dictionary-encoded; null is NULL_CODE.

        >>> StringCodes().encode(pa.array(["b", None, "a", "b"])).tolist()
        [0, -1, 1, 0]
        """
        if pa.types.is_null(column.type):
            return np.full(len(column), NULL_CODE, np.int64)
        if not pa.types.is_dictionary(column.type):
            return self._index.encode(one_array(column))
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries()
        encoded = one_array(column)
        # Index -1, a null, reads the last element.
        code_at = np.append(self._index.encode(encoded.dictionary), NULL_CODE)
        indices = encoded.indices.cast(pa.int64()).fill_null(NULL_CODE)
        result: Int64s = code_at[to_numpy(indices)]
        return result

    def keep_only(self, columns: Iterable[pa.ChunkedArray], codes: Sequence[Int64s] = ()) -> None:
        """Drop the strings that are in none of these columns of strings or lists of strings.

        Strings with one of the ``codes`` are kept, too.

        >>> strings = StringCodes()
        >>> _ = strings.encode(pa.array(["north", "south"]))
        >>> strings.keep_only([pa.chunked_array([["south"]])])
        >>> len(strings), strings.code("south"), strings.code("north")
        (1, 1, 2)
        """
        known = self.values
        wanted = np.zeros(len(known), dtype=np.bool_)
        for column in columns:
            while kind_of(column.type) is Kind.LIST:
                column = pc.list_flatten(column)
            if kind_of(column.type) is Kind.STRING:
                there = _undictionary(one_array(column)).unique().cast(known.type)
                wanted |= to_numpy(pc.is_in(known, there, skip_nulls=True))
        for each in codes:
            wanted |= np.isin(self.codes, each)
        self._index.hold(known.filter(from_numpy(wanted)), self.codes[wanted])
        self._asked = {}

    def state(self) -> dict[str, Any]:
        """All strings and their codes, as plain data.

        >>> strings = StringCodes()
        >>> _ = strings.encode(pa.array(["b", "a"]))
        >>> strings.state()
        {'codes': {'b': 0, 'a': 1}, 'next': 2}
        """
        codes = dict(zip(self.values.to_pylist(), self.codes.tolist(), strict=True))
        return {"codes": codes, "next": self._index.next_code}

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], operations: frozenset[str] = frozenset()
    ) -> StringCodes:
        """The codes from the result of :meth:`state`.

        >>> StringCodes.from_state({"codes": {"b": 4}, "next": 7}).code("a")
        7
        """
        strings, codes = cls(operations), state["codes"]
        known = from_list([*codes]) if codes else pa.nulls(0, pa.string())
        strings._index.hold(known, np.array([*codes.values()], dtype=np.int64))
        strings._index.next_code = state["next"]
        return strings


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
        return _encode_scalars(_undictionary(one_array(column)), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        subject = "a column" if name is None else f"attribute {name!r}"
        raise EventError(
            f"{subject} of type {column.type} has a value that cannot be kept exactly: "
            f"{' '.join(str(error).split())}"
            if isinstance(error, pa.ArrowInvalid)
            else f"{subject} has type {column.type}, which conditions cannot use"
        ) from error


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; copied only if it has several chunks.

    >>> one_array(pa.chunked_array([[1], [2, 3]])).to_pylist()
    [1, 2, 3]
    """
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def writable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is contiguous, aligned and writable, otherwise a copy that is.

    >>> writable(pa.array([1, 2]).to_numpy()).flags.writeable
    True
    """
    return np.require(values, requirements=("C", "A", "W"))


def _undictionary(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


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
    elements = _undictionary(array.flatten())  # Leaves out the elements of null lists.
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
