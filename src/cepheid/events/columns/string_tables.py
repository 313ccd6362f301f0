"""Ranks and functions of all known strings, looked up by string code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.analysis.needs import RANK
from cepheid.codegen import layout
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_list
from cepheid.functions import find_function

if TYPE_CHECKING:
    from cepheid.events.columns.encoding import StringCodes

_PLACES = {
    RANK: layout.STRINGS_RANK,
    "lower": layout.STRINGS_LOWER,
    "upper": layout.STRINGS_UPPER,
    "length": layout.STRINGS_LENGTH,
}


class StringTable:
    """The results of string operations for every known string; rebuilt when the strings change."""

    def __init__(self, operations: frozenset[str]) -> None:
        self._operations = operations
        self._version: tuple[int, int] | None = None
        self._held: list[Int64s] = []
        self._table = np.zeros(layout.STRINGS_FIELDS, dtype=np.int64)

    def address(self, strings: StringCodes) -> int:
        """The address of the up-to-date table; 0 if conditions use no string operation.

        >>> from cepheid.events.columns.encoding import StringCodes
        >>> strings = StringCodes()
        >>> codes = strings.encode(pa.array(["pear", "apple"]))
        >>> table = StringTable(frozenset(["rank"]))
        >>> table.address(strings) > 0, table.values("rank").tolist()
        (True, [1, 0])
        """
        if not self._operations:
            return 0
        if self._version != strings.version:
            self._make(strings)
        return int(self._table.ctypes.data)

    def values(self, operation: str) -> Int64s:
        """The results of an operation for each string, in code order."""
        return self._held[1 + sorted(self._operations).index(operation)]

    def _make(self, strings: StringCodes) -> None:
        functions = [
            (name, _string_function(name))
            for name in ("lower", "upper")
            if name in self._operations
        ]
        count = -1
        while count < len(strings):  # lower and upper can make new strings, which need results too.
            count = len(strings)
            for _, function in functions:
                strings.encode(from_list([function(each) for each in strings.values.to_pylist()]))
        known = strings.values.to_pylist()
        self._held = [strings.codes.copy()]
        self._table[layout.STRINGS_COUNT] = len(known)
        self._table[layout.STRINGS_CODES] = self._held[0].ctypes.data
        for name in sorted(self._operations):
            values = _rank(known) if name == RANK else _mapped(name, known, strings)
            self._held.append(values)
            self._table[_PLACES[name]] = values.ctypes.data
        self._version = strings.version


def _string_function(name: str) -> Callable[[str], str]:
    function = find_function(name)
    assert function is not None
    return function


def _rank(known: list[str]) -> Int64s:
    """The rank of each string when they are sorted by code points."""
    rank = np.empty(len(known), dtype=np.int64)
    rank[pc.sort_indices(pa.array(known, pa.string())).to_numpy()] = np.arange(len(known))
    return rank


def _mapped(name: str, known: list[str], strings: StringCodes) -> Int64s:
    if name == "length":
        return np.fromiter(map(len, known), np.int64, len(known))
    function = _string_function(name)
    return strings.encode(from_list([function(each) for each in known]))
