"""Choosing matches such that each starts after the previous one of its partition has ended."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, I64S_2D, helper, kernel

_END, _POSITION, _PARTITION, _FIRST = 0, 1, 2, 3


@helper
def _is_smaller(offsets, numbers, m, other):
    """Whether the row of match m comes before that of another match."""
    a, b = offsets[m], offsets[other]
    while a < offsets[m + 1] and b < offsets[other + 1]:
        if numbers[a] != numbers[b]:
            return numbers[a] < numbers[b]
        a += 1
        b += 1
    return b < offsets[other + 1]


@kernel(I64(I64S_2D, I64S, I64S, I64S, I64S, I64S, I64S, I64S))
def choose_non_overlapping(
    keys, starts, order, offsets, numbers, last_ticks, last_positions, chosen
):
    """Write the chosen matches; returns their number.

    ``keys`` has for each match the (ticks, position) of its completion, its partition and the
    negative position of its first event; ``order`` sorts the matches by it. So of the matches of a
    partition that are complete at the same event the first one starts last, and if it overlaps
    then all do. Of those that start at the same event the one with the smallest row of
    ``numbers`` is taken. ``last_ticks`` and ``last_positions`` are the last end of each partition.
    """
    count = 0
    low = 0
    total = len(order)
    while low < total:
        best = order[low]
        p = keys[_PARTITION, best]
        end, position, first = keys[_END, best], keys[_POSITION, best], keys[_FIRST, best]
        is_tied = True
        high = low + 1
        while high < total:
            m = order[high]
            if keys[_PARTITION, m] != p or keys[_END, m] != end or keys[_POSITION, m] != position:
                break
            is_tied = is_tied and keys[_FIRST, m] == first
            if is_tied and _is_smaller(offsets, numbers, m, best):
                best = m
            high += 1
        start = starts[best]
        if start > last_ticks[p] or (start == last_ticks[p] and -first > last_positions[p]):
            chosen[count] = best
            count += 1
            last_ticks[p] = end
            last_positions[p] = position
        low = high
    return count
