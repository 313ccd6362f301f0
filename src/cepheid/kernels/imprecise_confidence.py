"""The confidence of a signature: the probability that it is a match [Zhang10 §4].

The events of a match lie at t_0 < t_1 < …, with t_last - t_0 < W. Other events, here *rivals*,
must not lie in certain gaps: under skip_till_next_match those that could have been taken before
t_j must not be between t_(j-1) and t_j; those that a negated component speaks of must not be at
its place. For given times of the match all rivals are independent of one another, so that

    confidence = Σ over t_0 < t_1 < …  of  Π P[event i at t_i] · Π P[rival not in its gaps].

The sum is made event by event (dynamic programming), in a time that grows with the square of
the intervals and not with their product. A rival with gaps in several places (one that can match
several components) ties all times together. But it is in exactly one of a few *regions*: until
one time of the match, at one, between two that follow each other, or from one on; and for given
regions of all such rivals the sum is made as before. Only where these are very many are the
times of the match enumerated.
"""

from __future__ import annotations

from cepheid.kernels.interval_masses import FAR, mass_outside, mass_until, valid_bounds
from cepheid.kernels.jit import F64S, F64S_2D, I64, I64S, array_of, helper, kernel
from cepheid.kernels.nfa_b_layout import TAG_SHIFT

_COMPONENT = (1 << TAG_SHIFT) - 1

AT_START, AT_END = -1, -2
"""Gaps before the first and after the last event, as far as the window reaches."""

_AT_ENDS, _TIED = -3, -4

WEIGHED, NEED_ROOM, NEED_GRID = 0, 1, 2

_UNTIL, _AT, _BETWEEN, _FROM = 0, 1, 2, 3
_MOST_REGIONS = 2_000
"""With more choices of regions for all rivals the times are enumerated instead."""


@helper
def _point(lower, upper, mass_at, masses, event, time):
    """The probability that the event is at this instant of its interval."""
    if mass_at[event] < 0:
        return 1.0 / (upper[event] - lower[event] + 1)
    place = mass_at[event] + time - lower[event]
    return masses[place + 1] - masses[place]


@helper
def _extend(work, now, low, high, base, grid, offset, to_low, to_high, to_base, width, lower,
            upper, mass_at, masses, event):  # fmt: skip
    """The mass of the chains that end in ``event`` at each time, from those that end before it.

    ``work[now]`` has those at ``low`` to ``high``, the result goes to ``work[1 - now]``; each
    row starts at the base of its event. ``offset`` is where the grid of the gap between the two
    begins, or negative where nothing is to be kept out of it. Returns the sum.
    """
    total, running, reached = 0.0, 0.0, low
    for time in range(to_low, to_high + 1):
        if offset < 0:
            while reached <= high and reached < time:
                running += work[now, reached - base]
                reached += 1
        else:
            running = 0.0
            for before in range(low, min(high, time - 1) + 1):
                running += (
                    work[now, before - base]
                    * grid[offset + (before - base) * width + time - to_base]
                )
        mass = running * _point(lower, upper, mass_at, masses, event, time)
        work[1 - now, time - to_base] = mass
        total += mass
    return total


@helper
def _fill_grid(grid, offset, gap, lo, hi, rivals, first, last, places, lower, upper, mass_at,
               masses):  # fmt: skip
    """The probability that no rival is in the gap, for each pair of times around it."""
    width = hi[gap] - lo[gap] + 1
    for before in range(lo[gap - 1], hi[gap - 1] + 1):
        for after in range(max(lo[gap], before + 1), hi[gap] + 1):
            share = 1.0
            for r in range(first, last):
                if places[r - first] == gap:
                    share *= mass_outside(lower, upper, mass_at, masses, rivals[r], before, after)
            grid[offset + (before - lo[gap - 1]) * width + after - lo[gap]] = share


