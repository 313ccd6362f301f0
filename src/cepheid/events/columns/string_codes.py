"""Integer codes for the strings of a stream, and the results of string operations by code.

All strings are in a compiled hash table, in code order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.analysis.needs import RANK
from cepheid.codegen import layout
from cepheid.events.arrays import Int64s, grown
from cepheid.events.columns.arrow_arrays import (
    from_list,
    from_numpy,
    one_array,
    shared,
    to_numpy,
    without_dictionary,
)
from cepheid.events.columns.string_functions import in_case
from cepheid.events.layout import EMPTY, NULL_CODE, Known, Strings
from cepheid.schema import Kind, kind_of
from cepheid.snapshot_checks import check_values, require
from cepheid.tuning import tuning

Bytes = npt.NDArray[np.uint8]

_NOTHING: Bytes = np.empty(0, dtype=np.uint8)
_PLACES = {
    RANK: layout.STRINGS_RANK,
    "lower": layout.STRINGS_LOWER,
    "upper": layout.STRINGS_UPPER,
    "length": layout.STRINGS_LENGTH,
}


class StringCodes:
    """Integer codes for strings: 0, 1, 2, … in order of first appearance, never reused.

    One object serves all columns and all batches of a run, so that two strings are equal exactly
    when their codes are. The order of codes says nothing about the order of strings. A string
    that was dropped gets another code when it comes back, so only strings that nothing will
    compare again may be dropped.

    ``operations`` are the string operations of conditions, and ``table`` has their results.
    ``computed`` are the computed attributes that were encoded.
    """

    def __init__(self, operations: frozenset[str] = frozenset()) -> None:
        slots = tuning().string_slots
        self._state = np.zeros(2, dtype=np.int64)  # the number of strings, the next code
        self._begins = np.zeros(slots + 1, dtype=np.int64)
        self._codes = np.zeros(slots, dtype=np.int64)
        self._bytes = np.zeros(tuning().string_bytes, dtype=np.uint8)
        self._slots = np.full((slots, 2), EMPTY, dtype=np.int64)
        self._asked: dict[str, int] = {}
        self.table = StringTable(operations)
        self.computed: set[str] = set()

    def __len__(self) -> int:
        return int(self._state[0])

    @property
    def next_code(self) -> int:
        """The code for the next new string."""
        return int(self._state[1])

    @property
    def codes(self) -> Int64s:
        """The codes of all strings, in ascending order."""
        return self._codes[: len(self)]

    @property
    def values(self) -> pa.Array:
        """A copy of all strings, in code order."""
        count = len(self)
        begins = self._begins[: count + 1].copy()
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(self._bytes[: begins[-1]].copy())]
        return pa.Array.from_buffers(pa.large_string(), count, buffers)

    def code(self, string: str) -> int:
        """The code of one string; a string not seen before gets the next one.

        >>> strings = StringCodes()
        >>> strings.code("north"), strings.code("south"), strings.code("north")
        (0, 1, 0)
        """
        if string not in self._asked:
            self._asked[string] = int(self._encode(from_list([string]))[0])
        return self._asked[string]

    def encode(self, column: pa.Array | pa.ChunkedArray) -> Int64s:
        """The codes of a column of strings, plain or dictionary-encoded; null is NULL_CODE.

        >>> StringCodes().encode(pa.array(["b", None, "a", "b"])).tolist()
        [0, -1, 1, 0]
        """
        if pa.types.is_null(column.type):
            return np.full(len(column), NULL_CODE, np.int64)
        if not pa.types.is_dictionary(column.type):
            return self._encode(one_array(column))
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries()
        encoded = one_array(column)
        # Index -1, a null, reads the last element.
        code_at = np.append(self._encode(encoded.dictionary), NULL_CODE)
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
                there = without_dictionary(one_array(column)).unique().cast(known.type)
                wanted |= to_numpy(pc.is_in(known, there, skip_nulls=True))
        for each in codes:
            wanted |= np.isin(self.codes, each)
        self.hold(known.filter(from_numpy(wanted)), self.codes[wanted])

    def hold(self, strings: pa.Array, codes: Int64s) -> None:
        """Keep these strings only; the next code stays as it is."""
        begins, data = _parts(strings)
        self._state[0] = count = len(codes)
        size = tuning().string_slots
        while size < 4 * count:
            size *= 2
        held = data[begins[0] : begins[-1]]
        self._begins, self._codes = grown(begins - begins[0], size + 1), grown(codes, size)
        self._bytes = grown(held, max(len(held), tuning().string_bytes))
        self._asked = {}
        self._index(size)

    def state(self) -> dict[str, Any]:
        """All strings and their codes, as plain data.

        >>> strings = StringCodes()
        >>> _ = strings.encode(pa.array(["b", "a"]))
        >>> strings.state()
        {'codes': {'b': 0, 'a': 1}, 'next': 2}
        """
        codes = dict(zip(self.values.to_pylist(), self.codes.tolist(), strict=True))
        return {"codes": codes, "next": self.next_code}

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], operations: frozenset[str] = frozenset()
    ) -> StringCodes:
        """The codes from the result of :meth:`state`.

        >>> StringCodes.from_state({"codes": {"b": 4}, "next": 7}).code("a")
        7
        """
        check_values(state, {"codes": "object", "next": "count"})
        strings, codes = cls(operations), state["codes"]
        numbers = [-1, *codes.values(), state["next"]]
        are_codes = all(type(number) is int for number in numbers)
        require(are_codes and all(a < b for a, b in pairwise(numbers)), "codes are in no order")
        known = from_list([*codes]) if codes else pa.nulls(0, pa.string())
        strings.hold(known, np.array([*codes.values()], dtype=np.int64))
        strings._state[1] = state["next"]
        return strings

    def _encode(self, strings: pa.Array) -> Int64s:
        """The code of each string; a new string gets the next code, and null gets NULL_CODE."""
        from cepheid.events.kernels.string_codes import encode_strings  # loads the compiler

        offsets, data = _parts(strings)
        valid = to_numpy(strings.is_valid()).view(np.uint8) if strings.null_count else _NOTHING
        codes, at = np.empty(len(strings), dtype=np.int64), 0
        given = Strings(data, offsets, shared(valid))
        while at < len(codes):
            known = Known(self._slots, self._begins, self._bytes, self._codes, self._state)
            at = encode_strings(given, known, codes, at)
            if at < len(codes):
                self._make_room(int(offsets[at + 1] - offsets[at]))
        return codes

    def _make_room(self, length: int) -> None:
        """Grow until there is room for a string of this length."""
        count = len(self)
        if 2 * count >= len(self._slots):
            size = 2 * len(self._slots)
            self._begins, self._codes = grown(self._begins, size + 1), grown(self._codes, size)
            self._index(size)
        needed = int(self._begins[count]) + length
        if needed > len(self._bytes):
            self._bytes = grown(self._bytes, 2 * needed)

    def _index(self, size: int) -> None:
        from cepheid.events.kernels.string_codes import index_strings

        self._slots = np.full((size, 2), EMPTY, dtype=np.int64)
        index_strings(self._begins, self._bytes, len(self), self._slots)


class StringTable:
    """The results of string operations for every known string; rebuilt when the strings change."""

    def __init__(self, operations: frozenset[str]) -> None:
        self._operations = operations
        self._version: tuple[int, int] | None = None
        self._held: list[Int64s] = []
        self._table = np.zeros(layout.STRINGS_FIELDS, dtype=np.int64)

    def address(self, strings: StringCodes) -> int:
        """The address of the up-to-date table; 0 if conditions use no string operation.

        >>> strings = StringCodes()
        >>> codes = strings.encode(pa.array(["pear", "apple"]))
        >>> table = StringTable(frozenset(["rank"]))
        >>> table.address(strings) > 0, table.values("rank").tolist()
        (True, [1, 0])
        """
        if not self._operations:
            return 0
        if self._version != (strings.next_code, len(strings)):
            self._make(strings)
        return int(self._table.ctypes.data)

    def values(self, operation: str) -> Int64s:
        """The results of an operation for each string, in code order."""
        return self._held[1 + sorted(self._operations).index(operation)]

    def _make(self, strings: StringCodes) -> None:
        known = pa.nulls(0, pa.string())
        # lower and upper can make new strings, which need results too.
        while len(known) < len(strings):
            known = strings.values
            for name in sorted(self._operations & {"lower", "upper"}):
                _results(name, known, strings)
        self._held = [strings.codes.copy()]
        self._table[layout.STRINGS_COUNT] = len(strings)
        self._table[layout.STRINGS_CODES] = self._held[0].ctypes.data
        for name in sorted(self._operations):
            values = _results(name, known, strings)
            self._held.append(values)
            self._table[_PLACES[name]] = values.ctypes.data
        self._version = strings.next_code, len(strings)


def _results(operation: str, known: pa.Array, strings: StringCodes) -> Int64s:
    """The results for all strings: ranks by code points, lengths, or the codes of strings."""
    if operation == RANK:
        rank = np.empty(len(known), dtype=np.int64)
        rank[pc.sort_indices(known).to_numpy()] = np.arange(len(known))
        return rank
    if operation == "length":
        return to_numpy(pc.utf8_length(known)).astype(np.int64)
    return strings.encode(in_case(operation, known))


def _parts(strings: pa.Array) -> tuple[Int64s, Bytes]:
    """The offset where each string begins and the last one ends, and the bytes they point into."""
    if not pa.types.is_large_string(strings.type):
        strings = strings.cast(pa.large_string())
    if not len(strings):
        return np.zeros(1, dtype=np.int64), _NOTHING
    _, offsets, data = strings.buffers()
    begins = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    found = _NOTHING if data is None else np.frombuffer(data, np.uint8)
    return shared(begins), shared(found)
