"""Digests of events and of matches: 64 bits of whatever they are made of.

A digest is a sum of mixed numbers, so that its parts may be added in any order. Hashes, which are
computed faster, tell whether matches of one query are equal.
"""

from __future__ import annotations

import numpy as np

from cepheid.jit.decorators import I64, I64S, array_of, inlined, kernel

U64 = array_of(np.uint64).dtype
U64S = array_of(np.uint64)
U8S = array_of(np.uint8)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_4, _15 = np.uint64(4), np.uint64(15)
_DIGITS, _LETTERS, _TEN = np.uint64(ord("0")), np.uint64(ord("a") - 10), np.uint64(10)


@inlined
def mixed(number):
    """The number with its bits spread over all 64; different ones stay different."""
    number = np.uint64(number + GOLDEN)
    number = (number ^ (number >> _30)) * _FIRST
    number = (number ^ (number >> _27)) * _SECOND
    return number ^ (number >> _31)


@kernel(I64(U64S, U64S))
def mix_numbers(numbers, into):
    """Mix each number."""
    for i in range(len(numbers)):
        into[i] = mixed(numbers[i])
    return 0


@kernel(I64(U64S, U64, U64S))
def add_column(digests, salt, totals):
    """Add the digests of a column to those of rows; the salt says which column it is."""
    for i in range(len(digests)):
        totals[i] += mixed(digests[i] + salt)
    return 0


@kernel(I64(I64S, U8S, U64S))
def digest_octets(offsets, octets, into):
    """The digest of each text, which is ``octets[offsets[i]:offsets[i + 1]]``."""
    for i in range(len(offsets) - 1):
        low, high = offsets[i], offsets[i + 1]
        total = np.uint64(0)
        for at in range(low, high):
            total += mixed(np.uint64(octets[at]) + mixed(np.uint64(at - low)))
        into[i] = mixed(total + np.uint64(high - low))
    return 0


@kernel(I64(I64S, U8S))
def mark(positions, marks):
    """Mark what is at these positions, of which negative ones are nothing."""
    for i in range(len(positions)):
        if positions[i] >= 0:
            marks[positions[i]] = 1
    return 0


@kernel(I64(I64S, U8S))
def mark_earlier_of_time(ticks, marks):
    """Mark all events before a marked one that have its time; how many are marked in all."""
    count = 0
    for i in range(len(ticks) - 1, -1, -1):
        if marks[i]:
            count += 1
            if i > 0 and ticks[i - 1] == ticks[i]:
                marks[i - 1] = 1
    return count


@kernel(I64(I64S, U64S, I64S, U64S))
def tell_apart(positions, digests, alike, at):
    """Write the digest of each event to its position, with how many before it are alike."""
    for i in range(len(positions)):
        at[positions[i]] = mixed(digests[i] + np.uint64(alike[i]) * GOLDEN)
    return 0


@kernel(I64(I64S, U64S, U64, U64, U64S, U64S))
def add_singles(positions, digests, first_slot, second_slot, first, second):
    """Add the digest of an event to both digests of each match; negative: it has no event."""
    for m in range(len(positions)):
        if positions[m] >= 0:
            digest = digests[positions[m]]
            first[m] += mixed(digest ^ first_slot)
            second[m] += mixed(digest ^ second_slot)
    return 0


@kernel(I64(I64S, I64S, U64S, U64, U64, U64, U64S, U64S))
def add_lists(offsets, positions, digests, variable, first_seed, second_seed, first, second):
    """Add the digests of the events of a list, by their places in it, to those of each match."""
    for m in range(len(offsets) - 1):
        for at in range(offsets[m], offsets[m + 1]):
            slot = mixed(np.uint64(at - offsets[m]) * GOLDEN + variable)
            digest = digests[positions[at]]
            first[m] += mixed(digest ^ mixed(slot ^ first_seed))
            second[m] += mixed(digest ^ mixed(slot ^ second_seed))
    return 0


@kernel(I64(U64S, U64S, U8S))
def write_hexadecimal(first, second, digits):
    """Write both digests of each match, mixed, as 32 digits."""
    for m in range(len(first)):
        for half in range(2):
            number = mixed(second[m] if half else first[m])
            end = 32 * m + 16 * half + 15
            for place in range(16):
                digit = number & _15
                number = number >> _4
                digits[end - place] = digit + (_DIGITS if digit < _TEN else _LETTERS)
    return 0


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
