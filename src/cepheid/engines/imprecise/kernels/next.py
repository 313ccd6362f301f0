"""Confidences under skip_till_next_match, of matches with the same events but the last together.

With t_0 < t_1 < … the times of a match, no other event that could be taken for component j, here
a *rival*, is between t_(j-1) and t_j. For given times all rivals are independent, so that

    confidence = Σ over t_0 < t_1 < …  of  Π P[event j at t_j] · Π P[no rival j in gap j],

a rival r being outside with probability P[r <= t_(j-1)] + P[r >= t_j]. What most matches share is
computed once:

- the *survival* from the last event but one: the probability that no candidate for the last
  component, the last event of the match among them, is between two times. It is the same for all
  matches with this event, and each divides its own last event out of it;
- the *chains* of the events before the last: their mass for each time of the first and of the
  newest one, and from it, for each end of the window, the mass of those that begin in it.

A match then costs a sum over pairs of times, of two multiplications each, however many rivals it
has. Rivals with several gaps tie all times together: their matches are left to the module
``confidence``.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    select_event,
)
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    mass_until,
    masses_until,
    point_mass,
    valid_bounds,
)
from cepheid.engines.imprecise.kernels.rivals import list_between
from cepheid.engines.imprecise.kernels.survival import (
    HI,
    LO,
    REACHED,
    SINCE,
    SIZES,
    Chains,
    RivalTables,
    Survival,
    extend_chains,
    fill_survival,
    single_chains,
    sum_chains,
)
from cepheid.engines.imprecise.layout import Batch, Match, NextRoom, NextTask, Scores
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

NEED_ROOM = 1


@helper
def _is_listed(listed, sizes, end, event):
    """Whether the event is a rival of a component before ``end``."""
    for level in range(1, end):
        for i in range(sizes[level]):
            if listed[level, i] == event:
                return True
    return False


@helper
def _list_all(match, latest, room, batch, conditions):
    """Write the rivals of every gap, for the last one until ``latest``; the longest list's size."""
    tags, sizes = match.tags, room.numbers[SIZES]
    longest = 0
    clear_registers(conditions, 0)
    for level in range(1, len(tags) + 1):
        before = tags[level - 1] >> TAG_SHIFT
        select_event(conditions, level - 1, False, before, 0)
        begin, end = batch.intervals.lower[before], latest
        if level < len(tags):
            begin, end = match.lo[level - 1], match.hi[level]
        sizes[level] = list_between(
            room.listed[level], 2 * level, conditions.steps[level].begin, tags, begin, end, batch,
            conditions,
        )  # fmt: skip
        longest = max(longest, sizes[level])
    return longest


@helper
def _tied_from(room, count, intervals):
    """The beginning of the first rival of the last gap that is one of another gap too, or FAR.

    It is -FAR if a rival has several of the gaps before.
    """
    listed, sizes, earliest = room.listed, room.numbers[SIZES], FAR
    for level in range(2, count):
        for i in range(sizes[level]):
            event = listed[level, i]
            if intervals.upper[event] > room.numbers[LO, level - 1] and _is_listed(
                listed, sizes, level, event
            ):
                if level < count - 1:
                    return -FAR
                earliest = min(earliest, intervals.lower[event])
    return earliest


@helper
def _join(joint, survival, later, rows, latest, match):
    """For each later and earlier time the mass of the chains in the window, if nothing is between.

    ``later`` are the masses of the chains of each first time and all after it.
    """
    newest = len(match.tags) - 1
    lo, hi, start = match.lo[newest], match.hi[newest], match.lo[0]
    base, width, size = joint.base, joint.width, hi - lo + 1
    for time in range(lo + 1, latest + 1):
        begin, end = max(joint.since[time - base - 1], lo), min(hi, time - 1)
        if begin > end:
            continue
        row = min(max(time - match.window + 1 - start, 0), rows - 1)
        at = (time - base - 1) * width - base
        mine = joint.cells[at + begin : at + end + 1]
        shares = survival.cells[at + begin : at + end + 1]
        sums = later[row * size + begin - lo : row * size + end - lo + 1]
        for k in range(len(mine)):
            mine[k] = shares[k] * sums[k]


