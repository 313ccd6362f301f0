"""The probability that an event lies in a range of time, and where the events of a match can lie.

An event has an *uncertainty interval* from ``lower`` to ``upper``, both possible. Where
``mass_at`` is negative all its instants are equally likely; else ``masses[mass_at + k]`` is the
probability of its first k instants.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.jit.decorators import F64S, I64, I64S, helper, kernel

FAR = 1 << 61
"""Later than any instant of a stream, and far from the end of 64 bits."""


@helper
def mass_until(lower, upper, mass_at, masses, event, time):
    """The probability that the event is at ``time`` or before."""
    size = upper[event] - lower[event] + 1
    count = min(max(time - lower[event] + 1, 0), size)
    if mass_at[event] < 0:
        return count / size
    return masses[mass_at[event] + count]


@helper
def point_mass(lower, upper, mass_at, masses, event, time):
    """The probability that the event is at this instant of its interval."""
    if mass_at[event] < 0:
        return 1.0 / (upper[event] - lower[event] + 1)
    place = mass_at[event] + time - lower[event]
    return masses[place + 1] - masses[place]


@helper
def masses_until(lower, upper, mass_at, masses, event, time, count, until):
    """Write the probability that the event is at each of ``count`` times or before it."""
    size = upper[event] - lower[event] + 1
    passed = time - lower[event] + 1
    if mass_at[event] < 0:
        for k in range(count):
            until[k] = min(max(passed + k, 0), size) / size
    else:
        for k in range(count):
            until[k] = masses[mass_at[event] + min(max(passed + k, 0), size)]


@helper
def first_bound(path, vlb, depth, upper, event, event_vlb, window):
    """The latest time of the first event of a path that the event extends, or -FAR if none.

    The incremental algorithm: ``vlb`` are valid lower bounds, and revised upper bounds are
    found going back from the new event, as if it were the last [Zhang10 §B.1.2].
    """
    if depth >= window:
        return -FAR
    bound = upper[event]
    for i in range(depth - 1, -1, -1):
        bound = min(bound - 1, upper[path[i]])
        if bound < vlb[i]:
            return -FAR
    limit = bound + window - 1
    if limit < event_vlb:
        return -FAR
    if limit < upper[event]:
        revised = limit
        for i in range(depth - 1, -1, -1):
            revised = min(revised - 1, upper[path[i]])
            if revised < vlb[i]:
                return -FAR
    return bound


@helper
def valid_bounds(ids, low, high, lower, upper, window, lo, hi):
    """The times that the events of a match can have in it [Zhang10 §5.1]; 0 where there are none.

    The window also moves the earliest time of the first event, and so those of the others.
    """
    count = high - low
    if count > window:
        return 0
    for i in range(count):
        event = ids[low + i] >> TAG_SHIFT
        lo[i] = lower[event] if i == 0 else max(lower[event], lo[i - 1] + 1)
    for i in range(count - 1, -1, -1):
        event = ids[low + i] >> TAG_SHIFT
        hi[i] = upper[event] if i == count - 1 else min(upper[event], hi[i + 1] - 1)
    last = count - 1
    if hi[0] + window - 1 < hi[last]:
        hi[last] = hi[0] + window - 1
        for i in range(last - 1, -1, -1):
            hi[i] = min(hi[i], hi[i + 1] - 1)
    if lo[last] - window + 1 > lo[0]:
        lo[0] = lo[last] - window + 1
        for i in range(1, count):
            lo[i] = max(lo[i], lo[i - 1] + 1)
    for i in range(count):
        if lo[i] > hi[i]:
            return 0
    return 1


@helper
def is_in(ids, low, high, event):
    """Whether a match, or the part of it from ``low`` to ``high``, has the event."""
    for at in range(low, high):
        if ids[at] >> TAG_SHIFT == event:
            return True
    return False


@helper
def first_from(candidates, begin, end, lower, time):
    """The first place in candidates[begin:end], ordered by lower bound, that is not below it."""
    while begin < end:
        middle = (begin + end) >> 1
        if lower[candidates[middle]] < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel(I64(F64S, I64S, I64S, I64S, F64S, F64S))
def sum_masses(values, firsts, lengths, last, totals, masses):
    """Write the sums of each list of probabilities, from 0 to exactly 1 at its last instant.

    List e begins at ``firsts[e]``; its sums, one more, at ``firsts[e] + e``.
    """
    for event in range(len(firsts)):
        at = firsts[event] + event
        masses[at] = 0.0
        running = 0.0
        for k in range(lengths[event]):
            running += values[firsts[event] + k]
            masses[at + k + 1] = 1.0 if k >= last[event] else running / totals[event]
    return 0
