"""The probability that no rival of a match is in its gaps, for given times of the match.

The gap of a place j > 0 is between the events j - 1 and j of the match. The probability that it
is empty is kept in a *grid*, a number for each pair of times of these two events.
"""

from __future__ import annotations

from typing import NamedTuple

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import FAR, mass_until, masses_until
from cepheid.engines.imprecise.layout import AT_END, AT_START, Floats
from cepheid.events.arrays import Int64s
from cepheid.jit.decorators import helper

_COMPONENT = (1 << TAG_SHIFT) - 1

AT_ENDS, TIED = -3, -4
"""The places of rivals with gaps only there, and with gaps in several places."""


class MatchRivals(NamedTuple):
    """The rivals of one match: their events and their places.

    The gaps of the n-th are ``gaps[gap_offsets[n]:gap_offsets[n + 1]]``.
    """

    events: Int64s
    places: Int64s
    gap_offsets: Int64s
    gaps: Int64s


class Grids(NamedTuple):
    """The grids of a match: that of place j begins at ``at[j]``, negative if there is none.

    The cells from ``end`` on are free.
    """

    cells: Floats
    at: Int64s
    end: int


@helper
def gap_of(tags, after, before):
    """The place in a match of the gap after component ``after`` and before ``before``."""
    if after < 0:
        return AT_START
    if before < 0:
        return AT_END
    place = 0
    while place < len(tags) and (tags[place] & _COMPONENT) <= after:
        place += 1
    return place


@helper
def place_of(rivals, number):
    """The one gap of a rival, or that its gaps are at the ends, or in several places."""
    found, ends = 0, False
    for gap in range(rivals.gap_offsets[number], rivals.gap_offsets[number + 1]):
        at = rivals.gaps[gap]
        if at == AT_START or at == AT_END:
            ends = True
        elif found != 0:
            return TIED
        else:
            found = at
    if ends:
        return TIED if found != 0 else AT_ENDS
    return found


@helper
def fill_grid(grids, gap, match, rivals, work, intervals):
    """The probability that no rival is in the gap, for each pair of times around it.

    It is 0 exactly where all instants of a rival are between the two. ``work`` is scratch.
    """
    lo, hi = match.lo, match.hi
    start, width, height = lo[gap], hi[gap] - lo[gap] + 1, hi[gap - 1] - lo[gap - 1] + 1
    until, beyond = work[0], work[1]
    cells = grids.cells[grids.at[gap] : grids.at[gap] + height * width]
    for k in range(len(cells)):
        cells[k] = 1.0
    for r in range(len(rivals.events)):
        if rivals.places[r] != gap:
            continue
        rival = rivals.events[r]
        earliest, latest = intervals.lower[rival], intervals.upper[rival]
        masses_until(intervals, rival, lo[gap - 1], height, until)
        masses_until(intervals, rival, start - 1, width, beyond)
        for k in range(width):
            beyond[k] = 1.0 - beyond[k]
        for before in range(lo[gap - 1], min(hi[gap - 1], latest - 1) + 1):
            share = until[before - lo[gap - 1]]
            # Slices from 0 on: loops over them are vectorised.
            skipped = max(before, earliest, start - 1) + 1 - start
            row = (before - lo[gap - 1]) * width
            shares, late = cells[row + skipped : row + width], beyond[skipped:width]
            for k in range(len(shares)):
                shares[k] *= share + late[k]


@helper
def _kept_out(rivals, number, times, match, intervals):
    """The probability that a rival is in none of its gaps, which are in time order."""
    rival, last = rivals.events[number], len(match.tags) - 1
    share = 0.0
    start = -FAR
    for gap in range(rivals.gap_offsets[number], rivals.gap_offsets[number + 1]):
        at = rivals.gaps[gap]
        if at == AT_START:
            after, before = times[last] - match.window, times[0]
        elif at == AT_END:
            after, before = times[last], times[0] + match.window
        else:
            after, before = times[at - 1], times[at]
        share += mass_until(intervals, rival, after)
        if start != -FAR:
            share -= mass_until(intervals, rival, start - 1)
        start = before
    return share + (1.0 - mass_until(intervals, rival, start - 1))


@helper
def product_of_ends(times, wanted, match, rivals, intervals):
    """The probability that no rival with such a place is in its gaps."""
    share = 1.0
    for r in range(len(rivals.events)):
        if rivals.places[r] == wanted:
            share *= _kept_out(rivals, r, times, match, intervals)
    return share