@helper
def _gap_of(ids, low, high, after, before):
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
def _place_of(bits, gap_at, gaps):
    """The one gap of a rival, or that its gaps are at the ends, or in several places."""
    found, ends = 0, False
    for gap in range(gaps):
        if (bits >> gap) & 1:
            at = gap_at[gap]
            if at == AT_START or at == AT_END:
                ends = True
            elif found != 0 and found != at:
                return _TIED
            else:
                found = at
    if ends:
        return _TIED if found != 0 else _AT_ENDS
    return found


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
def _product_of_ends(times, count, window, wanted, rivals, bits, first, last, places, gap_at, gaps,
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
        weight = _point(lower, upper, mass_at, masses, event, time)
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
        for wanted in (_AT_ENDS, _TIED):
            weight *= _product_of_ends(
                times, count, window, wanted, rivals, bits, first, last, places, gap_at, gaps,
                lower, upper, mass_at, masses,
            )  # fmt: skip
        if weight > 0.0:
            answer[0] += weight
            answer[1] = min(answer[1], float(times[0]))
            answer[2] = max(answer[2], float(time))


@helper
def _in_one_pass(ids, low, count, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
                 answer):  # fmt: skip
    """The sum where the window leaves out nothing: forward for the mass, backward for the start."""
    now, total = 0, 0.0
    event = ids[low] >> TAG_SHIFT
    for time in range(lo[0], hi[0] + 1):
        mass = _point(lower, upper, mass_at, masses, event, time)
        work[0, time - lo[0]] = mass
        total += mass
    has_grid = False
    for i in range(1, count):
        event = ids[low + i] >> TAG_SHIFT
        if grid_at[i] < 0 and hi[i - 1] < lo[i]:
            # What is wholly before the next event has done its part.
            for time in range(lo[i], hi[i] + 1):
                work[1 - now, time - lo[i]] = total * _point(
                    lower, upper, mass_at, masses, event, time
                )
            total *= mass_until(lower, upper, mass_at, masses, event, hi[i]) - mass_until(
                lower, upper, mass_at, masses, event, lo[i] - 1
            )
        else:
            has_grid = has_grid or grid_at[i] >= 0
            total = _extend(
                work, now, lo[i - 1], hi[i - 1], lo[i - 1], grid, grid_at[i], lo[i], hi[i], lo[i],
                hi[i] - lo[i] + 1, lower, upper, mass_at, masses, event,
            )  # fmt: skip
        now = 1 - now
    answer[0] = total
    if total <= 0.0:
        return
    time = hi[count - 1]
    while work[now, time - lo[count - 1]] == 0.0:
        time -= 1
    answer[1], answer[2] = float(lo[0]), float(time)
    if not has_grid and lo[0] == lower[ids[low] >> TAG_SHIFT]:
        # A match stays one when its first event is as early as it can be.
        return
    # Backward: whether something follows, for each time.
    for time in range(lo[count - 1], hi[count - 1] + 1):
        event = ids[low + count - 1] >> TAG_SHIFT
        work[0, time - lo[count - 1]] = _point(lower, upper, mass_at, masses, event, time)
    now = 0
    for i in range(count - 2, -1, -1):
        event = ids[low + i] >> TAG_SHIFT
        width = hi[i + 1] - lo[i + 1] + 1
        for time in range(lo[i], hi[i] + 1):
            mass = 0.0
            for after in range(max(lo[i + 1], time + 1), hi[i + 1] + 1):
                share = work[now, after - lo[i + 1]]
                if share > 0.0 and grid_at[i + 1] >= 0:
                    share *= grid[grid_at[i + 1] + (time - lo[i]) * width + after - lo[i + 1]]
                if share > 0.0:
                    mass = 1.0
                    break
            work[1 - now, time - lo[i]] = mass * _point(lower, upper, mass_at, masses, event, time)
        now = 1 - now
    time = lo[0]
    while work[now, time - lo[0]] == 0.0:
        time += 1
    answer[1] = float(time)


@helper
def _by_first_time(ids, low, count, window, lo, hi, times, work, grid, grid_at, has_ends, rivals,
                   bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses,
                   answer):  # fmt: skip
    """The sum where the first and the last time depend on each other: for each first time."""
    head = ids[low] >> TAG_SHIFT
    if count > 1 and not has_ends and hi[0] < lo[1] and grid_at[1] < 0:
        _after_the_first(
            ids, low, count, window, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
            answer,
        )  # fmt: skip
        return
    for time in range(lo[0], hi[0] + 1):
        weight = _point(lower, upper, mass_at, masses, head, time)
        if weight == 0.0:
            continue
        times[0] = time
        work[0, time - lo[0]] = weight
        now, low_time, high_time, base, total = 0, time, time, lo[0], weight
        for i in range(1, count):
            event = ids[low + i] >> TAG_SHIFT
            to_low = max(lo[i], low_time + 1)
            to_high = min(hi[i], time + window - count + i)
            total = 0.0
            if to_low > to_high:
                break
            total = _extend(
                work, now, low_time, high_time, base, grid, grid_at[i], to_low, to_high, lo[i],
                hi[i] - lo[i] + 1, lower, upper, mass_at, masses, event,
            )  # fmt: skip
            now, low_time, high_time, base = 1 - now, to_low, to_high, lo[i]
            if total == 0.0:
                break
        if total == 0.0:
            continue
        if has_ends:
            total = 0.0
        latest = -FAR
        for end in range(low_time, high_time + 1):
            mass = work[now, end - base]
            if mass == 0.0:
                continue
            if has_ends:
                times[count - 1] = end
                mass *= _product_of_ends(
                    times, count, window, _AT_ENDS, rivals, bits, first, last, places, gap_at,
                    gaps, lower, upper, mass_at, masses,
                )  # fmt: skip
                total += mass
            if mass > 0.0:
                latest = end
        if total > 0.0:
            answer[0] += total
            answer[1] = min(answer[1], float(time))
            answer[2] = max(answer[2], float(latest))


@helper
def _after_the_first(ids, low, count, window, lo, hi, work, grid, grid_at, lower, upper, mass_at,
                     masses, answer):  # fmt: skip
    """The sum where the first event is before all others: only the last time depends on it."""
    event = ids[low + 1] >> TAG_SHIFT
    for time in range(lo[1], hi[1] + 1):
        work[0, time - lo[1]] = _point(lower, upper, mass_at, masses, event, time)
    now = 0
    for i in range(2, count):
        event = ids[low + i] >> TAG_SHIFT
        _extend(
            work, now, lo[i - 1], hi[i - 1], lo[i - 1], grid, grid_at[i], lo[i], hi[i], lo[i],
            hi[i] - lo[i] + 1, lower, upper, mass_at, masses, event,
        )  # fmt: skip
        now = 1 - now
    end = count - 1
    head = ids[low] >> TAG_SHIFT
    running, reached = 0.0, lo[end]
    latest = -FAR
    for time in range(lo[0], hi[0] + 1):
        while reached <= hi[end] and reached < time + window:
            if work[now, reached - lo[end]] > 0.0:
                running += work[now, reached - lo[end]]
                latest = reached
            reached += 1
        mass = running * _point(lower, upper, mass_at, masses, head, time)
        if mass > 0.0:
            answer[0] += mass
            answer[1] = min(answer[1], float(time))
            answer[2] = max(answer[2], float(latest))


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

    Returns 0 where there are too many choices. The grids in use are at ``used`` and after it.
    """
    tied, end, choices = 0, 0, 1
    for r in range(first, last):
        if places[r - first] == _TIED:
            begins[tied] = end
            end = _regions_of(bits[r], gap_at, gaps, count, window, regions, end)
            choices *= end - begins[tied]
            chosen[tied] = begins[tied]
            tied += 1
            if choices > _MOST_REGIONS or end > regions.shape[1]:
                return 0
    begins[tied] = end
    total, start, latest = 0.0, float(FAR), -float(FAR)
    for i in range(1, count):
        grid_at[i] += used
    while True:
        for cell in range(used):
            grid[used + cell] = grid[cell]
        number = 0
        for r in range(first, last):
            if places[r - first] == _TIED:
                region = chosen[number]
                _restrict(
                    grid, 0, grid_at, lo, hi, rivals[r], regions[0, region], regions[1, region],
                    regions[2, region], lower, upper, mass_at, masses,
                )  # fmt: skip
                number += 1
        answer[0], answer[1], answer[2] = 0.0, float(FAR), -float(FAR)
        if has_ends or hi[count - 1] - lo[0] >= window:
            _by_first_time(
                ids, low, count, window, lo, hi, times, work, grid, grid_at, has_ends, rivals,
                bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses, answer,
            )  # fmt: skip
        else:
            _in_one_pass(
                ids, low, count, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
                answer,
            )  # fmt: skip
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
        grid_at[i] -= used
    answer[0], answer[1], answer[2] = total, start, latest
    return 1


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, F64S, I64, I64S, I64S, I64S, I64S, I64S, array_of("i8", 2),
        F64S_2D, F64S, F64S, I64S, I64S, F64S, I64, I64S,
    )
)  # fmt: skip
def weigh_matches(
    ids, offsets, lower, upper, mass_at, masses, window, rival_offsets, rivals, rival_bits,
    gap_after, gap_before, numbers, work, grid, confidences, starts, ends, weights, first_match,
    at,
):  # fmt: skip
    """Write the confidence and the range of time of each match; 0 where no world has it.

    ``rivals[rival_offsets[m]:rival_offsets[m + 1]]`` are those of match m, and bit g of
    ``rival_bits`` says that gap g is forbidden to it. ``gap_after`` and ``gap_before`` are the
    components around each gap. ``numbers`` and ``work`` are scratch: where they or ``grid`` are
    too small, ``at[0]`` is the match to go on with and ``at[1]`` the room that it needs.
    """
    lo, hi, times, grid_at, gap_at, places = (
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
    )  # fmt: skip
    begins, chosen, regions = numbers[6], numbers[7], numbers[8:11]
    answer = weights[:3]
    weights = weights[3:]
    gaps = len(gap_after)
    for m in range(first_match, len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        count = high - low
        first, last = rival_offsets[m], rival_offsets[m + 1]
        answer[0], answer[1], answer[2] = 0.0, 0.0, 0.0
        needed = max(count, last - first + 1, gaps)
        if needed > numbers.shape[1]:
            at[0], at[1] = m, needed
            return NEED_ROOM
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if valid_bounds(ids, low, high, lower, upper, window, lo, hi) == 0:
            continue
        needed = 0
        for i in range(count):
            needed = max(needed, hi[i] - lo[i] + 1)
            grid_at[i] = -1
        if needed > work.shape[1]:
            at[0], at[1] = m, needed
            return NEED_ROOM
        is_tied, has_ends, used = False, False, 0
        if last > first:
            for gap in range(gaps):
                gap_at[gap] = _gap_of(ids, low, high, gap_after[gap], gap_before[gap])
            for r in range(first, last):
                place = _place_of(rival_bits[r], gap_at, gaps)
                places[r - first] = place
                is_tied = is_tied or place == _TIED
                has_ends = has_ends or place == _AT_ENDS
                if place > 0:
                    grid_at[place] = 0
            used = 0
            for i in range(1, count):
                if is_tied or grid_at[i] >= 0:
                    grid_at[i] = used
                    used += (hi[i - 1] - lo[i - 1] + 1) * (hi[i] - lo[i] + 1)
            if used * (1 + is_tied) > len(grid):
                at[0], at[1] = m, used * (1 + is_tied)
                return NEED_GRID
            for i in range(1, count):
                if grid_at[i] >= 0:
                    _fill_grid(
                        grid, grid_at[i], i, lo, hi, rivals, first, last, places, lower, upper,
                        mass_at, masses,
                    )  # fmt: skip
        if is_tied or has_ends or hi[count - 1] - lo[0] >= window:
            answer[1], answer[2] = float(FAR), -float(FAR)
        if is_tied:
            if not _by_region(
                ids, low, count, window, lo, hi, times, work, grid, grid_at, used, has_ends,
                rivals, rival_bits, first, last, places, gap_at, gaps, regions, begins, chosen,
                lower, upper, mass_at, masses, answer,
            ):  # fmt: skip
                _enumerate(
                    ids, low, count, window, lo, hi, times, weights, grid, grid_at, rivals,
                    rival_bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses,
                    answer,
                )  # fmt: skip
        elif has_ends or hi[count - 1] - lo[0] >= window:
            _by_first_time(
                ids, low, count, window, lo, hi, times, work, grid, grid_at, has_ends, rivals,
                rival_bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses,
                answer,
            )  # fmt: skip
        else:
            _in_one_pass(
                ids, low, count, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
                answer,
            )  # fmt: skip
        confidences[m] = answer[0]
        if answer[0] > 0.0:
            starts[m], ends[m] = int(answer[1]), int(answer[2])
    at[0] = len(offsets) - 1
    return WEIGHED
