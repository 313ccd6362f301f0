"""Choosing among matches that are sorted: the smallest of each group, and one after the other."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, helper, kernel


@helper
def is_smaller(offsets, numbers, m, other):
    """Whether the row of match m comes before that of another match."""
    a, b = offsets[m], offsets[other]
    while a < offsets[m + 1] and b < offsets[other + 1]:
        if numbers[a] != numbers[b]:
            return numbers[a] < numbers[b]
        a += 1
        b += 1
    return b < offsets[other + 1]


@kernel(I64(I64S, I64S, I64S, I64S))
def choose_smallest(group, offsets, numbers, chosen):
    """Write the match with the smallest row of each group; returns the number of groups.

    Matches of one group are next to each other.
    """
    count = 0
    for m in range(len(group)):
        if m == 0 or group[m] != group[m - 1]:
            chosen[count] = m
            count += 1
        elif is_smaller(offsets, numbers, m, chosen[count - 1]):
            chosen[count - 1] = m
    return count


@kernel(I64(I64S, I64S, I64, I64S, I64S))
def choose_apart(partition, ends, gap, last, chosen):
    """Write the matches that end at least ``gap`` after the last one; returns their number.

    Matches are sorted by partition and completion. ``last`` has the last end of each partition, or
    the least integer.
    """
    count = 0
    for m in range(len(ends)):
        p = partition[m]
        if last[p] == -9223372036854775808 or ends[m] - last[p] >= gap:
            last[p] = ends[m]
            chosen[count] = m
            count += 1
    return count


@kernel(I64(I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S))
def choose_leftmost(
    partition, starts, lasts, closed, live_partition, live_starts, after, decisions
):
    """Decide for each match: 1 reported, 0 kept until it is decided, -1 dropped.

    Matches, and the starts of live runs, are sorted by partition and position of the first event.
    ``closed`` is 1 if no later match can have this first event or, if there are no live starts, an
    earlier one. ``after`` has the position of the last event of the last match of each partition.
    Returns the number of matches reported.
    """
    count = 0
    live = 0
    waits_in = -1
    for m in range(len(starts)):
        p, start = partition[m], starts[m]
        if start <= after[p]:
            decisions[m] = -1
            continue
        decisions[m] = 0
        if p == waits_in:
            continue
        while live < len(live_starts) and (
            live_partition[live] < p
            or (live_partition[live] == p and live_starts[live] <= after[p])
        ):
            live += 1
        is_preceded = (
            live < len(live_starts) and live_partition[live] == p and live_starts[live] <= start
        )
        if closed[m] == 0 or is_preceded:
            waits_in = p
            continue
        decisions[m] = 1
        after[p] = lasts[m]
        count += 1
    return count
