"""Arrays of numbers: their types, how they grow, and how their memory is reused.

The arrays of a batch are as long as the batch, live about as long, and the next batch needs the
same ones. Fresh memory from the operating system arrives page by page, which costs several times
as much as the work that is done with it.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.budget import budget_in_force

Int64s = npt.NDArray[np.int64]
PositionArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""Positions of events; those of a window or a file usually fit into four bytes."""


_SMALL = 1 << 16
"""Smaller arrays are not charged to a budget."""


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros, charged to the budget in force until it is freed.

    Raises:
        OverBudget: the run may not take this much memory.
    """
    budget = budget_in_force()
    if budget is None:
        return np.zeros(shape, dtype=dtype)
    size = np.dtype(dtype).itemsize * math.prod(shape if isinstance(shape, tuple) else (shape,))
    if size < _SMALL:
        return np.zeros(shape, dtype=dtype)
    budget.charge(size)
    new = np.zeros(shape, dtype=dtype)
    weakref.finalize(new, budget.release, size).atexit = False
    return new


def int64s(size: int) -> Int64s:
    """An array of zeros."""
    return zeros(size, np.int64)


def no_rows(dtype: npt.DTypeLike, dimensions: int = 1) -> npt.NDArray[Any]:
    """An empty array: the default of a field in a NamedTuple of arrays that a kernel takes."""
    return np.zeros((0,) * dimensions, dtype=dtype)


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """A copy of the array with room for ``size`` rows."""
    new = zeros((size, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


def padded(array: Int64s, size: int) -> Int64s:
    """The first ``size`` numbers, padded with zeros."""
    out = int64s(size)
    out[: len(array)] = array[:size]
    return out


def address_of(array: npt.NDArray[Any]) -> int:
    """The address of the first element; faster than ``array.ctypes``."""
    address: int = array.__array_interface__["data"][0]
    return address


_MOST_IDLE = 64 << 20
"""Idle memory kept for one purpose, in bytes, beyond the first piece."""
_LEAST, _MOST = 1 << 12, 1 << 17
"""Smaller arrays are cheap to allocate, and larger ones are rare."""


class _Lent:
    """Memory for an array, which is returned when the last view of it is gone."""

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
    """The array; its memory becomes idle when no view of the array is left."""
    return np.asarray(_Lent(memory, idle))


_IDLE: list[npt.NDArray[Any]] = []


def lent_numbers(size: int) -> Int64s:
    """An uninitialised int64 array of the length of a batch.

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
