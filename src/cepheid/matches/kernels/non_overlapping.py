"""Choosing matches such that each starts after the previous one of its partition has ended."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, I64S_2D, helper, kernel

_END, _POSITION, _PARTITION = 0, 1, 2


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


@kernel(I64(I64S_2D, I64S_2D, I64S, I64S, I64S, I64S, I64S, I64S))
def choose_non_overlapping(
    keys, firsts, order, offsets, numbers, last_ticks, last_positions, chosen
):
    """Write the chosen matches; returns their number.

    ``keys`` has for each match the (ticks, position) of its completion and its partition;
    ``order`` sorts the matches by them. ``firsts`` has the (ticks, position) of its first event.
    Of the matches of a partition that are complete at the same event the one with the latest
    first event is taken, then the one with the smallest row of ``numbers``. ``last_ticks`` and
    ``last_positions`` are the last end of each partition.
    """
    count = 0
    low = 0
    total = len(order)
    while low < total:
        best = order[low]
        end, position, p = keys[_END, best], keys[_POSITION, best], keys[_PARTITION, best]
        first = firsts[1, best]
        high = low + 1
        while high < total:
            m = order[high]
            if keys[_PARTITION, m] != p or keys[_END, m] != end or keys[_POSITION, m] != position:
                break
            here = firsts[1, m]
            if here > first or (here == first and _is_smaller(offsets, numbers, m, best)):
                best, first = m, here
            high += 1
        start = firsts[0, best]
        # If the match that starts last overlaps, all do.
        if start > last_ticks[p] or (start == last_ticks[p] and first > last_positions[p]):
            chosen[count] = best
            count += 1
            last_ticks[p] = end
            last_positions[p] = position
        low = high
    return count
