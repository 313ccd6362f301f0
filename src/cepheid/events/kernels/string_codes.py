"""Integer codes for strings, kept across batches.

An open-addressing hash table: a slot holds the hash of a string and its number. The bytes of all
strings are contiguous, and those of string t are ``known[begins[t]:begins[t + 1]]``.
"""

from __future__ import annotations

import numpy as np

from cepheid.events.layout import EMPTY, NULL_CODE, Known, Strings
from cepheid.jit.decorators import I64, I64S, I64S_2D, array_of, inlined, kernel, type_of

U8S = array_of(np.uint8)

HASH, NUMBER = 0, 1
"""The columns of a slot."""

WORD = 8
"""How many bytes are read in one step."""

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_8, _32 = np.uint64(8), np.uint64(32)


@inlined
def _word(data, at):
    """Eight bytes as a number."""
    word = np.uint64(0)
    for place in range(WORD):
        word = (word << _8) | np.uint64(data[at + place])
    return word


@inlined
def _hash(data, low, high):
    """A hash; different strings of the same length have different hashes if they fit in a word."""
    x = np.uint64(high - low) * _PRIME
    while high - low >= WORD:
        x = (x ^ _word(data, low)) * _PRIME
        x ^= x >> _32
        low += WORD
    if low < high:
        word = np.uint64(0)
        if low + WORD <= len(data):  # The number of remaining bytes needs no branch.
            word = _word(data, low) >> np.uint64(8 * (WORD - (high - low)))
        else:
            for at in range(low, high):
                word = (word << _8) | np.uint64(data[at])
        x = (x ^ word) * _PRIME
        x ^= x >> _32
    return np.int64(x)


@inlined
def _are_same(data, at, others, other_at, length):
    """Whether two strings of the same length and hash are equal."""
    if length <= WORD:
        return True
    end = at + length
    while end - at >= WORD:
        if _word(data, at) != _word(others, other_at):
            return False
        at += WORD
        other_at += WORD
    while at < end:
        if data[at] != others[other_at]:
            return False
        at += 1
        other_at += 1
    return True


@kernel(I64(type_of(Strings), type_of(Known), I64S, I64))
def encode_strings(strings, index, out, first):
    """The code of each string from ``first`` on; stops at a string for which there is no room.

    A new string is added, with the next code.
    """
    data, offsets, valid = strings
    slots, begins, known, codes, state = index
    mask = len(slots) - 1
    for i in range(first, len(out)):
        if len(valid) > 0 and valid[i] == 0:
            out[i] = NULL_CODE
            continue
        low, length = offsets[i], offsets[i + 1] - offsets[i]
        hashed = _hash(data, low, low + length)
        slot = hashed & mask
        number = slots[slot, NUMBER]
        while number != EMPTY:
            begin = begins[number]
            if (
                slots[slot, HASH] == hashed
                and begins[number + 1] - begin == length
                and _are_same(data, low, known, begin, length)
            ):
                break
            slot = (slot + 1) & mask
            number = slots[slot, NUMBER]
        if number == EMPTY:
            number = state[0]
            begin = begins[number]
            if 2 * number >= len(slots) or begin + length > len(known):
                return i
            for at in range(length):
                known[begin + at] = data[low + at]
            begins[number + 1] = begin + length
            codes[number] = state[1]
            slots[slot, HASH] = hashed
            slots[slot, NUMBER] = number
            state[0] += 1
            state[1] += 1
        out[i] = codes[number]
    return len(out)


@kernel(I64(I64S, U8S, I64, I64S_2D))
def index_strings(begins, known, count, slots):
    """Put the known strings, which are distinct, into an empty table."""
    mask = len(slots) - 1
    for number in range(count):
        hashed = _hash(known, begins[number], begins[number + 1])
        slot = hashed & mask
        while slots[slot, NUMBER] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot, HASH] = hashed
        slots[slot, NUMBER] = number
    return 0
