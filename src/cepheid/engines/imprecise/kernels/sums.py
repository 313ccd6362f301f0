"""The confidence of a signature without rivals, in a time that grows with the instants it spans.

It is a sum over t_0 of P[event 0 at t_0] times the mass of the others, in order, in the window
that t_0 begins. The masses of all runs of events in a range of time are a matrix: entry (i, j) is
that of the events i + 1 to j, and the matrix of a range is the product of those of its parts. The
window moves on by an instant at a time: as with a queue made of two stacks, the part before a
middle is kept for each of its beginnings, made from the middle back, and the part behind it grows.
No number is subtracted from another, so that small confidences keep their digits.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import point_mass, valid_bounds
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, I64S_2D, helper, kernel

SUMMED, NEED_ROOM = 0, 1


@helper
def _share(ids, low, i, time, lo, hi, lower, upper, mass_at, masses):
    """The probability that event i of the match is at this time of its bounds."""
    if time < lo[i] or time > hi[i]:
        return 0.0
    return point_mass(lower, upper, mass_at, masses, ids[low + i] >> TAG_SHIFT, time)


@helper
def _whole(ids, low, count, lo, hi, runs, lower, upper, mass_at, masses):
    """The sum where the window leaves out nothing: from the last instant back."""
    for i in range(count):
        runs[0, i] = 0.0
    runs[0, count] = 1.0
    for time in range(hi[count - 1], lo[0] - 1, -1):
        for i in range(count):
            share = _share(ids, low, i, time, lo, hi, lower, upper, mass_at, masses)
            runs[0, i] += share * runs[0, i + 1]
    return runs[0, 0]


@helper
def _begin_again(runs, last):
    """No instant: the matrix of a range without any."""
    for i in range(last + 1):
        for j in range(last + 1):
            runs[i, j] = 1.0 if i == j else 0.0


@helper
def _fill_front(ids, low, last, begin, middle, lo, hi, runs, front, lower, upper, mass_at, masses):
    """The first row of the matrix from each time to the middle, from the middle back."""
    _begin_again(runs, last)
    for time in range(middle, begin - 1, -1):
        for i in range(last):
            share = _share(ids, low, i + 1, time, lo, hi, lower, upper, mass_at, masses)
            if share > 0.0:
                for j in range(i + 1, last + 1):
                    runs[i, j] += share * runs[i + 1, j]
        for j in range(last + 1):
            front[time - begin, j] = runs[0, j]
    _begin_again(runs, last)


@helper
def _sliding(ids, low, count, window, lo, hi, runs, front, lower, upper, mass_at, masses):
    """The sum where the window cuts."""
    last = count - 1
    total, until = 0.0, min(hi[last], lo[0] + window - 1)
    begun, middle = lo[0] + 1, until
    _fill_front(ids, low, last, begun, middle, lo, hi, runs, front, lower, upper, mass_at, masses)
    for time in range(lo[0], hi[0] + 1):
        limit = min(hi[last], time + window - 1)
        while until < limit:
            until += 1
            for j in range(last, 0, -1):
                share = _share(ids, low, j, until, lo, hi, lower, upper, mass_at, masses)
                if share > 0.0:
                    for i in range(j):
                        runs[i, j] += runs[i, j - 1] * share
        if time + 1 > middle:
            begun, middle = time + 1, until
            _fill_front(
                ids, low, last, begun, middle, lo, hi, runs, front, lower, upper, mass_at, masses
            )
        mass = 0.0
        for j in range(last + 1):
            mass += front[time + 1 - begun, j] * runs[j, last]
        total += mass * _share(ids, low, 0, time, lo, hi, lower, upper, mass_at, masses)
    return total


@helper
def _next_time(ids, low, i, time, lo, hi, lower, upper, mass_at, masses):
    """The first time from this one on that event i can have, or one behind its bounds."""
    time = max(time, lo[i])
    while time <= hi[i] and _share(ids, low, i, time, lo, hi, lower, upper, mass_at, masses) == 0.0:
        time += 1
    return time


@helper
def _earliest(ids, low, end, time, lo, hi, lower, upper, mass_at, masses):
    """The earliest time of event ``end`` where the first is at ``time`` or soon after it."""
    for i in range(end + 1):
        time = _next_time(ids, low, i, time, lo, hi, lower, upper, mass_at, masses)
        if time > hi[i]:
            return hi[end] + 1
        if i < end:
            time += 1
    return time


@helper
def _first_start(ids, low, count, window, lo, hi, lower, upper, mass_at, masses):
    """The earliest time of the first event in any match; there is one."""
    time = lo[0]
    while True:
        time = _next_time(ids, low, 0, time, lo, hi, lower, upper, mass_at, masses)
        end = _earliest(ids, low, count - 1, time, lo, hi, lower, upper, mass_at, masses)
        if end - time < window and end <= hi[count - 1]:
            return time
        time += 1


@helper
def _last_end(ids, low, count, window, lo, hi, lower, upper, mass_at, masses):
    """The latest time of the last event in any match; there is one."""
    last = count - 1
    for time in range(hi[last], lo[last], -1):
        if _share(ids, low, last, time, lo, hi, lower, upper, mass_at, masses) > 0.0:
            if last == 0:
                return time
            first = max(lo[0], time - window + 1)
            before = _earliest(ids, low, last - 1, first, lo, hi, lower, upper, mass_at, masses)
            if before < time and before <= hi[last - 1]:
                return time
    return lo[last]


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, F64S, I64, I64S, I64S_2D, F64S_2D, F64S_2D, F64S, I64S, I64S,
        I64S,
    )
)  # fmt: skip
def sum_matches(
    ids, offsets, lower, upper, mass_at, masses, window, wanted, numbers, runs, front, confidences,
    starts, ends, at,
):  # fmt: skip
    """Write the confidence and the range of time of matches ``wanted``, which have no rivals.

    ``numbers``, ``runs`` and ``front`` are scratch: where one is too small, ``at[0]`` is the
    place in ``wanted`` to go on with, ``at[1]`` the events and ``at[2]`` the instants it needs
    room for.
    """
    lo, hi = numbers[0], numbers[1]
    for number in range(at[0], len(wanted)):
        m = wanted[number]
        low, high = offsets[m], offsets[m + 1]
        count = high - low
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if count + 1 > runs.shape[1]:
            at[0], at[1], at[2] = number, count + 1, 0
            return NEED_ROOM
        if valid_bounds(ids, low, high, lower, upper, window, lo, hi) == 0:
            continue
        span = hi[count - 1] - lo[0] + 2
        if span > len(front):
            at[0], at[1], at[2] = number, count + 1, span
            return NEED_ROOM
        if count == 1 or hi[count - 1] - lo[0] < window:
            total = _whole(ids, low, count, lo, hi, runs, lower, upper, mass_at, masses)
        else:
            total = _sliding(
                ids, low, count, window, lo, hi, runs, front, lower, upper, mass_at, masses
            )
        if total > 0.0:
            confidences[m] = total
            starts[m] = _first_start(ids, low, count, window, lo, hi, lower, upper, mass_at, masses)
            ends[m] = _last_end(ids, low, count, window, lo, hi, lower, upper, mass_at, masses)
    return SUMMED
