"""The probability that an event lies in a range of time, and where the events of a match can lie.

An event has an *uncertainty interval* from ``lower`` to ``upper``, both possible.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.jit.decorators import F64S, I64, I64S, helper, kernel

FAR = 1 << 61
"""Later than any instant of a stream, and far from the end of 64 bits."""


@helper
def mass_until(intervals, event, time):
    """The probability that the event is at ``time`` or before."""
    lower = intervals.lower[event]
    size = intervals.upper[event] - lower + 1
    count = min(max(time - lower + 1, 0), size)
    if intervals.mass_at[event] < 0:
        return count / size
    return intervals.masses[intervals.mass_at[event] + count]


@helper
def mass_between(intervals, event, first, last):
    """The probability that the event is at ``first`` or later, and at ``last`` or before."""
    return mass_until(intervals, event, last) - mass_until(intervals, event, first - 1)


@helper
def point_mass(intervals, event, time):
    """The probability that the event is at this instant of its interval."""
    lower = intervals.lower[event]
    if intervals.mass_at[event] < 0:
        return 1.0 / (intervals.upper[event] - lower + 1)
    place = intervals.mass_at[event] + time - lower
    return intervals.masses[place + 1] - intervals.masses[place]


@helper
def masses_until(intervals, event, time, count, until):
    """Write the probability that the event is at each of ``count`` times or before it."""
    mass_at, masses = intervals.mass_at[event], intervals.masses
    size = intervals.upper[event] - intervals.lower[event] + 1
    passed = time - intervals.lower[event] + 1
    if mass_at < 0:
        for k in range(count):
            until[k] = min(max(passed + k, 0), size) / size
    else:
        for k in range(count):
            until[k] = masses[mass_at + min(max(passed + k, 0), size)]


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
def valid_bounds(match, intervals):
    """Write the times that the events can have in a match [Zhang10 §5.1]; 0 if there are none.

    The window also moves the earliest time of the first event, and so those of the others.
    """
    tags, lo, hi, window = match.tags, match.lo, match.hi, match.window
    lower, upper = intervals.lower, intervals.upper
    count = len(tags)
    if count > window:
        return 0
    for i in range(count):
        event = tags[i] >> TAG_SHIFT
        lo[i] = lower[event] if i == 0 else max(lower[event], lo[i - 1] + 1)
    for i in range(count - 1, -1, -1):
        event = tags[i] >> TAG_SHIFT
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
def is_in(tags, event):
    """Whether the event is one of a match, or of a part of it."""
    for i in range(len(tags)):
        if tags[i] >> TAG_SHIFT == event:
            return True
    return False


@helper
def first_from(places, begin, end, lower, time):
    """The first place in places[begin:end], ordered by lower bound, that is not below it."""
    while begin < end:
        middle = (begin + end) >> 1
        if lower[places[middle]] < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@helper
def first_reaching(candidates, row, partition, lower, time):
    """The first candidate of a test that can lie at ``time`` or later."""
    borders = candidates.borders
    return first_from(
        candidates.places, borders[row, partition], borders[row, partition + 1], lower,
        time - candidates.reach[row],
    )  # fmt: skip


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
