"""Buckets of events: those that agree on a key are in the same one.

The bucket of a value does not depend on what was seen before, so that it is the same in every
batch, process and restored session.
"""

from __future__ import annotations

import numpy as np

from cepheid.jit.decorators import I32S, I64, I64S, array_of, helper, kernel

U8S = array_of(np.uint8)
BOOLS = array_of(np.bool_)


@helper
def _mixed(a, b):
    x = (a ^ b) * -7046029254386353131
    x ^= (x >> 29) & 0x7FFFFFFFF
    x *= -4417276706812531889
    return x ^ ((x >> 32) & 0xFFFFFFFF)


@kernel(I64(I64S, I64S))
def mix_numbers(values, hashes):
    """Mix a number into the hash of each event."""
    for i in range(len(values)):
        hashes[i] = _mixed(hashes[i], values[i])
    return 0


@kernel(I64(I64S, U8S, I64S))
def mix_strings(offsets, data, hashes):
    """Mix a string into the hash of each event."""
    for i in range(len(hashes)):
        x = hashes[i]
        for at in range(offsets[i], offsets[i + 1]):
            x = (x ^ data[at]) * 1099511628211
        hashes[i] = _mixed(x, offsets[i + 1] - offsets[i])
    return 0


@kernel(I64(I64S, I32S, BOOLS, I64, I64S, I64S))
def group_by_bucket(hashes, types, wanted, first, positions, ends):
    """Order events by bucket: those of bucket b are in ``positions`` up to ``ends[b]``.

    Events of types that are not wanted are in no bucket. Within a bucket the others stay in order.
    Positions count from ``first``.
    """
    count = len(ends)
    ends[:] = 0
    for i in range(len(hashes)):
        if not wanted[types[i]]:
            continue
        bucket = (hashes[i] & 0x7FFFFFFFFFFFFFFF) % count
        hashes[i] = bucket
        ends[bucket] += 1
    begin = 0
    for bucket in range(count):
        begin, ends[bucket] = begin + ends[bucket], begin
    for i in range(len(hashes)):
        if not wanted[types[i]]:
            continue
        bucket = hashes[i]
        positions[ends[bucket]] = first + i
        ends[bucket] += 1
    return 0
