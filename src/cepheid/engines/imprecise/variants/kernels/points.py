"""Point-based evaluation: every instant of an event is a point event of its own [Zhang10 §4].

The points of each component are in time order, and matched with skip_till_any_match; the matches
of points with the same events are then collapsed into one. The number of these matches grows with
the product of the intervals: this is the simple method, and the one to compare others with.
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    copy_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.kernels.interval_masses import FAR, first_from, mass_between
from cepheid.engines.imprecise.layout import Batch, PointRoom, Points, Scores, Signatures
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE


@helper
def _latest_of_next(event, depth, partition, batch, conditions):
    """The NELT of an event: after it, some event is certain to have been the next one."""
    lower, upper = batch.intervals.lower, batch.intervals.upper
    places, borders = batch.candidates.places, batch.candidates.borders
    end, test = borders[2 * depth, partition + 1], conditions.steps[depth].begin
    place = first_from(places, borders[2 * depth, partition], end, lower, upper[event] + 1)
    latest = FAR
    while place < end and lower[places[place]] <= latest:
        other = places[place]
        if holds(conditions, test, other, depth):
            latest = min(latest, upper[other])
        place += 1
    return latest


@helper
def _collapse(table, entries, used, path, depth, size):
    """The entry of a signature, which may be a new one; -1 if there is no room for it."""
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
        I64S, type_of(Batch), type_of(Conditions), type_of(Points), type_of(PointRoom),
        type_of(Signatures), type_of(Scores),
    )
)  # fmt: skip
def match_points(control, batch, conditions, points, room, out, scores):
    """Write the signatures of all matches of points, and their scores; resumes where it stopped.

    The matches that begin with one event, the anchor, are collapsed together.
    """
    steps = conditions.steps
    window, count, is_next = control[layout.WINDOW], len(steps), control[layout.IS_NEXT] != 0
    intervals, candidates = batch.intervals, batch.candidates
    lower, upper = intervals.lower, intervals.upper
    paths, table, entries, sums = room
    ids, offsets, pace = out.ids, out.offsets, batch.pace
    path, times, cursors, nelts = paths[0], paths[1], paths[2], paths[3]
    written, matches = control[layout.IDS], control[layout.MATCHES]
    offsets[0] = 0
    last_anchor = candidates.borders[0, candidates.borders.shape[1] - 1]
    for anchor_place in range(control[layout.RESUME_AT], last_anchor):
        anchor = candidates.places[anchor_place]
        control[layout.RESUME_AT] = anchor_place
        partition = batch.partition_of[anchor]
        # A search that has paused is at some depth of this anchor.
        depth, used = control[layout.DEPTH], control[layout.POINT_ENTRIES]
        begun, control[layout.DEPTH] = control[layout.POINT_TIME], 0
        if depth <= 0:
            if upper[anchor] + window - 1 < control[layout.LEAST_TIME]:
                continue
            clear_registers(conditions, 0)
            if not holds(conditions, steps[0].begin, anchor, 0):
                continue
            copy_registers(conditions, 0, 1)
            select_event(conditions, 0, False, anchor, 1)
            table[:] = -1
            used = 0
            path[0] = anchor
            begun = lower[anchor]
        for first_time in range(begun, upper[anchor] + 1):
            opened = depth <= 0
            if opened:
                times[0] = first_time
                share = mass_between(intervals, anchor, first_time, first_time)
                if share == 0.0:
                    continue
                sums[0, 0] = share
                depth = 1
            while depth > 0:
                if depth == count:
                    entry = _collapse(table, entries, used, path, depth, len(table))
                    if entry < 0:
                        control[layout.IDS], control[layout.MATCHES] = written, matches
                        return layout.NEED_RUNS
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
                end = points.borders[depth, partition + 1]
                if opened:
                    begin = points.borders[depth, partition]
                    cursors[depth] = begin + np.searchsorted(
                        points.times[begin:end], times[depth - 1], "right"
                    )
                    nelts[depth] = FAR
                    if is_next:
                        nelts[depth] = _latest_of_next(
                            path[depth - 1], depth, partition, batch, conditions
                        )
                    opened = False
                if pace[0] <= 0:
                    control[layout.DEPTH], control[layout.POINT_ENTRIES] = depth, used
                    control[layout.POINT_TIME] = first_time
                    control[layout.IDS], control[layout.MATCHES] = written, matches
                    return PAUSE
                pace[0] -= 1
                place = cursors[depth]
                if (
                    place == end
                    or points.times[place] > first_time + window - 1
                    or points.times[place] > nelts[depth]
                ):
                    depth -= 1
                    continue
                cursors[depth] += 1
                event, time = points.events[place], points.times[place]
                is_used = False
                for i in range(depth):
                    is_used = is_used or path[i] == event
                if is_used or not holds(conditions, steps[depth].begin, event, depth):
                    continue
                share = mass_between(intervals, event, time, time)
                if share == 0.0:
                    continue
                control[layout.PATHS] += 1
                path[depth], times[depth] = event, time
                sums[0, depth] = sums[0, depth - 1] * share
                copy_registers(conditions, depth, depth + 1)
                select_event(conditions, depth, False, event, depth + 1)
                depth += 1
                opened = True
        if written + used * count > len(ids) or matches + used + 2 > len(offsets):
            control[layout.IDS], control[layout.MATCHES] = written, matches
            return layout.NEED_OUTPUT
        for entry in range(used):
            is_fresh = 0
            for i in range(count):
                is_fresh |= batch.fresh[entries[entry, i]]
            if is_fresh == 0 and control[layout.ONLY_FRESH] != 0:
                continue
            for i in range(count):
                ids[written + i] = (entries[entry, i] << TAG_SHIFT) | i
            written += count
            scores.confidences[matches] = sums[1, entry]
            scores.starts[matches] = int(sums[2, entry])
            scores.ends[matches] = int(sums[3, entry])
            matches += 1
            offsets[matches] = written
    control[layout.RESUME_AT] = last_anchor
    control[layout.IDS], control[layout.MATCHES] = written, matches
    return DONE
