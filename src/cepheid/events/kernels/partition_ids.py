"""Dense numbers for the values of partition keys, kept across batches.

An open-addressing hash table: a slot holds a pair (a, b) and its number. A key of several
attributes is numbered one attribute at a time; the number so far is the other half of the pair.
Small values of a key of one attribute are not hashed: their numbers are in an index by value.
"""

from __future__ import annotations

import numpy as np

from cepheid.jit.decorators import I32S, I64, I64S, I64S_2D, array_of, helper, inlined, kernel

EMPTY = -1
NULL = -1


@helper
def _hash(a, b):
    x = (a * -7046029254386353131 + b) * -4417276706812531889
    return (x >> 31) & 0x1FFFFFFFF


@kernel(I64(I32S, I64S, I64S, I64, I64, I64S, I64S))
def number_small(direct, values, numbers, has_nulls, first, counts, axis):
    """Number values by their entries in an index; returns the first event without an entry.

    If there are nulls, a negative number means null and stays as it is. If there is an ``axis``,
    events are counted as in :func:`count_within`.
    """
    counting = len(axis) > 0
    for i in range(first, len(values)):
        if has_nulls and numbers[i] < 0:
            if counting:
                axis[i] = -1
            continue
        value = values[i]
        if value < 0 or value >= len(direct):
            return i
        number = direct[value]
        if number < 0:
            return i
        numbers[i] = number
        if counting:
            axis[i] = counts[number]
            counts[number] += 1
    return len(values)


@kernel(I64(I32S, I64S, I64S, I64S, I64))
def number_small_at(direct, values, places, numbers, first):
    """The same for the events at these places, without nulls; returns an index into ``places``."""
    for place in range(first, len(places)):
        i = places[place]
        value = values[i]
        if value < 0 or value >= len(direct) or direct[value] < 0:
            return place
        numbers[i] = direct[value]
    return len(places)


@inlined
def _slot_of(slots, a, b):
    """The slot of a pair, or the empty one where it belongs."""
    mask = len(slots) - 1
    slot = _hash(a, b) & mask
    while slots[slot, 2] != EMPTY and (slots[slot, 0] != a or slots[slot, 1] != b):
        slot = (slot + 1) & mask
    return slot


@kernel(I64(I64S_2D, I32S, I64, I64S, I64S, I64, I64S))
def number_values(slots, direct, most, values, numbers, has_nulls, state):
    """Number values, new ones too, from event ``state[0]`` on; small ones are put into the index.

    The rest of the state is the count of numbers in use, and of pairs in the table. If there are
    nulls, a negative number means null and stays as it is. Values below ``most`` are small. Returns
    0, or what lacks room: 1 the table, 2 the index.
    """
    used, hashed = state[1], state[2]
    lacks = 0
    stopped_at = len(values)
    for i in range(state[0], len(values)):
        if has_nulls and numbers[i] < 0:
            continue
        value = values[i]
        if 0 <= value < len(direct):
            if direct[value] < 0:
                number = slots[_slot_of(slots, 0, value), 2]
                if number == EMPTY:
                    number = used
                    used += 1
                direct[value] = number
            numbers[i] = direct[value]
            continue
        if 0 <= value < most:
            lacks = 2
            stopped_at = i
            break
        slot = _slot_of(slots, 0, value)
        if slots[slot, 2] == EMPTY:
            if 2 * hashed >= len(slots):
                lacks = 1
                stopped_at = i
                break
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = 0, value, used
            used += 1
            hashed += 1
        numbers[i] = slots[slot, 2]
    state[0], state[1], state[2] = stopped_at, used, hashed
    return lacks


@kernel(I64(I32S, I64S_2D))
def put_into_table(direct, slots):
    """Add the values of the index to a table that has room for them."""
    for value in range(len(direct)):
        if direct[value] >= 0:
            slot = _slot_of(slots, 0, value)
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = 0, value, direct[value]
    return 0


@kernel(I64(I32S, I64S))
def renumber(direct, renumbered):
    """Give the values of the index new numbers; EMPTY where they have none."""
    for value in range(len(direct)):
        if direct[value] >= 0:
            direct[value] = renumbered[direct[value]]
    return 0


