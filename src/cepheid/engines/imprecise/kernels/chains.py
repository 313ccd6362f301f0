"""The sum over all times of the events of a match, event by event (dynamic programming).

A *chain* is an assignment of rising times to the first events of a match. For each time of its
newest event the chains that end there have a mass; that of the next event follows from it, with
the grid of the gap between the two where rivals have to stay out of it.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.gaps import AT_ENDS, product_of_ends
from cepheid.engines.imprecise.kernels.interval_masses import FAR, mass_until, point_mass
from cepheid.jit.decorators import helper


@helper
def _weigh_row(row, base, low, high, lower, upper, mass_at, masses, event):
    """Multiply what is at ``low`` to ``high`` by the probability of each time."""
    if mass_at[event] < 0:
        share = 1.0 / (upper[event] - lower[event] + 1)
        weighed = row[low - base : high - base + 1]
        for k in range(len(weighed)):
            weighed[k] *= share
    else:
        place = mass_at[event] + base - lower[event]
        for k in range(low - base, high - base + 1):
            row[k] *= masses[place + k + 1] - masses[place + k]


@helper
def _extend(work, now, low, high, base, grid, offset, to_low, to_high, to_base, width, lower,
            upper, mass_at, masses, event):  # fmt: skip
    """The mass of the chains that end in ``event`` at each time, from those that end before it.

    ``work[now]`` has those at ``low`` to ``high``, the result goes to ``work[1 - now]``; each
    row starts at the base of its event. ``offset`` is where the grid of the gap between the two
    begins, or negative where nothing is to be kept out of it.
    """
    mine, then = work[now], work[1 - now]
    if offset < 0:
        running, reached = 0.0, low
        for time in range(to_low, to_high + 1):
            while reached <= high and reached < time:
                running += mine[reached - base]
                reached += 1
            then[time - to_base] = running
    else:
        for k in range(to_low - to_base, to_high - to_base + 1):
            then[k] = 0.0
        for before in range(low, min(high, to_high - 1) + 1):
            mass = mine[before - base]
            row = offset + (before - base) * width
            first, end = max(to_low, before + 1) - to_base, to_high - to_base + 1
            # Slices from 0 on: loops over them are vectorised.
            sums, shares = then[first:end], grid[row + first : row + end]
            for k in range(len(sums)):
                sums[k] += mass * shares[k]
    _weigh_row(then, to_base, to_low, to_high, lower, upper, mass_at, masses, event)


@helper
def in_one_pass(ids, low, count, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
                answer):  # fmt: skip
    """The sum where the window leaves out nothing: forward for the mass, backward for the start."""
    now, total = 0, 0.0
    event = ids[low] >> TAG_SHIFT
    for time in range(lo[0], hi[0] + 1):
        mass = point_mass(lower, upper, mass_at, masses, event, time)
        work[0, time - lo[0]] = mass
        total += mass
    has_grid = False
    for i in range(1, count):
        event = ids[low + i] >> TAG_SHIFT
        if grid_at[i] < 0 and hi[i - 1] < lo[i]:
            # What is wholly before the next event has done its part.
            for time in range(lo[i], hi[i] + 1):
                work[1 - now, time - lo[i]] = total * point_mass(
                    lower, upper, mass_at, masses, event, time
                )
            total *= mass_until(lower, upper, mass_at, masses, event, hi[i]) - mass_until(
                lower, upper, mass_at, masses, event, lo[i] - 1
            )
        else:
            has_grid = has_grid or grid_at[i] >= 0
            _extend(
                work, now, lo[i - 1], hi[i - 1], lo[i - 1], grid, grid_at[i], lo[i], hi[i], lo[i],
                hi[i] - lo[i] + 1, lower, upper, mass_at, masses, event,
            )  # fmt: skip
            total = 0.0
            for k in range(hi[i] - lo[i] + 1):
                total += work[1 - now, k]
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
        work[0, time - lo[count - 1]] = point_mass(lower, upper, mass_at, masses, event, time)
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
            work[1 - now, time - lo[i]] = mass * point_mass(
                lower, upper, mass_at, masses, event, time
            )
        now = 1 - now
    time = lo[0]
    while work[now, time - lo[0]] == 0.0:
        time += 1
    answer[1] = float(time)


@helper
def by_first_time(ids, low, count, window, lo, hi, times, work, grid, grid_at, tails, has_ends,
                  rivals, bits, first, last, places, gap_at, gaps, lower, upper, mass_at, masses,
                  answer):  # fmt: skip
    """The sum where the first and the last time depend on each other: for each first time.

    ``tails`` is where the grid has room for the sums of :func:`_sum_tails`.
    """
    head = ids[low] >> TAG_SHIFT
    if not has_ends and hi[0] < lo[1] and grid_at[1] < 0:
        _after_the_first(
            ids, low, count, window, lo, hi, work, grid, grid_at, lower, upper, mass_at, masses,
            answer,
        )  # fmt: skip
        return
    end = count - 1
    if not has_ends:
        _sum_tails(
            ids[low + end] >> TAG_SHIFT, end, lo, hi, work, grid, grid_at[end], tails, lower,
            upper, mass_at, masses,
        )  # fmt: skip
    for time in range(lo[0], hi[0] + 1):
        weight = point_mass(lower, upper, mass_at, masses, head, time)
        if weight == 0.0:
            continue
        times[0] = time
        work[0, time - lo[0]] = weight
        now, low_time, high_time, base = 0, time, time, lo[0]
        for i in range(1, count if has_ends else end):
            event = ids[low + i] >> TAG_SHIFT
            to_low = max(lo[i], low_time + 1)
            to_high = min(hi[i], time + window - count + i)
            _extend(
                work, now, low_time, high_time, base, grid, grid_at[i], to_low, to_high, lo[i],
                hi[i] - lo[i] + 1, lower, upper, mass_at, masses, event,
            )  # fmt: skip
            now, low_time, high_time, base = 1 - now, to_low, to_high, lo[i]
        total, latest = 0.0, -FAR
        if has_ends:
            for last_time in range(low_time, high_time + 1):
                mass = work[now, last_time - base]
                if mass == 0.0:
                    continue
                times[end] = last_time
                mass *= product_of_ends(
                    times, count, window, AT_ENDS, rivals, bits, first, last, places, gap_at,
                    gaps, lower, upper, mass_at, masses,
                )  # fmt: skip
                total += mass
                if mass > 0.0:
                    latest = last_time
        else:
            limit = min(hi[end], time + window - 1)
            total = _with_tails(
                work, now, low_time, high_time, base, end, limit, lo, hi, grid, grid_at[end], tails
            )
            if total > 0.0:
                latest = _latest(
                    ids[low + end] >> TAG_SHIFT, work, now, low_time, high_time, base, end,
                    limit, int(answer[2]), lo, hi, grid, grid_at[end], lower, upper, mass_at,
                    masses,
                )  # fmt: skip
        if total > 0.0:
            answer[0] += total
            answer[1] = min(answer[1], float(time))
            answer[2] = max(answer[2], float(latest))


@helper
def _sum_tails(event, end, lo, hi, work, grid, offset, tails, lower, upper, mass_at, masses):
    """What the last event adds to a chain, for each time before it and each end of the window.

    Without rivals it is a difference of ``work[2]``, the probability from its first time on.
    """
    width = hi[end] - lo[end] + 1
    if offset < 0:
        before = mass_until(lower, upper, mass_at, masses, event, lo[end] - 1)
        for k in range(width):
            until = mass_until(lower, upper, mass_at, masses, event, lo[end] + k)
            work[2, k] = until - before
        return
    for k in range(width):
        work[2, k] = point_mass(lower, upper, mass_at, masses, event, lo[end] + k)
    for time in range(lo[end - 1], hi[end - 1] + 1):
        running, row = 0.0, (time - lo[end - 1]) * width
        for k in range(max(time + 1 - lo[end], 0), width):
            running += work[2, k] * grid[offset + row + k]
            grid[tails + row + k] = running


@helper
def _with_tails(work, now, low, high, base, end, limit, lo, hi, grid, offset, tails):
    """The mass of the chains with a last event until ``limit``."""
    total, start, width = 0.0, lo[end], hi[end] - lo[end] + 1
    if limit < start:
        return 0.0
    if offset >= 0:
        cell = tails + (low - base) * width + limit - start
        for before in range(low, min(high, limit - 1) + 1):
            total += work[now, before - base] * grid[cell]
            cell += width
        return total
    until = work[2, limit - start]
    for before in range(low, min(high, limit - 1) + 1):
        passed = work[2, before - start] if before >= start else 0.0
        total += work[now, before - base] * (until - passed)
    return total


@helper
def _latest(event, work, now, low, high, base, end, limit, known, lo, hi, grid, offset, lower,
            upper, mass_at, masses):  # fmt: skip
    """The latest time that the last event can have until ``limit``, if after ``known``."""
    width = hi[end] - lo[end] + 1
    for time in range(limit, max(known, lo[end] - 1), -1):
        if point_mass(lower, upper, mass_at, masses, event, time) == 0.0:
            continue
        for before in range(low, min(high, time - 1) + 1):
            if work[now, before - base] > 0.0 and (
                offset < 0 or grid[offset + (before - lo[end - 1]) * width + time - lo[end]] > 0.0
            ):
                return time
    return known


@helper
def _after_the_first(ids, low, count, window, lo, hi, work, grid, grid_at, lower, upper, mass_at,
                     masses, answer):  # fmt: skip
    """The sum where the first event is before all others: only the last time depends on it."""
    event = ids[low + 1] >> TAG_SHIFT
    for time in range(lo[1], hi[1] + 1):
        work[0, time - lo[1]] = point_mass(lower, upper, mass_at, masses, event, time)
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
        mass = running * point_mass(lower, upper, mass_at, masses, head, time)
        if mass > 0.0:
            answer[0] += mass
            answer[1] = min(answer[1], float(time))
            answer[2] = max(answer[2], float(latest))
