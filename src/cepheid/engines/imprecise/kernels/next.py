"""Confidences under skip_till_next_match, of matches with the same events but the last together.

With t_0 < t_1 < … the times of a match, no other event that could be taken for component j, here
a *rival*, is between t_(j-1) and t_j. For given times all rivals are independent, so that

    confidence = Σ over t_0 < t_1 < …  of  Π P[event j at t_j] · Π P[no rival j in gap j],

a rival r being outside with probability P[r <= t_(j-1)] + P[r >= t_j]. What most matches share is
made once:

- the *survival* from the last event but one: the probability that no candidate for the last
  component, the last event of the match among them, is between two times. It is the same for all
  matches with this event, and each divides its own last event out of it;
- the *chains* of the events before the last: their mass for each time of the first and of the
  newest one, and from it, for each end of the window, the mass of those that begin in it.

A match then costs a sum over pairs of times, of two multiplications each, however many rivals it
has. Rivals with several gaps tie all times together: their matches are left to
imprecise_confidence.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    first_from,
    is_in,
    mass_until,
    masses_until,
    point_mass,
    valid_bounds,
)
from cepheid.engines.imprecise.kernels.survival import (
    HI,
    LO,
    REACHED,
    SINCE,
    SIZES,
    extend_chains,
    fill_survival,
    single_chains,
    sum_chains,
)
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate

WEIGHED, NEED_LISTS, NEED_TIMES, NEED_GRID = 0, 1, 2, 3


@helper
def _is_listed(listed, sizes, end, event):
    """Whether the event is a rival of a component before ``end``."""
    for level in range(1, end):
        for i in range(sizes[level]):
            if listed[level, i] == event:
                return True
    return False


@helper
def _list_rivals(listed, ids, low, level, own, begin, end, lower, upper, candidates, index, reach,
                 partition, test, predicate, context_address):  # fmt: skip
    """Write the events that could be taken between two times; returns how many there are."""
    used, row = 0, 2 * level
    stop = index[row, partition + 1]
    place = first_from(candidates, index[row, partition], stop, lower, begin + 1 - reach[row])
    while place < stop and lower[candidates[place]] < end:
        event = candidates[place]
        place += 1
        if upper[event] <= begin or event == own or is_in(ids, low, low + level, event):
            continue
        if test != NONE and call_predicate(predicate, test, context_address, event, 0) == 0:
            continue
        if used < len(listed):
            listed[used] = event
        used += 1
    return used


@helper
def _list_all(listed, numbers, ids, low, count, latest, lower, upper, candidates, index, reach,
              partition_of, steps, updates, context, ints, floats, valid, predicate,
              context_address):  # fmt: skip
    """Write the rivals of every gap, for the last one until ``latest``; the longest list's size."""
    lo, hi, sizes = numbers[LO], numbers[HI], numbers[SIZES]
    longest = 0
    valid[0] = 0
    partition = partition_of[ids[low] >> TAG_SHIFT]
    for level in range(1, count):
        before = ids[low + level - 1] >> TAG_SHIFT
        step = steps[level - 1]
        update_registers(
            updates, step.begin_low, step.begin_high, context, before, 0, ints, floats, valid
        )
        own, begin, end = NONE, lower[before], latest
        if level < count - 1:
            own, begin, end = ids[low + level] >> TAG_SHIFT, lo[level - 1], hi[level]
        sizes[level] = _list_rivals(
            listed[level], ids, low, level, own, begin, end, lower, upper, candidates, index,
            reach, partition, steps[level].begin, predicate, context_address,
        )  # fmt: skip
        longest = max(longest, sizes[level])
    return longest


@helper
def _tied_from(listed, numbers, count, lower, upper):
    """The beginning of the first rival of the last gap that is one of another gap too, or FAR.

    It is -FAR where a rival has several of the gaps before.
    """
    sizes, earliest = numbers[SIZES], FAR
    for level in range(2, count):
        for i in range(sizes[level]):
            event = listed[level, i]
            if upper[event] > numbers[LO, level - 1] and _is_listed(listed, sizes, level, event):
                if level < count - 1:
                    return -FAR
                earliest = min(earliest, lower[event])
    return earliest


@helper
def _join(joint, survival, later, since, rows, base, width, first_time, latest, window, lo, hi,
          start):  # fmt: skip
    """For each later and earlier time the mass of the chains in the window, if nothing is between.

    ``lo`` to ``hi`` are the times of the newest event of the chains.
    """
    size = hi - lo + 1
    for time in range(first_time, latest + 1):
        begin, end = max(since[time - base - 1], lo), min(hi, time - 1)
        if begin > end:
            continue
        row = min(max(time - window + 1 - start, 0), rows - 1)
        at = (time - base - 1) * width - base
        mine, shares = joint[at + begin : at + end + 1], survival[at + begin : at + end + 1]
        sums = later[row * size + begin - lo : row * size + end - lo + 1]
        for k in range(len(mine)):
            mine[k] = shares[k] * sums[k]


