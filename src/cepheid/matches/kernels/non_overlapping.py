"""Which matches are reported where each has to start after the one before it ended.

Matches are lists of tags, as in match_lists.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.jit.decorators import I64, I64S, helper, kernel

_VARIABLE = (1 << TAG_SHIFT) - 1


@helper
def _follows_pattern(ids, low, high):
    """Whether the events of a match, in stream order, are also in the order of the pattern."""
    at = low + 1
    while at < high and ids[at] & _VARIABLE >= ids[at - 1] & _VARIABLE:
        at += 1
    return at >= high


@helper
def _next_of(ids, at, end, variable):
    """The next place from ``at`` on with an event of the variable, or ``end``."""
    while at < end and ids[at] & _VARIABLE != variable:
        at += 1
    return at


@helper
def _is_smaller(ids, low, high, other_low, other_high):
    """Whether one match comes before another by its events in the order of the pattern."""
    for variable in range(_VARIABLE + 1):
        a, b = low, other_low
        while True:
            a = _next_of(ids, a, high, variable)
            b = _next_of(ids, b, other_high, variable)
            if a == high or b == other_high:
                if a != high or b != other_high:
                    return a == high
                break
            if ids[a] != ids[b]:
                return ids[a] < ids[b]
            a += 1
            b += 1
    return False


@helper
def _is_shorter(ids, offsets, m, other):
    """Whether match m starts later, or else comes first in the order of its events."""
    a, b = offsets[m], offsets[other]
    if ids[a] >> TAG_SHIFT != ids[b] >> TAG_SHIFT:
        return ids[a] >> TAG_SHIFT > ids[b] >> TAG_SHIFT
    if not (
        _follows_pattern(ids, a, offsets[m + 1]) and _follows_pattern(ids, b, offsets[other + 1])
    ):
        return _is_smaller(ids, a, offsets[m + 1], b, offsets[other + 1])
    while a < offsets[m + 1] and b < offsets[other + 1]:
        if ids[a] != ids[b]:
            variable, other_variable = ids[a] & _VARIABLE, ids[b] & _VARIABLE
            if variable == other_variable:
                return ids[a] < ids[b]
            # The list of an earlier variable has ended in one of them: it is the smaller.
            return variable > other_variable
        a += 1
        b += 1
    return b < offsets[other + 1]


@kernel(I64(I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S))
def choose_non_overlapping(
    ids, offsets, order, partition, start_ticks, end_ticks, end_position, last_ticks,
    last_position, chosen,
):  # fmt: skip
    """Matches such that each starts after the previous one of its partition ended.

    ``order`` lists the matches by completion, those of a partition that complete together
    next to each other. Of these the one with the latest first event is taken, then the one
    with the smallest events in pattern order. ``last_ticks`` and ``last_position`` are the
    last ends of each partition. Returns how many were chosen.
    """
    count = 0
    low = 0
    total = len(order)
    while low < total:
        first = order[low]
        p = partition[first]
        best = -1
        high = low
        while high < total:
            m = order[high]
            if (
                partition[m] != p
                or end_ticks[m] != end_ticks[first]
                or end_position[m] != end_position[first]
            ):
                break
            begin = ids[offsets[m]] >> TAG_SHIFT
            after_last = start_ticks[m] > last_ticks[p] or (
                start_ticks[m] == last_ticks[p] and begin > last_position[p]
            )
            if after_last and (best < 0 or _is_shorter(ids, offsets, m, best)):
                best = m
            high += 1
        if best >= 0:
            chosen[count] = best
            count += 1
            last_ticks[p] = end_ticks[best]
            last_position[p] = end_position[best]
        low = high
    return count
