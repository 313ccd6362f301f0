"""Arrays of strings that kernels read, and the numbers in them; this needs only NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NULL_CODE = -1
EMPTY = -1
"""The number in a slot of the hash table that no string has taken."""


class Strings(NamedTuple):
    """Strings to encode: ``data[offsets[i]:offsets[i + 1]]``, or null if ``valid[i]`` is 0."""

    data: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
    offsets: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    valid: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)


class Known(NamedTuple):
    """The strings that have a code, and a hash table of them."""

    slots: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)
    begins: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    data: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
    codes: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    state: npt.NDArray[np.int64] = np.zeros(0, np.int64)  # the number of strings, the next code