@kernel(I64(I64S_2D, I64, I64S, I64, I64, I64S, I64S, I64S))
def number_pairs(slots, used, left, places, place, right, out, stopped_at):
    """Number the pairs (left × places + place, right); stops when the table is half full.

    ``out`` may be the array ``left``. A negative ``left`` means null and stays as it is. Returns
    the count of numbers in use.
    """
    mask = len(slots) - 1
    for i in range(stopped_at[0], len(right)):
        a, b = left[i], right[i]
        if a < 0:
            out[i] = NULL
            continue
        a = a * places + place
        slot = _hash(a, b) & mask
        number = slots[slot, 2]
        while number != EMPTY and (slots[slot, 0] != a or slots[slot, 1] != b):
            slot = (slot + 1) & mask
            number = slots[slot, 2]
        if number == EMPTY:
            if 2 * used >= len(slots):
                stopped_at[0] = i
                return used
            number = used
            slots[slot, 0] = a
            slots[slot, 1] = b
            slots[slot, 2] = number
            used += 1
        out[i] = number
    stopped_at[0] = len(right)
    return used


@kernel(I64(I64S_2D, I64S_2D))
def rehash(slots, larger):
    """Move all pairs to a larger table."""
    mask = len(larger) - 1
    for old in range(len(slots)):
        if slots[old, 2] != EMPTY:
            slot = _hash(slots[old, 0], slots[old, 1]) & mask
            while larger[slot, 2] != EMPTY:
                slot = (slot + 1) & mask
            for column in range(3):
                larger[slot, column] = slots[old, column]
    return 0


@kernel(I64(I64S_2D, I64, I64S, I64S, I64S_2D))
def keep_used(slots, places, used, renumbered, kept):
    """Move the pairs with used numbers to another table, renumbered in the same order.

    A number of an earlier attribute is used if a pair that extends it is used. ``renumbered`` is
    the new number of each, or EMPTY. Returns how many there are.
    """
    for _ in range(places - 1):
        for slot in range(len(slots)):
            if slots[slot, 2] != EMPTY and slots[slot, 0] % places > 0 and used[slots[slot, 2]]:
                used[slots[slot, 0] // places] = 1
    count = 0
    for number in range(len(used)):
        renumbered[number] = EMPTY
        if used[number]:
            renumbered[number] = count
            count += 1
    mask = len(kept) - 1
    for old in range(len(slots)):
        number = slots[old, 2]
        if number == EMPTY or not used[number]:
            continue
        a, b, place = slots[old, 0], slots[old, 1], slots[old, 0] % places
        if place > 0:
            a = renumbered[a // places] * places + place
        slot = _hash(a, b) & mask
        while kept[slot, 2] != EMPTY:
            slot = (slot + 1) & mask
        kept[slot, 0], kept[slot, 1], kept[slot, 2] = a, b, renumbered[number]
    return count


@kernel(I64(I64S, I64S, I64S, I64))
def count_within(partition_of, counts, out, first):
    """The index of each event within its partition; ``counts`` continue across batches."""
    for i in range(first, len(partition_of)):
        partition = partition_of[i]
        if partition >= 0:
            out[i] = counts[partition]
            counts[partition] += 1
        else:
            out[i] = -1
    return 0


@kernel(I64(I64S, I64S, I64S, I64))
def first_within(partition_of, axis, counts, extent):
    """The first event that is less than ``extent`` events before the end of its partition."""
    for i in range(len(partition_of)):
        partition = partition_of[i]
        if partition >= 0 and counts[partition] - axis[i] < extent:
            return i
    return len(partition_of)


@kernel(I64(I64S, I64S, I64S, I64, array_of(np.bool_)))
def mark_within(partition_of, axis, counts, extent, out):
    """Mark the events that are less than ``extent`` events before the end of their partition."""
    for i in range(len(partition_of)):
        partition = partition_of[i]
        out[i] = partition >= 0 and counts[partition] - axis[i] < extent
    return 0


@kernel(I64(I64S, I64S, I64S, I64, I64))
def first_of_last(partition_of, axis, counts, extent, wanted):
    """The first of the last ``count`` such events, or -1 if there are fewer."""
    first = len(partition_of)
    while wanted > 0:
        first -= 1
        if first < 0:
            break
        partition = partition_of[first]
        if partition >= 0 and counts[partition] - axis[first] < extent:
            wanted -= 1
    return first
