"""Decimals as numbers of the language: integers, or the nearest floats.

Arrow's own cast multiplies by a power of ten that is not a float. It converts 3.30 to
3.3000000000000003, which is not equal to 3.3.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy, to_numpy

_EXACT = 2**53
"""Integers up to this are exact as floats."""
_EXACT_POWER = 22
"""Powers of ten up to this exponent are exact as floats."""


def plain_decimals(array: pa.Array) -> pa.Array:
    """Decimals without fractional digits as int64, others as the nearest float64.

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
        return _whole(array)
    if arrow.is_decimal128(array.type) and scale <= _EXACT_POWER:
        low, high = _words(array)
        missing = to_numpy(array.is_null())
        # The quotient of two floats is the float nearest to the exact quotient.
        if (missing | ((high == low >> 63) & (low <= _EXACT) & (low >= -_EXACT))).all():
            return from_numpy(low / 10.0**scale, missing)
    return array.cast(pa.string()).cast(pa.float64())


def _whole(array: pa.Array) -> pa.Array:
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