@helper
def _sum_last(sums, joint, since, early, inverses, base, width, earliest, latest, lo, hi, event,
              lower, upper, mass_at, masses):  # fmt: skip
    """The confidence of the match that ends with an event, which is divided out of the survival."""
    for k in range(hi - lo + 1):
        sums[k] = 0.0
    size = upper[event] - lower[event] + 1
    is_uniform = mass_at[event] < 0
    if not is_uniform:
        masses_until(lower, upper, mass_at, masses, event, lo, hi - lo + 1, early)
    for time in range(earliest, latest + 1):
        begin, end = max(since[time - base - 1], lo), min(hi, time - 1)
        if begin > end:
            continue
        at = (time - base - 1) * width - base
        if is_uniform:
            # The event is not between with (upper - time + 1) / size before its interval begins,
            # and with (size - (time - 1 - before)) / size from there on.
            middle = min(max(lower[event], begin), end + 1)
            share = inverses[upper[event] - time + 1]
            mine, some = joint[at + begin : at + middle], sums[begin - lo : middle - lo]
            for k in range(len(some)):
                some[k] += share * mine[k]
            mine, some = joint[at + middle : at + end + 1], sums[middle - lo : end - lo + 1]
            own = inverses[size + 1 - time + middle : size + 2 - time + end]
            for k in range(len(some)):
                some[k] += mine[k] * own[k]
        else:
            share = point_mass(lower, upper, mass_at, masses, event, time)
            if share > 0.0:
                late = 1.0 - mass_until(lower, upper, mass_at, masses, event, time - 1)
                mine, some = joint[at + begin : at + end + 1], sums[begin - lo : end - lo + 1]
                own = early[begin - lo : end - lo + 1]
                for k in range(len(some)):
                    some[k] += mine[k] * (share / max(own[k] + late, share))
    total = 0.0
    for k in range(hi - lo + 1):
        total += sums[k]
    return total


@helper
def _latest_end(joint, since, base, width, latest, lo, hi, event, lower, upper, mass_at, masses):
    """The latest time that the last event has in a match; there is one."""
    time = latest
    while True:
        if point_mass(lower, upper, mass_at, masses, event, time) > 0.0:
            at = (time - base - 1) * width - base
            for before in range(max(since[time - base - 1], lo), min(hi, time - 1) + 1):
                if joint[at + before] > 0.0:
                    return time
        time -= 1


@helper
def _earliest_start(chains, firsts, reached, since, rows, base, latest, window, lo, hi, start,
                    event, lower, upper, mass_at, masses):  # fmt: skip
    """The earliest time that the first event has in a match; there is one.

    The earlier an event is, the less can be between it and the one before.
    """
    size, found = hi - lo + 1, FAR
    first_time = max(lower[event], lo + 1)
    since_first = max(since[first_time - base - 1], lo)
    for row in range(rows):
        time = first_time
        for before in range(since_first, lo + reached[row] + 1):
            if chains[row * size + before - lo] == 0.0:
                continue
            time = max(time, before + 1)
            while time <= latest and point_mass(lower, upper, mass_at, masses, event, time) == 0.0:
                time += 1
            if time > latest or (row < rows - 1 and time - start - row >= window):
                break
            if before >= since[time - base - 1]:
                if row < rows - 1:
                    return start + row
                found = min(found, int(firsts[before - lo]))
    return found


@helper
def _begins_alike(ids, low, other, newest):
    """Whether two matches have the same events but the last."""
    for i in range(newest + 1):
        if ids[low + i] != ids[other + i]:
            return False
    return True


@helper
def _is_same(one, size, other, other_size):
    if size != other_size:
        return False
    for i in range(size):
        if one[i] != other[i]:
            return False
    return True


