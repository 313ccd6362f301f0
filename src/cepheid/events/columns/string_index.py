"""All strings of a stream and their codes, in a compiled hash table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.events.columns.arrow_arrays import shared, to_numpy
from cepheid.events.kernels import string_codes
from cepheid.tuning import tuning

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_NOTHING: Bytes = np.empty(0, dtype=np.uint8)


class StringIndex:
    """Strings in code order; codes are ascending.

    >>> index = StringIndex()
    >>> index.encode(pa.array(["b", None, "a", "b"])).tolist(), index.values.to_pylist()
    ([0, -1, 1, 0], ['b', 'a'])
    >>> index.hold(index.values[1:], index.codes[1:])
    >>> index.encode(pa.array(["a", "b"])).tolist()
    [1, 2]
    """

    def __init__(self) -> None:
        self._state = np.zeros(2, dtype=np.int64)
        self._begins = np.zeros(tuning().string_slots + 1, dtype=np.int64)
        self._codes = np.zeros(tuning().string_slots, dtype=np.int64)
        self._bytes = np.zeros(tuning().string_bytes, dtype=np.uint8)
        self._slots = np.full((tuning().string_slots, 2), string_codes.EMPTY, dtype=np.int64)

    def hold(self, strings: pa.Array, codes: Int64s) -> None:
        """Keep these strings only; the next code stays as it is."""
        begins, data = _parts(strings)
        self._state[0] = count = len(codes)
        size = tuning().string_slots
        while size < 4 * count:
            size *= 2
        held = data[begins[0] : begins[-1]]
        self._begins, self._codes = _grown(begins - begins[0], size + 1), _grown(codes, size)
        self._bytes = _grown(held, max(len(held), tuning().string_bytes))
        self._index(size)

    def __len__(self) -> int:
        return int(self._state[0])

    @property
    def next_code(self) -> int:
        """The code for the next new string."""
        return int(self._state[1])

    @next_code.setter
    def next_code(self, code: int) -> None:
        self._state[1] = code

    @property
    def codes(self) -> Int64s:
        """The codes of all strings."""
        return self._codes[: len(self)]

    @property
    def values(self) -> pa.Array:
        """A copy of all strings."""
        count = len(self)
        begins = self._begins[: count + 1].copy()
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(self._bytes[: begins[-1]].copy())]
        return pa.Array.from_buffers(pa.large_string(), count, buffers)

    def encode(self, strings: pa.Array) -> Int64s:
        """The code of each string; a new string gets the next code, and null gets -1."""
        offsets, data = _parts(strings)
        valid = to_numpy(strings.is_valid()).view(np.uint8) if strings.null_count else _NOTHING
        codes, at = np.empty(len(strings), dtype=np.int64), 0
        given = string_codes.Strings(data, offsets, shared(valid))
        while at < len(codes):
            known = string_codes.Known(
                self._slots, self._begins, self._bytes, self._codes, self._state
            )
            at = string_codes.encode_strings(given, known, codes, at)
            if at < len(codes):
                self._make_room(int(offsets[at + 1] - offsets[at]))
        return codes

    def _make_room(self, length: int) -> None:
        """Grow until there is room for a string of this length."""
        count = len(self)
        if 2 * count >= len(self._slots):
            size = 2 * len(self._slots)
            self._begins, self._codes = _grown(self._begins, size + 1), _grown(self._codes, size)
            self._index(size)
        needed = int(self._begins[count]) + length
        if needed > len(self._bytes):
            self._bytes = _grown(self._bytes, 2 * needed)

    def _index(self, size: int) -> None:
        self._slots = np.full((size, 2), string_codes.EMPTY, dtype=np.int64)
        string_codes.index_strings(self._begins, self._bytes, len(self), self._slots)


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


def _grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    return np.pad(array, (0, size - len(array)))
