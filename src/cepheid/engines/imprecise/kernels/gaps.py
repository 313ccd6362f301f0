"""What the rivals of a match have to say for given times of it: that none is in its gaps.

The gap of a place j > 0 is between the events j - 1 and j of the match. The probability that it
is empty is kept in a *grid*, a number for each pair of times of these two events.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import FAR, mass_until, masses_until
from cepheid.jit.decorators import helper

_COMPONENT = (1 << TAG_SHIFT) - 1

AT_START, AT_END = -1, -2
"""Gaps before the first and after the last event, as far as the window reaches."""

AT_ENDS, TIED = -3, -4
"""The places of rivals with gaps only there, and with gaps in several places."""


@helper
def gap_of(ids, low, high, after, before):
    """Where the gap after component ``after`` and before component ``before`` is in a match."""
    if after < 0:
        return AT_START
    if before < 0:
        return AT_END
    place = 0
    while low + place < high and (ids[low + place] & _COMPONENT) <= after:
        place += 1
    return place


@helper
def place_of(bits, gap_at, gaps):
    """The one gap of a rival, or that its gaps are at the ends, or in several places."""
    found, ends = 0, False
    for gap in range(gaps):
        if (bits >> gap) & 1:
            at = gap_at[gap]
            if at == AT_START or at == AT_END:
                ends = True
            elif found != 0 and found != at:
                return TIED
            else:
                found = at
    if ends:
        return TIED if found != 0 else AT_ENDS
    return found


@helper
def fill_grid(grid, offset, gap, lo, hi, rivals, first, last, places, work, lower, upper, mass_at,
              masses):  # fmt: skip
    """The probability that no rival is in the gap, for each pair of times around it.

    It is 0 exactly where all instants of a rival are between the two. ``work`` is scratch.
    """
    start, width, height = lo[gap], hi[gap] - lo[gap] + 1, hi[gap - 1] - lo[gap - 1] + 1
    until, beyond = work[0], work[1]
    cells = grid[offset : offset + height * width]
    for k in range(len(cells)):
        cells[k] = 1.0
    for r in range(first, last):
        if places[r - first] != gap:
            continue
        rival = rivals[r]
        masses_until(lower, upper, mass_at, masses, rival, lo[gap - 1], height, until)
        masses_until(lower, upper, mass_at, masses, rival, start - 1, width, beyond)
        for k in range(width):
            beyond[k] = 1.0 - beyond[k]
        for before in range(lo[gap - 1], min(hi[gap - 1], upper[rival] - 1) + 1):
            share = until[before - lo[gap - 1]]
            # Slices from 0 on: loops over them are vectorised.
            skipped = max(before, lower[rival], start - 1) + 1 - start
            row = (before - lo[gap - 1]) * width
            shares, late = cells[row + skipped : row + width], beyond[skipped:width]
            for k in range(len(shares)):
                shares[k] *= share + late[k]


@helper
def _kept_out(rival, bits, gap_at, gaps, times, count, window, lower, upper, mass_at, masses):
    """The probability that a rival is in none of its gaps, which are in the order of time."""
    share = 0.0
    start = -FAR
    previous = 0
    for gap in range(gaps):
        if (bits >> gap) & 1:
            at = gap_at[gap]
            if at == previous:
                continue
            previous = at
            if at == AT_START:
                after, before = times[count - 1] - window, times[0]
            elif at == AT_END:
                after, before = times[count - 1], times[0] + window
            else:
                after, before = times[at - 1], times[at]
            share += mass_until(lower, upper, mass_at, masses, rival, after)
            if start != -FAR:
                share -= mass_until(lower, upper, mass_at, masses, rival, start - 1)
            start = before
    return share + (1.0 - mass_until(lower, upper, mass_at, masses, rival, start - 1))


@helper
def product_of_ends(times, count, window, wanted, rivals, bits, first, last, places, gap_at, gaps,
                    lower, upper, mass_at, masses):  # fmt: skip
    """The probability that no rival with such a place is in its gaps."""
    share = 1.0
    for r in range(first, last):
        if places[r - first] == wanted:
            share *= _kept_out(
                rivals[r], bits[r], gap_at, gaps, times, count, window, lower, upper, mass_at,
                masses,
            )  # fmt: skip
    return share
