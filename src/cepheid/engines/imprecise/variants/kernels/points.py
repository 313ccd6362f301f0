"""Point-based evaluation: every instant of an event is a point event of its own [Zhang10 §4].

The points of each component are in the order of time, and matched with skip_till_any_match;
the matches of points with the same events are then collapsed into one. How many there are grows
with the product of the intervals: this is the simple way, and the one to measure others by.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.imprecise.kernels.interval_masses import FAR, first_from, mass_until
from cepheid.engines.imprecise.kernels.search import (
    CONTEXT,
    IDS,
    IS_NEXT,
    LEAST_TIME,
    MATCHES,
    NEED_OUTPUT,
    NEED_RUNS,
    ONLY_FRESH,
    PATHS,
    PREDICATE,
    SEARCHED,
    WINDOW,
    copy_registers,
)
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate


@kernel(I64(I64S, I64S, I64S, I64, I64, I64S, I64S))
def expand_points(lower, upper, candidates, begin, end, times, events):
    """Write every instant of candidates[begin:end] as a point; they are to be sorted by time."""
    written = 0
    for place in range(begin, end):
        event = candidates[place]
        for time in range(lower[event], upper[event] + 1):
            times[written], events[written] = time, event
            written += 1
    return written


@helper
def _first_after(times, begin, end, time):
    while begin < end:
        middle = (begin + end) >> 1
        if times[middle] > time:
            end = middle
        else:
            begin = middle + 1
    return begin


@helper
def _latest_of_next(event, row, partition, depth, candidates, index, lower, upper, test, predicate,
                    context_address):  # fmt: skip
    """The NELT of an event: after it, some event is sure to have been the next one."""
    end = index[row, partition + 1]
    place = first_from(candidates, index[row, partition], end, lower, upper[event] + 1)
    latest = FAR
    while place < end and lower[candidates[place]] <= latest:
        other = candidates[place]
        if test == NONE or call_predicate(predicate, test, context_address, other, depth) != 0:
            latest = min(latest, upper[other])
        place += 1
    return latest


@helper
def _collapse(table, entries, used, path, depth, size):
    """The entry of a signature, which may be a new one; -1 where there is no room for it."""
    key = 0
    for i in range(1, depth):
        key = (key * 1_000_003) ^ path[i]
    at = key & (size - 1)
    while table[at] >= 0:
        entry = table[at]
        same = True
        for i in range(1, depth):
            if entries[entry, i] != path[i]:
                same = False
                break
        if same:
            return entry
        at = (at + 1) & (size - 1)
    if used == len(entries):
        return -1
    table[at] = used
    for i in range(depth):
        entries[used, i] = path[i]
    return used


@kernel(
    I64(
        I64S, I64S, I64S, I64S, F64S, I64S, I64S_2D, I64S, I64S, I64S_2D, array_of(STEP),
        array_of(UPDATE), I64S, I64S_2D, F64S_2D, I64S, I64S, I64S_2D, I64S, I64S_2D, F64S_2D,
        I64S, I64S, F64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def match_points(
    control, lower, upper, mass_at, masses, candidates, index, point_times, point_events,
    point_index, steps, updates, context, ints, floats, valid, fresh, paths, table, entries, sums,
    ids, offsets, confidences, starts, ends, partition_of, at,
):  # fmt: skip
    """Write the signatures of all matches of points; from the anchor ``at[0]`` on.

    The matches that begin with one event, the anchor, are collapsed together: ``entries`` are
    their signatures, found by ``table``, and ``sums`` their mass, first and last time.
    """
    window, count, is_next = control[WINDOW], len(steps), control[IS_NEXT] != 0
    predicate, context_address = control[PREDICATE], control[CONTEXT]
    path, times, cursors, nelts = paths[0], paths[1], paths[2], paths[3]
    written, matches = control[IDS], control[MATCHES]
    offsets[0] = 0
    last_anchor = index[0, index.shape[1] - 1]
    for anchor_place in range(at[0], last_anchor):
        anchor = candidates[anchor_place]
        at[0] = anchor_place
        if upper[anchor] + window - 1 < control[LEAST_TIME]:
            continue
        partition = partition_of[anchor]
        valid[0] = 0
        for register in range(ints.shape[1]):
            ints[0, register] = 0
        test = steps[0].begin
        if test != NONE and call_predicate(predicate, test, context_address, anchor, 0) == 0:
            continue
        copy_registers(0, ints, floats, valid)
        update_registers(
            updates, steps[0].begin_low, steps[0].begin_high, context, anchor, 1, ints, floats,
            valid,
        )  # fmt: skip
        table[:] = -1
        used = 0
        path[0] = anchor
        for first_time in range(lower[anchor], upper[anchor] + 1):
            times[0] = first_time
            share = mass_until(lower, upper, mass_at, masses, anchor, first_time) - mass_until(
                lower, upper, mass_at, masses, anchor, first_time - 1
            )
            if share == 0.0:
                continue
            sums[0, 0] = share
            depth = 1
            opened = True
            while depth > 0:
                if depth == count:
                    entry = _collapse(table, entries, used, path, depth, len(table))
                    if entry < 0:
                        control[IDS], control[MATCHES] = written, matches
                        return NEED_RUNS
                    if entry == used:
                        used += 1
                        sums[1, entry], sums[2, entry] = 0.0, float(first_time)
                        sums[3, entry] = -float(FAR)
                    sums[1, entry] += sums[0, depth - 1]
                    sums[2, entry] = min(sums[2, entry], float(first_time))
                    sums[3, entry] = max(sums[3, entry], float(times[depth - 1]))
                    depth -= 1
                    opened = False
                    if depth == 0:
                        break
                    continue
                row = 2 * depth
                end = point_index[depth, partition + 1]
                if opened:
                    cursors[depth] = _first_after(
                        point_times, point_index[depth, partition], end, times[depth - 1]
                    )
                    nelts[depth] = FAR
                    if is_next:
                        nelts[depth] = _latest_of_next(
                            path[depth - 1], row, partition, depth, candidates, index, lower,
                            upper, steps[depth].begin, predicate, context_address,
                        )  # fmt: skip
                    opened = False
                place = cursors[depth]
                if (
                    place == end
                    or point_times[place] > first_time + window - 1
                    or point_times[place] > nelts[depth]
                ):
                    depth -= 1
                    continue
                cursors[depth] += 1
                event, time = point_events[place], point_times[place]
                is_used = False
                for i in range(depth):
                    is_used = is_used or path[i] == event
                step = steps[depth]
                if is_used or (
                    step.begin != NONE
                    and call_predicate(predicate, step.begin, context_address, event, depth) == 0
                ):
                    continue
                share = mass_until(lower, upper, mass_at, masses, event, time) - mass_until(
                    lower, upper, mass_at, masses, event, time - 1
                )
                if share == 0.0:
                    continue
                control[PATHS] += 1
                path[depth], times[depth] = event, time
                sums[0, depth] = sums[0, depth - 1] * share
                copy_registers(depth, ints, floats, valid)
                update_registers(
                    updates, step.begin_low, step.begin_high, context, event, depth + 1, ints,
                    floats, valid,
                )  # fmt: skip
                depth += 1
                opened = True
        if written + used * count > len(ids) or matches + used + 2 > len(offsets):
            control[IDS], control[MATCHES] = written, matches
            return NEED_OUTPUT
        for entry in range(used):
            is_fresh = 0
            for i in range(count):
                is_fresh |= fresh[entries[entry, i]]
            if is_fresh == 0 and control[ONLY_FRESH] != 0:
                continue
            for i in range(count):
                ids[written + i] = (entries[entry, i] << TAG_SHIFT) | i
            written += count
            confidences[matches] = sums[1, entry]
            starts[matches], ends[matches] = int(sums[2, entry]), int(sums[3, entry])
            matches += 1
            offsets[matches] = written
    at[0] = last_anchor
    control[IDS], control[MATCHES] = written, matches
    return SEARCHED
