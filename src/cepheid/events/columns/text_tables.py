"""The order of all texts that are known, and functions of them, by their codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.analysis.text_operations import RANK
from cepheid.codegen import layout
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_list
from cepheid.functions import find_function

if TYPE_CHECKING:
    from cepheid.events.columns.encoding import StringCodes

_PLACES = {
    RANK: layout.TEXTS_RANK,
    "lower": layout.TEXTS_LOWER,
    "upper": layout.TEXTS_UPPER,
    "length": layout.TEXTS_LENGTH,
}


class TextTable:
    """What conditions ask of texts, made anew when there are other texts than before."""

    def __init__(self, operations: frozenset[str]) -> None:
        self._operations = operations
        self._texts: tuple[int, int] | None = None
        self._held: list[Int64s] = []
        self._table = np.zeros(layout.TEXTS_FIELDS, dtype=np.int64)

    def address(self, strings: StringCodes) -> int:
        """Where the table of all texts is; 0 where nothing is asked of them.

        >>> from cepheid.events.columns.encoding import StringCodes
        >>> strings = StringCodes()
        >>> codes = strings.encode(pa.array(["pear", "apple"]))
        >>> table = TextTable(frozenset(["rank"]))
        >>> table.address(strings) > 0, table.values("rank").tolist()
        (True, [1, 0])
        """
        if not self._operations:
            return 0
        if self._texts != strings.version:
            self._make(strings)
        return int(self._table.ctypes.data)

    def values(self, operation: str) -> Int64s:
        """What an operation gives for each text, in the order of their codes."""
        return self._held[1 + sorted(self._operations).index(operation)]

    def _make(self, strings: StringCodes) -> None:
        functions = [
            (name, _text_function(name)) for name in ("lower", "upper") if name in self._operations
        ]
        count = -1
        while count < len(strings):  # A function of a text is a text that may be asked about.
            count = len(strings)
            for _, function in functions:
                strings.encode(from_list([function(text) for text in strings.texts.to_pylist()]))
        texts = strings.texts.to_pylist()
        self._held = [strings.codes.copy()]
        self._table[layout.TEXTS_COUNT] = len(texts)
        self._table[layout.TEXTS_CODES] = self._held[0].ctypes.data
        for name in sorted(self._operations):
            values = _rank(texts) if name == RANK else _mapped(name, texts, strings)
            self._held.append(values)
            self._table[_PLACES[name]] = values.ctypes.data
        self._texts = strings.version


def _text_function(name: str) -> Callable[[str], str]:
    function = find_function(name)
    assert function is not None
    return function


def _rank(texts: list[str]) -> Int64s:
    """The place of each text in their order, which is that of their code points."""
    rank = np.empty(len(texts), dtype=np.int64)
    rank[pc.sort_indices(pa.array(texts, pa.string())).to_numpy()] = np.arange(len(texts))
    return rank


def _mapped(name: str, texts: list[str], strings: StringCodes) -> Int64s:
    if name == "length":
        return np.fromiter(map(len, texts), np.int64, len(texts))
    function = _text_function(name)
    return strings.encode(from_list([function(text) for text in texts]))
