"""Choosing matches such that each starts after the previous one of its partition has ended."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel
from cepheid.matches.kernels.choosing import is_smaller

_END, _POSITION, _PARTITION, _WAITED = 0, 1, 2, 3


@kernel(I64(I64S_2D, I64S_2D, I64S, I64S, I64S, I64S, I64S, I64S))
def choose_non_overlapping(
    keys, firsts, order, offsets, numbers, last_ticks, last_positions, chosen
):
    """Write the chosen matches; returns their number.

    ``keys`` has for each match the (ticks, position) of its completion, its partition, and 1 if the
    passage of time completed it; ``order`` sorts the matches by the first three. ``firsts`` has the
    (ticks, position) of its first event. Of the matches of a partition that are complete at the
    same event the one with the latest first event is taken, then the one with the smallest row of
    ``numbers``. ``last_ticks`` and ``last_positions`` are the last end of each partition.
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
            if here > first or (here == first and is_smaller(offsets, numbers, m, best)):
                best, first = m, here
            high += 1
        start = firsts[0, best]
        # If the match that starts last overlaps, all do.
        if start > last_ticks[p] or (start == last_ticks[p] and first > last_positions[p]):
            chosen[count] = best
            count += 1
            last_ticks[p] = end
            # A match that starts exactly at a deadline starts after it.
            last_positions[p] = -1 if keys[_WAITED, best] else position
        low = high
    return count