@helper
def _sum_last(joint, event, latest, match, room, inverses, intervals):
    """The confidence of the match that ends with an event, which is divided out of the survival."""
    newest = len(match.tags) - 1
    lo, hi, since = match.lo[newest], match.hi[newest], joint.since
    base, width = joint.base, joint.width
    lower, upper = intervals.lower[event], intervals.upper[event]
    sums, early = room.row, room.tables
    for k in range(hi - lo + 1):
        sums[k] = 0.0
    size = upper - lower + 1
    is_uniform = intervals.mass_at[event] < 0
    if not is_uniform:
        masses_until(intervals, event, lo, hi - lo + 1, early)
    for time in range(max(lower, lo + 1), latest + 1):
        begin, end = max(since[time - base - 1], lo), min(hi, time - 1)
        if begin > end:
            continue
        at = (time - base - 1) * width - base
        if is_uniform:
            # The event is not between with (upper - time + 1) / size before its interval begins,
            # and with (size - (time - 1 - before)) / size from there on.
            middle = min(max(lower, begin), end + 1)
            share = inverses[upper - time + 1]
            mine, some = joint.cells[at + begin : at + middle], sums[begin - lo : middle - lo]
            for k in range(len(some)):
                some[k] += share * mine[k]
            mine, some = joint.cells[at + middle : at + end + 1], sums[middle - lo : end - lo + 1]
            own = inverses[size + 1 - time + middle : size + 2 - time + end]
            for k in range(len(some)):
                some[k] += mine[k] * own[k]
        else:
            share = point_mass(intervals, event, time)
            if share > 0.0:
                late = 1.0 - mass_until(intervals, event, time - 1)
                mine, some = joint.cells[at + begin : at + end + 1], sums[begin - lo : end - lo + 1]
                own = early[begin - lo : end - lo + 1]
                for k in range(len(some)):
                    some[k] += mine[k] * (share / max(own[k] + late, share))
    total = 0.0
    for k in range(hi - lo + 1):
        total += sums[k]
    return total


@helper
def _latest_end(joint, event, latest, match, intervals):
    """The latest time that the last event has in a match; there is one."""
    newest = len(match.tags) - 1
    lo, hi, base, time = match.lo[newest], match.hi[newest], joint.base, latest
    while True:
        if point_mass(intervals, event, time) > 0.0:
            at = (time - base - 1) * joint.width - base
            for before in range(max(joint.since[time - base - 1], lo), min(hi, time - 1) + 1):
                if joint.cells[at + before] > 0.0:
                    return time
        time -= 1


@helper
def _earliest_start(chains, reached, rows, joint, event, latest, match, intervals):
    """The earliest time that the first event has in a match; there is one.

    The earlier an event is, the less can be between it and the one before.
    """
    newest = len(match.tags) - 1
    lo, start, since, base = match.lo[newest], match.lo[0], joint.since, joint.base
    size, found = match.hi[newest] - lo + 1, FAR
    first_time = max(intervals.lower[event], lo + 1)
    since_first = max(since[first_time - base - 1], lo)
    for row in range(rows):
        time = first_time
        for before in range(since_first, lo + reached[row] + 1):
            if chains.masses[row * size + before - lo] == 0.0:
                continue
            time = max(time, before + 1)
            while time <= latest and point_mass(intervals, event, time) == 0.0:
                time += 1
            if time > latest or (row < rows - 1 and time - start - row >= match.window):
                break
            if before >= since[time - base - 1]:
                if row < rows - 1:
                    return start + row
                found = min(found, int(chains.firsts[before - lo]))
    return found


@helper
def _is_same(one, other):
    """Whether two lists of events, or of tags, are the same."""
    if len(one) != len(other):
        return False
    for i in range(len(one)):
        if one[i] != other[i]:
            return False
    return True


