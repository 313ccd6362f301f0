"""Lists of matches as tags: splitting them by variable, comparing and choosing among them.

A match is ``ids[offsets[m]:offsets[m + 1]]``, tags of its events in the order of the pattern;
a tag is the event's number times 32 plus the number of its variable.
"""

from __future__ import annotations

from cepheid.kernels.jit import I64, I64S, I64S_2D, helper, kernel
from cepheid.kernels.nfa_b_layout import TAG_SHIFT

_VARIABLE = (1 << TAG_SHIFT) - 1


@kernel(I64(I64S, I64S, I64, I64S_2D, I64S_2D, I64S))
def split_variables(ids, offsets, base, positions, counts, totals):
    """Write the events of each variable, match after match, counted from ``base``.

    ``positions[variable]`` gets ``totals[variable]`` events, ``counts[variable, match]`` of
    each match.
    """
    for m in range(len(offsets) - 1):
        at, end = offsets[m], offsets[m + 1]
        while at < end:
            variable = ids[at] & _VARIABLE
            total = totals[variable]
            first = at
            while at < end and ids[at] & _VARIABLE == variable:
                positions[variable, total + at - first] = (ids[at] >> TAG_SHIFT) - base
                at += 1
            counts[variable, m] += at - first
            totals[variable] = total + at - first
    return 0


@kernel(I64(I64S_2D, I64S_2D, I64, I64S, I64S))
def tag_columns(positions, columns, count, ids, offsets):
    """Write matches that are columns, the events of each component, as tags.

    The events of component c in match m are ``positions[c, columns[c, m]:columns[c, m + 1]]``.
    """
    at = 0
    for m in range(count):
        for component in range(len(columns)):
            for place in range(columns[component, m], columns[component, m + 1]):
                ids[at] = (positions[component, place] << TAG_SHIFT) | component
                at += 1
        offsets[m + 1] = at
    return at


@kernel(I64(I64S, I64S))
def rename_variables(ids, names):
    """Replace the variable of each tag by ``names[variable]``."""
    for at in range(len(ids)):
        tag = ids[at]
        ids[at] = (tag & ~_VARIABLE) | names[tag & _VARIABLE]
    return 0


@kernel(I64(I64S, I64S, I64S, I64S))
def place_tags(ids, places, names, tags):
    """Write the tags with ``places[event]`` and ``names[variable]`` in place of these."""
    for at in range(len(ids)):
        tag = ids[at]
        tags[at] = (places[tag >> TAG_SHIFT] << TAG_SHIFT) | names[tag & _VARIABLE]
    return 0


@kernel(I64(I64S, I64S, I64S, I64S))
def hash_matches(ids, offsets, high, low):
    """Two independent hashes of each match: equal matches have equal ones."""
    for m in range(len(offsets) - 1):
        a, b = 1469598103934665603, 88172645463325252
        for at in range(offsets[m], offsets[m + 1]):
            a = (a ^ ids[at]) * 1099511628211
            a ^= (a >> 31) & 0x1FFFFFFFF
            b = (b + ids[at]) * -7046029254386353131
            b ^= (b >> 29) & 0x7FFFFFFFF
        high[m], low[m] = a, b
    return 0


@kernel(I64(I64S, I64S, I64S, I64S, I64S))
def pick_matches(ids, offsets, chosen, new_ids, new_offsets):
    """Copy the chosen matches, in the order in which they are chosen."""
    at = 0
    for c in range(len(chosen)):
        m = chosen[c]
        for old in range(offsets[m], offsets[m + 1]):
            new_ids[at] = ids[old]
            at += 1
        new_offsets[c + 1] = at
    return at


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


@kernel(I64(I64S, I64, I64S_2D))
def split_single_variables(ids, base, positions):
    """Fill ``positions[v, m]`` where every match has one event of every variable v."""
    variables = len(positions)
    at = 0
    for m in range(positions.shape[1]):
        for _ in range(variables):
            positions[ids[at] & _VARIABLE, m] = (ids[at] >> TAG_SHIFT) - base
            at += 1
    return 0


@kernel(I64(I64S, I64S, I64, I64S, I64S, I64S, I64S))
def find_ends(ids, offsets, base, ticks, starts, ends, positions):
    """The times of the first and the last event of each match, and the number of the last.

    ``ticks`` are the times of consecutive events from number ``base`` on.
    """
    for m in range(len(starts)):
        last = ids[offsets[m + 1] - 1] >> TAG_SHIFT
        starts[m] = ticks[(ids[offsets[m]] >> TAG_SHIFT) - base]
        ends[m] = ticks[last - base]
        positions[m] = last
    return 0
