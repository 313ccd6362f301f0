"""Values of partition keys to dense numbers, kept across batches.

An open-addressing hash table: a slot holds a pair (a, b) and its number. A key of several
attributes is numbered one attribute at a time: the number so far is the other half of the
pair.
"""

from __future__ import annotations

from cepheid.kernels.jit import I64, I64S, helper, kernel

EMPTY = -1
NULL = -1


@helper
def _hash(a, b):
    x = a * -7046029254386353131 + b * -4417276706812531889
    x ^= (x >> 29) & 0x7FFFFFFFF
    x *= -49064778989728563
    return x ^ ((x >> 32) & 0xFFFFFFFF)


@kernel(I64(I64S, I64S, I64S, I64, I64S, I64S, I64S, I64, I64S))
def number_pairs(slots_a, slots_b, numbers, used, left, right, out, start, stopped_at):
    """Number the pairs (left, right) from ``start`` on; stops when the table is half full.

    A negative ``left``, which stands for null, has no number. Returns how many are used.
    """
    mask = len(numbers) - 1
    for i in range(start, len(left)):
        a, b = left[i], right[i]
        if a < 0:
            out[i] = NULL
            continue
        slot = _hash(a, b) & mask
        while numbers[slot] != EMPTY and (slots_a[slot] != a or slots_b[slot] != b):
            slot = (slot + 1) & mask
        if numbers[slot] == EMPTY:
            if 2 * used >= len(numbers):
                stopped_at[0] = i
                return used
            slots_a[slot] = a
            slots_b[slot] = b
            numbers[slot] = used
            used += 1
        out[i] = numbers[slot]
    stopped_at[0] = len(left)
    return used


@kernel(I64(I64S, I64S, I64S, I64S, I64S, I64S))
def rehash(slots_a, slots_b, numbers, new_a, new_b, new_numbers):
    """Move all pairs to a larger table."""
    mask = len(new_numbers) - 1
    for old in range(len(numbers)):
        if numbers[old] != EMPTY:
            slot = _hash(slots_a[old], slots_b[old]) & mask
            while new_numbers[slot] != EMPTY:
                slot = (slot + 1) & mask
            new_a[slot] = slots_a[old]
            new_b[slot] = slots_b[old]
            new_numbers[slot] = numbers[old]
    return 0


@kernel(I64(I64S, I64S, I64S))
def count_within(partition_of, counts, out):
    """The place of each event within its partition; ``counts`` go on from batch to batch."""
    for i in range(len(partition_of)):
        partition = partition_of[i]
        if partition >= 0:
            out[i] = counts[partition]
            counts[partition] += 1
        else:
            out[i] = -1
    return 0
