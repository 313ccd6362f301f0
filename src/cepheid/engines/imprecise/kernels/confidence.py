"""The confidence of a signature: the probability that it is a match [Zhang10 §4].

The events of a match lie at t_0 < t_1 < …, with t_last - t_0 < W. Other events, here *rivals*,
must not lie in certain gaps: under skip_till_next_match those that could have been taken before
t_j must not be between t_(j-1) and t_j; those that a negated component speaks of must not be at
its place. For given times of the match all rivals are independent of one another, so that

    confidence = Σ over t_0 < t_1 < …  of  Π P[event i at t_i] · Π P[rival not in its gaps].

Without rivals, and where all instants are equally likely, the worlds are counted instead
(imprecise_counts). Here the sum is made event by event (imprecise_chains), in a time that grows
with the square of the intervals and not with their product. A rival with gaps in several places
(one that can match several components) ties all times together. But it is in exactly one of a
few *regions*: until one time of the match, at one, between two that follow each other, or from
one on; and for given regions of all such rivals the sum is made as before. Only where these are
very many are the times of the match enumerated.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.chains import by_first_time, in_one_pass
from cepheid.engines.imprecise.kernels.gaps import (
    AT_END,
    AT_ENDS,
    AT_START,
    TIED,
    fill_grid,
    gap_of,
    place_of,
    product_of_ends,
)
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    mass_until,
    point_mass,
    valid_bounds,
)
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, array_of, helper, kernel

WEIGHED, NEED_ROOM, NEED_GRID = 0, 1, 2

_UNTIL, _AT, _BETWEEN, _FROM = 0, 1, 2, 3
_MOST_REGIONS = 2_000
"""With more choices of regions for all rivals the times are enumerated instead."""


@helper
def _enumerate(ids, low, count, window, lo, hi, times, weights, grid, grid_at, rivals, bits, first,
               last, places, gap_at, gaps, lower, upper, mass_at, masses, answer):  # fmt: skip
    """The sum over all times of the match, where a rival ties them together."""
    level = 0
    times[0] = lo[0] - 1
    while level >= 0:
        times[level] += 1
        limit = hi[level] if level == 0 else min(hi[level], times[0] + window - 1)
        if times[level] > limit:
            level -= 1
            continue
        time = times[level]
        event = ids[low + level] >> TAG_SHIFT
        weight = point_mass(lower, upper, mass_at, masses, event, time)
        if level > 0:
            weight *= weights[level - 1]
            if grid_at[level] >= 0:
                width = hi[level] - lo[level] + 1
                weight *= grid[
                    grid_at[level] + (times[level - 1] - lo[level - 1]) * width + time - lo[level]
                ]
        if weight == 0.0:
            continue
        weights[level] = weight
        if level < count - 1:
            level += 1
            times[level] = max(lo[level], time + 1) - 1
            continue
        for wanted in (AT_ENDS, TIED):
            weight *= product_of_ends(
                times, count, window, wanted, rivals, bits, first, last, places, gap_at, gaps,
                lower, upper, mass_at, masses,
            )  # fmt: skip
        if weight > 0.0:
            answer[0] += weight
            answer[1] = min(answer[1], float(times[0]))
            answer[2] = max(answer[2], float(time))


@helper
def _add_region(regions, used, kind, place, shift):
    if used < regions.shape[1]:
        regions[0, used], regions[1, used], regions[2, used] = kind, place, shift
    return used + 1


@helper
def _regions_of(bits, gap_at, gaps, count, window, regions, used):
    """Write where a rival may be: in one of these regions, and in no two. Returns their end.

    A region is its kind, the number of the event or gap that bounds it, and how far from the
    time of that event.
    """
    begin, previous = -1, 0
    for gap in range(gaps):
        at = gap_at[gap]
        if (bits >> gap) & 1 == 0 or at == previous:
            continue
        previous = at
        end = at - 1
        if at == AT_START:
            used = _add_region(regions, used, _UNTIL, count - 1, -window)
            begin = 0
            continue
        if at == AT_END:
            end = count - 1
        if begin < 0:
            used = _add_region(regions, used, _UNTIL, end, 0)
        else:
            for place in range(begin, end + 1):
                used = _add_region(regions, used, _AT, place, 0)
                if place < end:
                    used = _add_region(regions, used, _BETWEEN, place + 1, 0)
        begin = at
    if previous == AT_END:
        return _add_region(regions, used, _FROM, 0, window)
    return _add_region(regions, used, _FROM, begin, 0)


@helper
def _restrict(grid, shift, grid_at, lo, hi, rival, kind, place, moved, lower, upper, mass_at,
              masses):  # fmt: skip
    """Multiply the grids by the probability that a rival is in a region."""
    gap = max(place, 1)
    width = hi[gap] - lo[gap] + 1
    offset = shift + grid_at[gap]
    for before in range(lo[gap - 1], hi[gap - 1] + 1):
        for after in range(max(lo[gap], before + 1), hi[gap] + 1):
            time = (before if place == 0 else after) + moved
            if kind == _UNTIL:
                share = mass_until(lower, upper, mass_at, masses, rival, time)
            elif kind == _FROM:
                share = 1.0 - mass_until(lower, upper, mass_at, masses, rival, time - 1)
            elif kind == _AT:
                share = mass_until(lower, upper, mass_at, masses, rival, time) - mass_until(
                    lower, upper, mass_at, masses, rival, time - 1
                )
            else:
                share = mass_until(lower, upper, mass_at, masses, rival, after - 1) - mass_until(
                    lower, upper, mass_at, masses, rival, before
                )
            grid[offset + (before - lo[gap - 1]) * width + after - lo[gap]] *= share


@helper
def _by_region(ids, low, count, window, lo, hi, times, work, grid, grid_at, used, has_ends, rivals,
               bits, first, last, places, gap_at, gaps, regions, begins, chosen, lower, upper,
               mass_at, masses, answer):  # fmt: skip
    """The sum for each choice of a region for every rival that ties the times together.

    There is one choice where none does. Returns 0 where there are too many. Where regions
    restrict the grids, this is done to a copy of them, which begins at ``used``.
    """
    tied, end, choices = 0, 0, 1
    for r in range(first, last):
        if places[r - first] == TIED:
            begins[tied] = end
            end = _regions_of(bits[r], gap_at, gaps, count, window, regions, end)
            choices *= end - begins[tied]
            chosen[tied] = begins[tied]
            tied += 1
            if choices > _MOST_REGIONS or end > regions.shape[1]:
                return 0
    begins[tied] = end
    total, start, latest = 0.0, float(FAR), -float(FAR)
    base = used if tied > 0 else 0
    for i in range(1, count):
        if grid_at[i] >= 0:
            grid_at[i] += base
    while True:
        for cell in range(base):
            grid[base + cell] = grid[cell]
        number = 0
        for r in range(first, last):
            if places[r - first] == TIED:
                region = chosen[number]
                _restrict(
                    grid, 0, grid_at, lo, hi, rivals[r], regions[0, region], regions[1, region],
                    regions[2, region], lower, upper, mass_at, masses,
                )  # fmt: skip
                number += 1
        answer[0], answer[1], answer[2] = 0.0, float(FAR), -float(FAR)
        if has_ends or (count > 1 and hi[count - 1] - lo[0] >= window):
            by_first_time(
                ids, low, count, window, lo, hi, times, work, grid, grid_at, base + used,
                has_ends, rivals, bits, first, last, places, gap_at, gaps, lower, upper, mass_at,
                masses, answer,
            )  # fmt: skip
        else:
            in_one_pass(
                ids, low, count, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses, answer
            )
        if answer[0] > 0.0:
            total += answer[0]
            start, latest = min(start, answer[1]), max(latest, answer[2])
        number = 0
        while number < tied:
            chosen[number] += 1
            if chosen[number] < begins[number + 1]:
                break
            chosen[number] = begins[number]
            number += 1
        if number == tied:
            break
    for i in range(1, count):
        if grid_at[i] >= 0:
            grid_at[i] -= base
    answer[0], answer[1], answer[2] = total, start, latest
    return 1


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, F64S, I64, I64S, I64S, I64S, I64S, I64S, array_of("i8", 2),
        F64S_2D, F64S, F64S, I64S, I64S, F64S, I64S, I64S,
    )
)  # fmt: skip
def weigh_matches(
    ids, offsets, lower, upper, mass_at, masses, window, rival_offsets, rivals, rival_bits,
    gap_after, gap_before, numbers, work, grid, confidences, starts, ends, weights, wanted, at,
):  # fmt: skip
    """Write the confidence and the range of time of matches ``wanted``; 0 where no world has it.

    ``rivals[rival_offsets[m]:rival_offsets[m + 1]]`` are those of match m, and bit g of
    ``rival_bits`` says that gap g is forbidden to it. ``gap_after`` and ``gap_before`` are the
    components around each gap. ``numbers`` and ``work`` are scratch: where they or ``grid`` are
    too small, ``at[0]`` is the place in ``wanted`` to go on with and ``at[1]`` the room it needs.
    """
    lo, hi, times, grid_at, gap_at, places = (
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
    )  # fmt: skip
    begins, chosen, regions = numbers[6], numbers[7], numbers[8:11]
    answer = weights[:3]
    weights = weights[3:]
    gaps = len(gap_after)
    for number in range(at[0], len(wanted)):
        m = wanted[number]
        low, high = offsets[m], offsets[m + 1]
        count = high - low
        first, last = rival_offsets[m], rival_offsets[m + 1]
        needed = max(count, last - first + 1, gaps)
        if needed > numbers.shape[1]:
            at[0], at[1] = number, needed
            return NEED_ROOM
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if valid_bounds(ids, low, high, lower, upper, window, lo, hi) == 0:
            continue
        needed = 0
        for i in range(count):
            needed = max(needed, hi[i] - lo[i] + 1)
            grid_at[i] = -1
        if needed > work.shape[1]:
            at[0], at[1] = number, needed
            return NEED_ROOM
        is_tied, has_ends, used = False, False, 0
        if last > first:
            for gap in range(gaps):
                gap_at[gap] = gap_of(ids, low, high, gap_after[gap], gap_before[gap])
            for r in range(first, last):
                place = place_of(rival_bits[r], gap_at, gaps)
                places[r - first] = place
                is_tied = is_tied or place == TIED
                has_ends = has_ends or place == AT_ENDS
                if place > 0:
                    grid_at[place] = 0
            size = 0
            for i in range(1, count):
                size = (hi[i - 1] - lo[i - 1] + 1) * (hi[i] - lo[i] + 1)
                if is_tied or grid_at[i] >= 0:
                    grid_at[i] = used
                    used += size
            # The grids, a copy where regions restrict them, and the tails of the last one.
            needed = used * (1 + is_tied) + size
            if needed > len(grid):
                at[0], at[1] = number, needed
                return NEED_GRID
            for i in range(1, count):
                if grid_at[i] >= 0:
                    fill_grid(
                        grid, grid_at[i], i, lo, hi, rivals, first, last, places, work, lower,
                        upper, mass_at, masses,
                    )  # fmt: skip
        if not _by_region(
            ids, low, count, window, lo, hi, times, work, grid, grid_at, used, has_ends, rivals,
            rival_bits, first, last, places, gap_at, gaps, regions, begins, chosen, lower, upper,
            mass_at, masses, answer,
        ):  # fmt: skip
            answer[0], answer[1], answer[2] = 0.0, float(FAR), -float(FAR)
            _enumerate(
                ids, low, count, window, lo, hi, times, weights, grid, grid_at, rivals,
                rival_bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses,
                answer,
            )  # fmt: skip
        confidences[m] = answer[0]
        if answer[0] > 0.0:
            starts[m], ends[m] = int(answer[1]), int(answer[2])
    return WEIGHED
