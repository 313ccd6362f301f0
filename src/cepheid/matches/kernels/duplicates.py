"""Hashes of matches, by which equal ones are found."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, kernel


@kernel(I64(I64S, I64S, I64S, I64S))
def hash_rows(offsets, numbers, high, low):
    """Two independent hashes of each row ``numbers[offsets[m]:offsets[m + 1]]``."""
    for m in range(len(offsets) - 1):
        a, b = 1469598103934665603, 88172645463325252
        for at in range(offsets[m], offsets[m + 1]):
            a = (a ^ numbers[at]) * 1099511628211
            a ^= (a >> 31) & 0x1FFFFFFFF
            b = (b + numbers[at]) * -7046029254386353131
            b ^= (b >> 29) & 0x7FFFFFFFF
        high[m], low[m] = a, b
    return 0
