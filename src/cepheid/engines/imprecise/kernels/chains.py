"""The sum over all times of the events of a match, event by event (dynamic programming).

A *chain* is an assignment of rising times to the first events of a match. For each time of its
newest event the chains that end there have a mass; the mass of the chains with one event more
follows from it, and from the grid of the gap between the two events if rivals must stay out of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.gaps import AT_ENDS, product_of_ends
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    mass_between,
    mass_until,
    point_mass,
)
from cepheid.engines.imprecise.layout import Floats
from cepheid.events.arrays import Int64s
from cepheid.jit.decorators import helper


class Sums(NamedTuple):
    """Scratch memory of a sum, and its answer: the confidence, the first and the last time.

    ``work`` has three rows of masses, ``times`` and ``products`` a number for each event.
    """

    times: Int64s
    products: Floats
    work: npt.NDArray[np.float64]
    answer: Floats


@helper
def clear_answer(answer):
    """No world, and no time."""
    answer[0], answer[1], answer[2] = 0.0, float(FAR), -float(FAR)


@helper
def add_answer(answer, mass, start, end):
    """Add worlds that start and end at these times."""
    answer[0] += mass
    answer[1] = min(answer[1], float(start))
    answer[2] = max(answer[2], float(end))


@helper
def _scale_row(row, base, span, intervals, event):
    """Multiply the masses of a span of times by the probability of each time."""
    low, high = span
    if intervals.mass_at[event] < 0:
        share = 1.0 / (intervals.upper[event] - intervals.lower[event] + 1)
        scaled = row[low - base : high - base + 1]
        for k in range(len(scaled)):
            scaled[k] *= share
    else:
        masses = intervals.masses
        place = intervals.mass_at[event] + base - intervals.lower[event]
        for k in range(low - base, high - base + 1):
            row[k] *= masses[place + k + 1] - masses[place + k]


@helper
def _extend(work, now, i, before_span, span, match, grids, intervals):
    """The mass of the chains that end with event i at each time, from those that end before it.

    ``work[now]`` has those of the times ``before_span``, the result goes to ``work[1 - now]`` for
    the times ``span``; each row starts at the lower bound of its event.
    """
    low, high = before_span
    to_low, to_high = span
    base, to_base, offset = match.lo[i - 1], match.lo[i], grids.at[i]
    mine, then = work[now], work[1 - now]
    if offset < 0:
        running, reached = 0.0, low
        for time in range(to_low, to_high + 1):
            while reached <= high and reached < time:
                running += mine[reached - base]
                reached += 1
            then[time - to_base] = running
    else:
        width = match.hi[i] - to_base + 1
        for k in range(to_low - to_base, to_high - to_base + 1):
            then[k] = 0.0
        for before in range(low, min(high, to_high - 1) + 1):
            mass = mine[before - base]
            row = offset + (before - base) * width
            first, end = max(to_low, before + 1) - to_base, to_high - to_base + 1
            # Slices from 0 on: loops over them are vectorised.
            sums, shares = then[first:end], grids.cells[row + first : row + end]
            for k in range(len(sums)):
                sums[k] += mass * shares[k]
    _scale_row(then, to_base, span, intervals, match.tags[i] >> TAG_SHIFT)


@helper
def _from_event(first, match, grids, work, intervals):
    """The row of work with the mass of the chains from this event to the last, and their sum."""
    tags, lo, hi = match.tags, match.lo, match.hi
    now, total, event = 0, 0.0, tags[first] >> TAG_SHIFT
    for time in range(lo[first], hi[first] + 1):
        mass = point_mass(intervals, event, time)
        work[0, time - lo[first]] = mass
        total += mass
    for i in range(first + 1, len(tags)):
        if grids.at[i] < 0 and hi[i - 1] < lo[i]:
            # The events before are certain to be earlier: only their mass matters.
            event = tags[i] >> TAG_SHIFT
            for time in range(lo[i], hi[i] + 1):
                work[1 - now, time - lo[i]] = total * point_mass(intervals, event, time)
            total *= mass_between(intervals, event, lo[i], hi[i])
        else:
            before, span = (lo[i - 1], hi[i - 1]), (lo[i], hi[i])
            _extend(work, now, i, before, span, match, grids, intervals)
            total = 0.0
            for k in range(hi[i] - lo[i] + 1):
                total += work[1 - now, k]
        now = 1 - now
    return now, total


@helper
def in_one_pass(match, grids, work, answer, intervals):
    """The sum if the window leaves out nothing: forward for the mass, backward for the start."""
    tags, lo, hi = match.tags, match.lo, match.hi
    count, has_grid = len(tags), False
    now, total = _from_event(0, match, grids, work, intervals)
    for i in range(1, count):
        has_grid = has_grid or grids.at[i] >= 0
    answer[0] = total
    if total <= 0.0:
        return
    time = hi[count - 1]
    while work[now, time - lo[count - 1]] == 0.0:
        time -= 1
    answer[1], answer[2] = float(lo[0]), float(time)
    if has_grid or lo[0] != intervals.lower[tags[0] >> TAG_SHIFT]:
        # Otherwise a match remains one if its first event is as early as it can be.
        answer[1] = float(_first_start(match, grids, work, intervals))


@helper
def _first_start(match, grids, work, intervals):
    """The earliest time of the first event: backward, whether something follows each time."""
    tags, lo, hi = match.tags, match.lo, match.hi
    last = len(tags) - 1
    event = tags[last] >> TAG_SHIFT
    for time in range(lo[last], hi[last] + 1):
        work[0, time - lo[last]] = point_mass(intervals, event, time)
    now = 0
    for i in range(last - 1, -1, -1):
        event = tags[i] >> TAG_SHIFT
        width, offset = hi[i + 1] - lo[i + 1] + 1, grids.at[i + 1]
        for time in range(lo[i], hi[i] + 1):
            mass = 0.0
            for after in range(max(lo[i + 1], time + 1), hi[i + 1] + 1):
                share = work[now, after - lo[i + 1]]
                if share > 0.0 and offset >= 0:
                    share *= grids.cells[offset + (time - lo[i]) * width + after - lo[i + 1]]
                if share > 0.0:
                    mass = 1.0
                    break
            work[1 - now, time - lo[i]] = mass * point_mass(intervals, event, time)
        now = 1 - now
    time = lo[0]
    while work[now, time - lo[0]] == 0.0:
        time += 1
    return time


@helper
def by_first_time(match, grids, has_ends, rivals, sums, intervals):
    """The sum for each first time, if the first and the last time depend on each other.

    The grids have room behind them for the sums of :func:`_sum_tails`.
    """
    lo, hi, window, count = match.lo, match.hi, match.window, len(match.tags)
    times, work, answer = sums.times, sums.work, sums.answer
    head = match.tags[0] >> TAG_SHIFT
    if not has_ends and hi[0] < lo[1] and grids.at[1] < 0:
        _after_the_first(match, grids, work, answer, intervals)
        return
    end = count - 1
    if not has_ends:
        _sum_tails(match, grids, work, intervals)
    for time in range(lo[0], hi[0] + 1):
        mass = point_mass(intervals, head, time)
        if mass == 0.0:
            continue
        times[0] = time
        work[0, time - lo[0]] = mass
        now, before = 0, (time, time)
        for i in range(1, count if has_ends else end):
            span = (max(lo[i], before[0] + 1), min(hi[i], time + window - count + i))
            _extend(work, now, i, before, span, match, grids, intervals)
            now, before = 1 - now, span
        total, latest = 0.0, -FAR
        if has_ends:
            base = lo[end]
            for last_time in range(before[0], before[1] + 1):
                mass = work[now, last_time - base]
                if mass == 0.0:
                    continue
                times[end] = last_time
                mass *= product_of_ends(times, AT_ENDS, match, rivals, intervals)
                total += mass
                if mass > 0.0:
                    latest = last_time
        else:
            limit = min(hi[end], time + window - 1)
            total = _with_tails(work, now, before, limit, match, grids)
            if total > 0.0:
                latest = _latest(
                    work, now, before, limit, int(answer[2]), match, grids, intervals
                )  # fmt: skip
        if total > 0.0:
            add_answer(answer, total, time, latest)


@helper
def _sum_tails(match, grids, work, intervals):
    """The mass that the last event adds to a chain, for each time before it and each window's end.

    Without rivals it is a difference of ``work[2]``, the probability from its first time on.
    """
    end = len(match.tags) - 1
    event, start, offset = match.tags[end] >> TAG_SHIFT, match.lo[end], grids.at[end]
    width = match.hi[end] - start + 1
    if offset < 0:
        before = mass_until(intervals, event, start - 1)
        for k in range(width):
            work[2, k] = mass_until(intervals, event, start + k) - before
        return
    for k in range(width):
        work[2, k] = point_mass(intervals, event, start + k)
    first = match.lo[end - 1]
    for time in range(first, match.hi[end - 1] + 1):
        running, row = 0.0, (time - first) * width
        for k in range(max(time + 1 - start, 0), width):
            running += work[2, k] * grids.cells[offset + row + k]
            grids.cells[grids.end + row + k] = running


@helper
def _with_tails(work, now, before_span, limit, match, grids):
    """The mass of the chains with a last event until ``limit``."""
    low, high = before_span
    end = len(match.tags) - 1
    base, start = match.lo[end - 1], match.lo[end]
    total, width = 0.0, match.hi[end] - start + 1
    if limit < start:
        return 0.0
    if grids.at[end] >= 0:
        cell = grids.end + (low - base) * width + limit - start
        for before in range(low, min(high, limit - 1) + 1):
            total += work[now, before - base] * grids.cells[cell]
            cell += width
        return total
    until = work[2, limit - start]
    for before in range(low, min(high, limit - 1) + 1):
        passed = work[2, before - start] if before >= start else 0.0
        total += work[now, before - base] * (until - passed)
    return total


@helper
def _latest(work, now, before_span, limit, known, match, grids, intervals):
    """The latest time that the last event can have until ``limit``, if after ``known``."""
    low, high = before_span
    end = len(match.tags) - 1
    event, base, start = match.tags[end] >> TAG_SHIFT, match.lo[end - 1], match.lo[end]
    width, offset = match.hi[end] - start + 1, grids.at[end]
    for time in range(limit, max(known, start - 1), -1):
        if point_mass(intervals, event, time) == 0.0:
            continue
        for before in range(low, min(high, time - 1) + 1):
            if work[now, before - base] > 0.0 and (
                offset < 0 or grids.cells[offset + (before - base) * width + time - start] > 0.0
            ):
                return time
    return known


@helper
def _after_the_first(match, grids, work, answer, intervals):
    """The sum if the first event is before all others: only the last time depends on it."""
    tags, lo, hi = match.tags, match.lo, match.hi
    now, _ = _from_event(1, match, grids, work, intervals)
    end = len(tags) - 1
    head = tags[0] >> TAG_SHIFT
    running, reached = 0.0, lo[end]
    latest = -FAR
    for time in range(lo[0], hi[0] + 1):
        while reached <= hi[end] and reached < time + match.window:
            if work[now, reached - lo[end]] > 0.0:
                running += work[now, reached - lo[end]]
                latest = reached
            reached += 1
        mass = running * point_mass(intervals, head, time)
        if mass > 0.0:
            add_answer(answer, mass, time, latest)