@kernel(
    I64(
        I64S, I64, I64S, I64S, I64S, I64S, F64S, I64S, I64, I64S, I64S_2D, I64S, array_of(STEP),
        array_of(UPDATE), I64S, I64S_2D, F64S_2D, I64S, I64, I64, F64S, I64S_2D, I64S_2D, F64S,
        F64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def weigh_next(
    ids, count, order, lower, upper, mass_at, masses, partition_of, window, candidates, index,
    reach, steps, updates, context, ints, floats, valid, predicate, context_address, inverses,
    listed, numbers, grid, confidences, starts, ends, others, at,
):  # fmt: skip
    """Write the confidence and the range of time of each match; 0 where no world has it.

    All have ``count`` events. ``order`` has those with the same last event but one together,
    and among them those with the same events but the last. Those with a rival in several gaps
    go to ``others``, ``at[1]`` of them. ``inverses[n]`` is 1 / n. ``listed``, ``numbers`` and
    ``grid`` are scratch: where one is too small, ``at[0]`` is where to go on in ``order``, and
    ``at[2]`` the room it needs.
    """
    lo, hi, since, reached = numbers[LO], numbers[HI], numbers[SINCE], numbers[REACHED]
    end_of_run, known, known_size = 0, NONE, 0
    base, width, latest, used = 0, 0, 0, 0
    newest = count - 2
    number = at[0]
    while number < len(order):
        low = order[number] * count
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
        while end < end_of_run and _begins_alike(ids, low, order[end] * count, newest):
            end += 1
        if valid_bounds(ids, low, low + count - 1, lower, upper, window, lo, hi) == 0:
            number = end
            continue
        longest = _list_all(
            listed, numbers, ids, low, count, latest, lower, upper, candidates, index, reach,
            partition_of, steps, updates, context, ints, floats, valid, predicate, context_address,
        )  # fmt: skip
        if longest + 3 > listed.shape[1]:
            at[0], at[2] = number, longest + 3
            return NEED_LISTS
        tied = _tied_from(listed, numbers, count, lower, upper)
        last_time = min(latest, hi[0] + window - 1)
        start = lo[0]
        rows = max(last_time - window + 1 - start, 0) + 1
        needed = max(latest - base, rows)
        if needed > numbers.shape[1]:
            at[0], at[2] = number, needed
            return NEED_TIMES
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
        if needed > len(grid):
            at[0], at[2] = number, needed
            return NEED_GRID
        survival, joint = grid[:used], grid[used:chains_at]
        row, shares = grid[firsts_at + 2 * wide : shares_at], grid[shares_at:tables_at]
        tables, places = grid[tables_at:needed], listed[count + 1]
        size = numbers[SIZES, count - 1]
        if tied == -FAR:
            for place in range(number, end):
                others[at[1]] = order[place]
                at[1] += 1
            number = end
            continue
        if known != event or not _is_same(listed[count - 1], size, listed[count], known_size):
            fill_survival(
                survival, tables, shares, places, since, listed[count - 1], size, base, width,
                latest, lower, upper, mass_at, masses,
            )  # fmt: skip
            known, known_size = event, size
            for i in range(size):
                listed[count, i] = listed[count - 1, i]
        now = newest % 2
        half = rows * wide
        first_size = hi[0] - start + 1
        if newest == 0:
            single_chains(
                grid[chains_at:firsts_at], grid[firsts_at:shares_at], rows, first_size, start,
                event, lower, upper, mass_at, masses,
            )  # fmt: skip
        for level in range(1, count - 1):
            here, there = (level + 1) % 2, level % 2
            extend_chains(
                grid[chains_at + here * half : chains_at + (here + 1) * half],
                grid[firsts_at + here * wide : firsts_at + (here + 1) * wide],
                grid[chains_at + there * half : chains_at + (there + 1) * half],
                grid[firsts_at + there * wide : firsts_at + (there + 1) * wide],
                row, tables, shares, places, rows, level, ids, low, numbers, listed[level],
                numbers[SIZES, level], lower, upper, mass_at, masses,
            )  # fmt: skip
        chains = grid[chains_at + now * half : chains_at + (now + 1) * half]
        firsts = grid[firsts_at + now * wide : firsts_at + (now + 1) * wide]
        later = grid[chains_at + (1 - now) * half : chains_at + (2 - now) * half]
        sum_chains(chains, later, reached, rows, hi[newest] - lo[newest] + 1)
        _join(
            joint, survival, later, since, rows, base, width, lo[newest] + 1, last_time, window,
            lo[newest], hi[newest], start,
        )  # fmt: skip
        for place in range(number, end):
            m = order[place]
            last = ids[m * count + count - 1] >> TAG_SHIFT
            if tied < upper[last] or _is_listed(listed, numbers[SIZES], count - 1, last):
                others[at[1]] = m
                at[1] += 1
                continue
            earliest, until = max(lower[last], lo[newest] + 1), min(upper[last], last_time)
            total = _sum_last(
                row, joint, since, tables, inverses, base, width,
                earliest, until, lo[newest], hi[newest], last, lower, upper, mass_at, masses,
            )  # fmt: skip
            if total > 0.0:
                confidences[m] = total
                starts[m] = _earliest_start(
                    chains, firsts, reached, since, rows, base, until, window, lo[newest],
                    hi[newest], start, last, lower, upper, mass_at, masses,
                )  # fmt: skip
                ends[m] = _latest_end(
                    joint, since, base, width, until, lo[newest], hi[newest], last, lower, upper,
                    mass_at, masses,
                )  # fmt: skip
        number = end
    at[0] = number
    return WEIGHED
