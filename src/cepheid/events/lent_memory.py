"""Memory that is used again when nobody holds it any more.

What a batch of events needs is as long as the batch, lives about as long, and comes again with the
next one. The system takes fresh memory back and gives it out page by page, which costs several
times what is then done with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.runtime.bindings import Int64s

_MOST_IDLE = 64 << 20
"""How many bytes of memory that nobody holds are kept for one purpose, beside a first piece."""
_LEAST, _MOST = 1 << 12, 1 << 17
"""Arrays of fewer numbers cost little, and those of more are rare."""


class _Lent:
    """Memory for an array, given back to where it came from when the last view of it is gone."""

    # When the interpreter ends, a last view may outlive the names of this module.
    _most_idle = _MOST_IDLE

    def __init__(self, memory: npt.NDArray[Any], idle: list[npt.NDArray[Any]]) -> None:
        self._memory = memory
        self._idle = idle
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        if len(self._idle) * self._memory.nbytes < self._most_idle:
            self._idle.append(self._memory)


def lent(memory: npt.NDArray[Any], idle: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The array; when no view of it is left, its memory is added to those that are idle."""
    return np.asarray(_Lent(memory, idle))


_IDLE: list[npt.NDArray[Any]] = []


def lent_numbers(size: int) -> Int64s:
    """An array of int64 that are not set, as long as a batch.

    >>> first = lent_numbers(50_000)
    >>> address = first.ctypes.data
    >>> del first
    >>> lent_numbers(60_000).ctypes.data == address
    True
    """
    if not _LEAST <= size <= _MOST:
        return np.empty(size, np.int64)
    try:
        memory = _IDLE.pop()
    except IndexError:
        memory = np.empty(_MOST, np.int64)
    return lent(memory, _IDLE)[:size]
