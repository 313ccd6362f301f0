"""The confidence of a signature: the probability that it is a match [Zhang10 §4].

The events of a match lie at t_0 < t_1 < …, with t_last - t_0 < W. Other events, here *rivals*,
must not lie in certain gaps: under skip_till_next_match those that could have been taken before
t_j must not be between t_(j-1) and t_j; events of a negated component must not be at its place.
For given times of the match all rivals are independent of one another, so that

    confidence = Σ over t_0 < t_1 < …  of  Π P[event i at t_i] · Π P[rival not in its gaps].

Without rivals, and if all instants are equally likely, the worlds are counted instead (counts).
Here the sum is made event by event (chains), in a time that grows with the square of the
intervals and not with their product. A rival with gaps in several places (one that can match
several components) ties all times together. But it is in exactly one of a few *regions*: until
one time of the match, at one, between two that follow each other, or from one on; and for given
regions of all such rivals the sum is made as before. Only if there are very many choices of
regions are the times of the match enumerated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.chains import (
    Sums,
    add_answer,
    by_first_time,
    clear_answer,
    in_one_pass,
)
from cepheid.engines.imprecise.kernels.gaps import (
    AT_ENDS,
    TIED,
    Grids,
    MatchRivals,
    fill_grid,
    place_of,
    product_of_ends,
)
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    mass_between,
    mass_until,
    point_mass,
    valid_bounds,
)
from cepheid.engines.imprecise.layout import (
    AT_END,
    AT_START,
    Intervals,
    Match,
    Rivals,
    Scores,
    Signatures,
    WorldRoom,
)
from cepheid.events.arrays import Int64s
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

NEED_GRID = 1

_UNTIL, _AT, _BETWEEN, _FROM = 0, 1, 2, 3
_MOST_REGIONS = 2_000
"""With more choices of regions for all rivals the times are enumerated instead."""

NUMBER_ROWS = 10
"""The rows of numbers that the kernel works with."""


class _Regions(NamedTuple):
    """The regions of the rivals that tie times together.

    Those of the n-th rival begin at ``begins[n]``, and ``chosen[n]`` is one of them. The rows of
    ``kinds`` are the kind, the place and the shift of each region.
    """

    kinds: npt.NDArray[np.int64]
    begins: Int64s
    chosen: Int64s


@helper
def _enumerate(match, grids, rivals, sums, intervals):
    """The sum over all times of the match, if a rival ties them together."""
    lo, hi, count = match.lo, match.hi, len(match.tags)
    times, products, answer = sums.times, sums.products, sums.answer
    level = 0
    times[0] = lo[0] - 1
    while level >= 0:
        times[level] += 1
        limit = hi[level] if level == 0 else min(hi[level], times[0] + match.window - 1)
        if times[level] > limit:
            level -= 1
            continue
        time = times[level]
        product = point_mass(intervals, match.tags[level] >> TAG_SHIFT, time)
        if level > 0:
            product *= products[level - 1]
            if grids.at[level] >= 0:
                row = (times[level - 1] - lo[level - 1]) * (hi[level] - lo[level] + 1)
                product *= grids.cells[grids.at[level] + row + time - lo[level]]
        if product == 0.0:
            continue
        products[level] = product
        if level < count - 1:
            level += 1
            times[level] = max(lo[level], time + 1) - 1
            continue
        for wanted in (AT_ENDS, TIED):
            product *= product_of_ends(times, wanted, match, rivals, intervals)
        if product > 0.0:
            add_answer(answer, product, times[0], time)


@helper
def _add_region(regions, used, kind, place, shift):
    if used < regions.shape[1]:
        regions[0, used], regions[1, used], regions[2, used] = kind, place, shift
    return used + 1


@helper
def _regions_of(rivals, number, match, regions, used):
    """Write where a rival may be: in exactly one of these regions. Returns their end.

    A region is its kind, the number of the event or gap that bounds it, and how far from the
    time of that event.
    """
    begin, last = -1, len(match.tags) - 1
    for gap in range(rivals.gap_offsets[number], rivals.gap_offsets[number + 1]):
        at = rivals.gaps[gap]
        end = at - 1
        if at == AT_START:
            used = _add_region(regions, used, _UNTIL, last, -match.window)
            begin = 0
            continue
        if at == AT_END:
            end = last
        if begin < 0:
            used = _add_region(regions, used, _UNTIL, end, 0)
        else:
            for place in range(begin, end + 1):
                used = _add_region(regions, used, _AT, place, 0)
                if place < end:
                    used = _add_region(regions, used, _BETWEEN, place + 1, 0)
        begin = at
    if begin == AT_END:
        return _add_region(regions, used, _FROM, 0, match.window)
    return _add_region(regions, used, _FROM, begin, 0)


@helper
def _restrict(grids, match, rival, kind, place, moved, intervals):
    """Multiply the grids by the probability that a rival is in a region."""
    lo, hi = match.lo, match.hi
    gap = max(place, 1)
    width = hi[gap] - lo[gap] + 1
    for before in range(lo[gap - 1], hi[gap - 1] + 1):
        for after in range(max(lo[gap], before + 1), hi[gap] + 1):
            time = (before if place == 0 else after) + moved
            if kind == _UNTIL:
                share = mass_until(intervals, rival, time)
            elif kind == _FROM:
                share = 1.0 - mass_until(intervals, rival, time - 1)
            elif kind == _AT:
                share = mass_between(intervals, rival, time, time)
            else:
                share = mass_between(intervals, rival, before + 1, after - 1)
            row = (before - lo[gap - 1]) * width
            grids.cells[grids.at[gap] + row + after - lo[gap]] *= share


@helper
def _list_regions(match, rivals, regions):
    """List the regions of each rival that ties the times together; how many such rivals there are.

    Returns -1 if there are too many choices.
    """
    tied, end, choices = 0, 0, 1
    for r in range(len(rivals.events)):
        if rivals.places[r] == TIED:
            regions.begins[tied] = end
            end = _regions_of(rivals, r, match, regions.kinds, end)
            choices *= end - regions.begins[tied]
            regions.chosen[tied] = regions.begins[tied]
            tied += 1
            if choices > _MOST_REGIONS or end > regions.kinds.shape[1]:
                return -1
    regions.begins[tied] = end
    return tied


@helper
def _by_region(match, grids, has_ends, rivals, regions, sums, intervals):
    """The sum for each choice of a region for every rival that ties the times together.

    There is one choice if no rival does. Returns 0 if there are too many. Regions restrict a
    copy of the grids, which follows them.
    """
    tied, count = _list_regions(match, rivals, regions), len(match.tags)
    if tied < 0:
        return 0
    answer, kinds, chosen = sums.answer, regions.kinds, regions.chosen
    total, start, latest = 0.0, float(FAR), -float(FAR)
    base = grids.end if tied > 0 else 0
    restricted = Grids(grids.cells, grids.at, base + grids.end)
    for i in range(1, count):
        if grids.at[i] >= 0:
            grids.at[i] += base
    while True:
        for cell in range(base):
            grids.cells[base + cell] = grids.cells[cell]
        number = 0
        for r in range(len(rivals.events)):
            if rivals.places[r] == TIED:
                region = chosen[number]
                _restrict(
                    restricted, match, rivals.events[r], kinds[0, region], kinds[1, region],
                    kinds[2, region], intervals,
                )  # fmt: skip
                number += 1
        clear_answer(answer)
        if has_ends or (count > 1 and match.hi[count - 1] - match.lo[0] >= match.window):
            by_first_time(match, restricted, has_ends, rivals, sums, intervals)
        else:
            in_one_pass(match, restricted, sums.work, answer, intervals)
        if answer[0] > 0.0:
            total += answer[0]
            start, latest = min(start, answer[1]), max(latest, answer[2])
        number = 0
        while number < tied:
            chosen[number] += 1
            if chosen[number] < regions.begins[number + 1]:
                break
            chosen[number] = regions.begins[number]
            number += 1
        if number == tied:
            break
    for i in range(1, count):
        if grids.at[i] >= 0:
            grids.at[i] -= base
    answer[0], answer[1], answer[2] = total, start, latest
    return 1


@kernel(
    I64(
        type_of(Signatures), type_of(Intervals), I64, type_of(Rivals), I64S, type_of(WorldRoom),
        type_of(Scores), I64S,
    )
)  # fmt: skip
def score_matches(signatures, intervals, window, all_rivals, wanted, room, scores, at):
    """Write the scores of matches ``wanted``; 0 if no world has the match.

    If the grid is too small, ``at[0]`` is the place in ``wanted`` to resume at and ``at[1]`` the
    size that it needs. A row of numbers has room for the events, and the rivals and one more, of a
    match; a row of masses, for the instants of an event.
    """
    numbers, work, grid = room.numbers, room.work, room.grid
    lo, hi, grid_at, places = numbers[0], numbers[1], numbers[2], numbers[3]
    sums = Sums(numbers[4], room.products[3:], work, room.products[:3])
    regions = _Regions(numbers[7:10], numbers[5], numbers[6])
    answer = sums.answer
    for number in range(at[0], len(wanted)):
        if room.pace[0] <= 0:
            at[0] = number
            return PAUSE
        m = wanted[number]
        match = Match(
            signatures.ids[signatures.offsets[m] : signatures.offsets[m + 1]], lo, hi, window
        )
        count = len(match.tags)
        first, last = all_rivals.offsets[m], all_rivals.offsets[m + 1]
        rivals = MatchRivals(
            all_rivals.events[first:last], places, all_rivals.gap_offsets[first : last + 1],
            all_rivals.gaps,
        )  # fmt: skip
        scores.confidences[m], scores.starts[m], scores.ends[m] = 0.0, 0, 0
        if valid_bounds(match, intervals) == 0:
            continue
        grid_at[:count] = -1
        is_tied, has_ends, used, size = False, False, 0, 0
        if last > first:
            for r in range(last - first):
                place = place_of(rivals, r)
                places[r] = place
                is_tied = is_tied or place == TIED
                has_ends = has_ends or place == AT_ENDS
                if place > 0:
                    grid_at[place] = 0
            for i in range(1, count):
                size = (hi[i - 1] - lo[i - 1] + 1) * (hi[i] - lo[i] + 1)
                if is_tied or grid_at[i] >= 0:
                    grid_at[i] = used
                    used += size
        # The grids, a copy if regions restrict them, and the tails of the last one.
        needed = used * (1 + is_tied) + size
        if needed > len(grid):
            at[0], at[1] = number, needed
            return NEED_GRID
        # How long choices of regions take is not known before.
        room.pace[0] -= room.pace[0] if is_tied else needed + count
        grids = Grids(grid, grid_at, used)
        for i in range(1, count):
            if grid_at[i] >= 0:
                fill_grid(grids, i, match, rivals, work, intervals)
        if not _by_region(match, grids, has_ends, rivals, regions, sums, intervals):
            clear_answer(answer)
            _enumerate(match, grids, rivals, sums, intervals)
        if answer[0] > 0.0:
            scores.confidences[m] = answer[0]
            scores.starts[m], scores.ends[m] = int(answer[1]), int(answer[2])
    return DONE
