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
from cepheid.engines.imprecise.layout import Intervals, Match, Scores, Signatures, SumRoom
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of


@helper
def _share(match, i, time, intervals):
    """The probability that event i of the match is at this time of its bounds."""
    if time < match.lo[i] or time > match.hi[i]:
        return 0.0
    return point_mass(intervals, match.tags[i] >> TAG_SHIFT, time)


@helper
def _whole(match, runs, intervals):
    """The sum if the window leaves out nothing: from the last instant back."""
    count = len(match.tags)
    for i in range(count):
        runs[0, i] = 0.0
    runs[0, count] = 1.0
    for time in range(match.hi[count - 1], match.lo[0] - 1, -1):
        for i in range(count):
            share = _share(match, i, time, intervals)
            runs[0, i] += share * runs[0, i + 1]
    return runs[0, 0]


@helper
def _begin_again(runs, last):
    """No instant: the matrix of a range without any."""
    for i in range(last + 1):
        for j in range(last + 1):
            runs[i, j] = 1.0 if i == j else 0.0


@helper
def _fill_front(match, begin, middle, runs, front, intervals):
    """The first row of the matrix from each time to the middle, from the middle back."""
    last = len(match.tags) - 1
    _begin_again(runs, last)
    for time in range(middle, begin - 1, -1):
        for i in range(last):
            share = _share(match, i + 1, time, intervals)
            if share > 0.0:
                for j in range(i + 1, last + 1):
                    runs[i, j] += share * runs[i + 1, j]
        for j in range(last + 1):
            front[time - begin, j] = runs[0, j]
    _begin_again(runs, last)


@helper
def _sliding(match, runs, front, intervals):
    """The sum if the window cuts."""
    lo, hi, window, last = match.lo, match.hi, match.window, len(match.tags) - 1
    total, until = 0.0, min(hi[last], lo[0] + window - 1)
    begun, middle = lo[0] + 1, until
    _fill_front(match, begun, middle, runs, front, intervals)
    for time in range(lo[0], hi[0] + 1):
        limit = min(hi[last], time + window - 1)
        while until < limit:
            until += 1
            for j in range(last, 0, -1):
                share = _share(match, j, until, intervals)
                if share > 0.0:
                    for i in range(j):
                        runs[i, j] += runs[i, j - 1] * share
        if time + 1 > middle:
            begun, middle = time + 1, until
            _fill_front(match, begun, middle, runs, front, intervals)
        mass = 0.0
        for j in range(last + 1):
            mass += front[time + 1 - begun, j] * runs[j, last]
        total += mass * _share(match, 0, time, intervals)
    return total


@helper
def _next_time(match, i, time, intervals):
    """The first time from this one on that event i can have, or one behind its bounds."""
    time = max(time, match.lo[i])
    while time <= match.hi[i] and _share(match, i, time, intervals) == 0.0:
        time += 1
    return time


@helper
def _earliest(match, end, time, intervals):
    """The earliest time of event ``end`` if the first is at ``time`` or soon after it."""
    for i in range(end + 1):
        time = _next_time(match, i, time, intervals)
        if time > match.hi[i]:
            return match.hi[end] + 1
        if i < end:
            time += 1
    return time


@helper
def _first_start(match, intervals):
    """The earliest time of the first event in any match; there is one."""
    time, last = match.lo[0], len(match.tags) - 1
    while True:
        time = _next_time(match, 0, time, intervals)
        end = _earliest(match, last, time, intervals)
        if end - time < match.window and end <= match.hi[last]:
            return time
        time += 1


@helper
def _last_end(match, intervals):
    """The latest time of the last event in any match; there is one."""
    lo, hi, last = match.lo, match.hi, len(match.tags) - 1
    for time in range(hi[last], lo[last], -1):
        if _share(match, last, time, intervals) > 0.0:
            if last == 0:
                return time
            first = max(lo[0], time - match.window + 1)
            before = _earliest(match, last - 1, first, intervals)
            if before < time and before <= hi[last - 1]:
                return time
    return lo[last]


@kernel(
    I64(
        type_of(Signatures), type_of(Intervals), I64, I64S, type_of(SumRoom), type_of(Scores),
    )
)  # fmt: skip
def sum_matches(signatures, intervals, window, wanted, room, scores):
    """Write the scores of matches ``wanted``, which have no rivals."""
    ids, offsets = signatures.ids, signatures.offsets
    confidences, starts, ends = scores
    for m in wanted:
        match = Match(ids[offsets[m] : offsets[m + 1]], room.bounds[0], room.bounds[1], window)
        count = len(match.tags)
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if valid_bounds(match, intervals) == 0:
            continue
        if count == 1 or match.hi[count - 1] - match.lo[0] < window:
            total = _whole(match, room.runs, intervals)
        else:
            total = _sliding(match, room.runs, room.front, intervals)
        if total > 0.0:
            confidences[m] = total
            starts[m], ends[m] = _first_start(match, intervals), _last_end(match, intervals)
    return 0