@kernel(
    I64(
        type_of(NextTask), type_of(Batch), type_of(Conditions), type_of(NextRoom), type_of(Scores),
        I64S, I64S,
    )
)  # fmt: skip
def score_next(task, batch, conditions, room, scores, others, at):
    """Write the scores of each match; 0 if no world has it.

    Matches with a rival in several gaps go to ``others``, ``at[1]`` of them. If there is too
    little room, ``at[0]`` is the place in the order to resume at, and ``at[2:]`` are the sizes that
    it needs: of lists, of numbers and of the grid.
    """
    ids, order, window, intervals = task.ids, task.order, task.window, batch.intervals
    listed, numbers, grid = room.listed, room.numbers, room.grid
    lo, hi, since, reached = numbers[LO], numbers[HI], numbers[SINCE], numbers[REACHED]
    lower, upper, count = intervals.lower, intervals.upper, len(conditions.steps)
    end_of_run, known, known_size = 0, NONE, 0
    base, width, latest, used = 0, 0, 0, 0
    newest = count - 2
    number = at[0]
    while number < len(order):
        if batch.pace[0] <= 0:
            at[0] = number
            return PAUSE
        low = order[number] * count
        match = Match(ids[low : low + count - 1], lo, hi, window)
        event = ids[low + newest] >> TAG_SHIFT
        if number >= end_of_run:
            # All matches with this event.
            end_of_run, latest = number, -FAR
            while (
                end_of_run < len(order)
                and ids[order[end_of_run] * count + newest] >> TAG_SHIFT == event
            ):
                last = ids[order[end_of_run] * count + newest + 1] >> TAG_SHIFT
                latest = max(latest, upper[last])
                end_of_run += 1
            latest = min(latest, upper[event] + window - 1)
            known, base, width = NONE, lower[event], upper[event] - lower[event] + 1
        # Those of them with the same events but the last.
        end = number + 1
        while end < end_of_run:
            other = order[end] * count
            if not _is_same(match.tags, ids[other : other + count - 1]):
                break
            end += 1
        if valid_bounds(match, intervals) == 0:
            batch.pace[0] -= end - number
            number = end
            continue
        longest = _list_all(match, latest, room, batch, conditions)
        last_time = min(latest, hi[0] + window - 1)
        rows = max(last_time - window + 1 - lo[0], 0) + 1
        wide = 0
        for level in range(count - 1):
            wide = max(wide, hi[level] - lo[level] + 1)
        # The survival, the same with the chains, two times the chains, with their firsts, a row
        # of times, and for the rivals a share and two rows each.
        used = max(latest - base, 0) * width
        chains_at = 2 * used
        firsts_at = chains_at + 2 * rows * wide
        shares_at = firsts_at + 3 * wide
        tables_at = shares_at + longest + 3
        needed = tables_at + (2 * longest + 2) * max(wide, width)
        at[2], at[3], at[4] = longest + 3, max(latest - base, rows), needed
        if at[2] > listed.shape[1] or at[3] > numbers.shape[1] or needed > len(grid):
            at[0] = number
            return NEED_ROOM
        batch.pace[0] -= needed + (end - number) * (used + 1)
        tied = _tied_from(room, count, intervals)
        survival = Survival(grid[:used], since, base, width)
        joint = Survival(grid[used:chains_at], since, base, width)
        tables = RivalTables(
            grid[firsts_at + 2 * wide : shares_at], grid[tables_at:needed],
            grid[shares_at:tables_at], listed[count + 1],
        )  # fmt: skip
        if tied == -FAR:
            for place in range(number, end):
                others[at[1]] = order[place]
                at[1] += 1
            number = end
            continue
        rivals = listed[count - 1, : numbers[SIZES, count - 1]]
        if known != event or not _is_same(rivals, listed[count, :known_size]):
            fill_survival(survival, rivals, latest, tables, intervals)
            known, known_size = event, len(rivals)
            for i in range(known_size):
                listed[count, i] = rivals[i]
        # Two sets of chains, of which each is made from the other.
        half, now = rows * wide, newest % 2
        even = Chains(grid[chains_at : chains_at + half], grid[firsts_at : firsts_at + wide])
        odd = Chains(
            grid[chains_at + half : firsts_at], grid[firsts_at + wide : firsts_at + 2 * wide]
        )
        if newest == 0:
            single_chains(even, rows, match, intervals)
        for level in range(1, count - 1):
            shorter, longer = (even, odd) if level % 2 else (odd, even)
            rivals = listed[level, : numbers[SIZES, level]]
            extend_chains(shorter, longer, rows, level, match, rivals, tables, intervals)
        chains, spare = (odd, even) if now else (even, odd)
        sum_chains(chains.masses, spare.masses, reached, rows, hi[newest] - lo[newest] + 1)
        _join(joint, survival, spare.masses, rows, last_time, match)
        for place in range(number, end):
            m = order[place]
            last = ids[m * count + count - 1] >> TAG_SHIFT
            if tied < upper[last] or _is_listed(listed, numbers[SIZES], count - 1, last):
                others[at[1]] = m
                at[1] += 1
                continue
            until = min(upper[last], last_time)
            total = _sum_last(joint, last, until, match, tables, room.inverses, intervals)
            if total > 0.0:
                scores.confidences[m] = total
                scores.starts[m] = _earliest_start(
                    chains, reached, rows, joint, last, until, match, intervals
                )
                scores.ends[m] = _latest_end(joint, last, until, match, intervals)
        number = end
    at[0] = number
    return DONE
