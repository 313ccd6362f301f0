"""The confidence of a signature by counting, if all instants are equally likely.

Its worlds are then the integers t_0 < t_1 < … in their intervals, with t_last - t_0 < W, and
they are counted in a time that does not grow with the intervals. Without the window,

    ways(m) = Σ over j <= m  of  (-1)^(m-j) · ways(j-1) · falling(j, m)

by inclusion and exclusion: a run of events j to m that all violate the order falls from one
to the next, and as the bounds rise from event to event it is any falling sequence between the
earliest time of m and the latest of j; of r numbers out of v there are C(v + r - 1, r). If the
window cuts, the ways of the others are a polynomial of the first time, piece by piece, so
that a few values of each piece give its sum (Newton's forward differences).

All is done in integers modulo 2^64, so that nothing is lost by subtracting.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import valid_bounds
from cepheid.engines.imprecise.layout import Intervals, Match, Scores, Signatures
from cepheid.jit.decorators import I64, I64S, I64S_2D, helper, kernel, type_of

MOST_COUNTED = 8
"""With more events than this their times are summed one by one."""

_MOST_WAYS = float(1 << 60)


@helper
def _is_countable(match, mass_at):
    """Whether all events are equally likely anywhere, and the numbers are within 64 bits."""
    count = len(match.tags)
    if count > MOST_COUNTED:
        return False
    for i in range(count):
        if mass_at[match.tags[i] >> TAG_SHIFT] >= 0:
            return False
    most, span = 1.0, float(match.hi[count - 1] - match.lo[0] + 1 + count)
    for _ in range(count):
        most *= span
    return most < _MOST_WAYS


@helper
def _choose(count, size):
    """The number of subsets of this size."""
    chosen = 1
    for i in range(size):
        chosen = chosen * (count - i) // (i + 1)
    return chosen


@helper
def _ways(lo, hi, first, count, time, window, ways):
    """How many rising times the events ``first`` to ``count - 1`` have.

    Those before are at ``time`` and the window begins there; both bounds rise.
    """
    ways[0] = 1
    last = count - 1
    for m in range(first, count):
        earliest = max(lo[m], time + m)
        total, sign = 0, 1
        for j in range(m, first - 1, -1):
            values = min(hi[j], time + window - 1 - (last - j)) - earliest + 1
            if values <= 0:
                break
            size = m - j + 1
            if size == 1:
                falling = values
            elif size == 2:
                falling = (values * (values + 1)) >> 1
            else:
                falling = _choose(values + size - 1, size)
            total += sign * falling * ways[j - first]
            sign = -sign
        ways[m - first + 1] = total
    return ways[count - first]


@helper
def _add_break(breaks, used, time, begin, end):
    """Keep the times in order, each once."""
    if time <= begin or time >= end:
        return used
    place = used
    while place > 0 and breaks[place - 1] > time:
        place -= 1
    if place > 0 and breaks[place - 1] == time:
        return used
    for i in range(used, place, -1):
        breaks[i] = breaks[i - 1]
    breaks[place] = time
    return used + 1


@helper
def _pieces(lo, hi, count, window, breaks):
    """The first times at which the ways of the others become another polynomial."""
    begin, end, used, last = lo[0], hi[0], 0, count - 1
    for m in range(1, count):
        used = _add_break(breaks, used, lo[m] - m, begin, end)
        used = _add_break(breaks, used, hi[m] - window + 1 + last - m, begin, end)
        for j in range(1, m):
            used = _add_break(breaks, used, hi[j] - m + 1, begin, end)
            used = _add_break(breaks, used, lo[m] - window + last - j, begin, end)
    return used


@helper
def _counted(match, intervals, breaks, samples, ways):
    """The share of the worlds in which the events are in order in one window."""
    lo, hi, window, count = match.lo, match.hi, match.window, len(match.tags)
    if hi[count - 1] - lo[0] < window:
        total = _ways(lo, hi, 0, count, lo[0], window, ways)
    else:
        total, begin = 0, lo[0]
        used = _pieces(lo, hi, count, window, breaks)
        for piece in range(used + 1):
            end = breaks[piece] if piece < used else hi[0] + 1
            size = end - begin
            known = min(size, count)
            for k in range(known):
                samples[k] = _ways(lo, hi, 1, count, begin + k, window, ways)
            if size <= count:
                for k in range(known):
                    total += samples[k]
            else:
                chosen = 1
                for k in range(known):
                    chosen = chosen * (size - k) // (k + 1)
                    total += samples[0] * chosen
                    for i in range(known - 1 - k):
                        samples[i] = samples[i + 1] - samples[i]
            begin = end
    worlds = 1.0
    for i in range(count):
        event = match.tags[i] >> TAG_SHIFT
        worlds *= intervals.upper[event] - intervals.lower[event] + 1
    return total / worlds


@kernel(
    I64(
        type_of(Signatures), type_of(Intervals), I64, I64S, I64S_2D, type_of(Scores), I64S,
    )
)  # fmt: skip
def count_matches(signatures, intervals, window, rival_offsets, numbers, scores, others):
    """Write the scores of the matches whose worlds can be counted.

    Matches with rivals are left out; the numbers of the matches that cannot be counted go to
    ``others``; returns how many. ``numbers`` is scratch of five rows, which a match must fit
    into, and MOST_COUNTED ** 2 numbers.
    """
    ids, offsets = signatures.ids, signatures.offsets
    confidences, starts, ends = scores
    lo, hi, breaks, samples, ways = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    left = 0
    for m in range(len(offsets) - 1):
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if rival_offsets[m] < rival_offsets[m + 1]:
            continue
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        if valid_bounds(match, intervals) != 0:
            if _is_countable(match, intervals.mass_at):
                confidences[m] = _counted(match, intervals, breaks, samples, ways)
                starts[m], ends[m] = lo[0], hi[len(match.tags) - 1]
            else:
                others[left] = m
                left += 1
    return left
