"""Signatures of patterns whose order is partial, AND, and their confidences.

Events without an order between them may be at the same instant. The confidence is a sum over the
first time t and, from there on, over the sets of events that have happened by each instant:

    happened(S + e, t) += happened(S, t - 1) · P[e at t],  all predecessors of e being in S.

Several alternatives of an OR can find the same signature. It is a match where any of them holds:
by inclusion and exclusion, since several hold together where their orders do.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.drive import DONE
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    copy_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise.kernels.interval_masses import FAR, first_reaching, point_mass
from cepheid.engines.imprecise.layout import (
    DEPTH,
    IDS,
    LEAST_TIME,
    MATCHES,
    NEED_OUTPUT,
    ONLY_FRESH,
    PARTITION,
    PATHS,
    WINDOW,
    Batch,
    Intervals,
    Scores,
    Signatures,
)
from cepheid.jit.decorators import F64S, I64, I64S, I64S_2D, helper, kernel, type_of

LEVEL_ROWS = 5
"""The rows of numbers of the levels of a search."""


@kernel(
    I64(
        I64S, type_of(Batch), type_of(Conditions), I64S, I64S_2D, type_of(Signatures),
    )
)  # fmt: skip
def search_partial_order(control, batch, conditions, predecessors, levels, out):
    """Write signatures whose events may fit together; resumes where it stopped.

    ``predecessors`` has the components that come before each, as bits. The rows of ``levels``
    are the cursor, the event, whether a fresh one is bound, and the latest beginning and the
    earliest end of the events before.
    """
    window, count = control[WINDOW], len(conditions.steps)
    intervals, candidates = batch.intervals, batch.candidates
    lower, upper, places = intervals.lower, intervals.upper, candidates.places
    borders, ids, offsets = candidates.borders, out.ids, out.offsets
    partition, depth = control[PARTITION], control[DEPTH]
    written, matches = control[IDS], control[MATCHES]
    cursors, path, freshness, begins, ends = levels[0], levels[1], levels[2], levels[3], levels[4]
    offsets[0] = 0
    status = DONE
    while partition < borders.shape[1] - 1:
        if depth < 0:
            depth = 0
            cursors[0], freshness[0], begins[0], ends[0] = borders[0, partition], 0, -FAR, FAR
            clear_registers(conditions, 0)
        if written + count > len(ids) or matches + 2 > len(offsets):
            status = NEED_OUTPUT
            break
        if (
            cursors[depth] == borders[2 * depth, partition + 1]
            or lower[places[cursors[depth]]] - ends[depth] >= window
        ):
            depth -= 1
            if depth < 0:
                partition += 1
            continue
        event = places[cursors[depth]]
        cursors[depth] += 1
        if begins[depth] - upper[event] >= window or (
            depth == 0 and upper[event] + window - 1 < control[LEAST_TIME]
        ):
            continue
        fits = True
        for i in range(depth):
            other = path[i]
            if (
                other == event
                or ((predecessors[depth] >> i) & 1 and lower[other] >= upper[event])
                or ((predecessors[i] >> depth) & 1 and lower[event] >= upper[other])
            ):
                fits = False
        if not fits or not holds(conditions, conditions.steps[depth].begin, event, depth):
            continue
        control[PATHS] += 1
        path[depth] = event
        is_fresh = freshness[depth] | batch.fresh[event]
        if depth + 1 == count:
            if is_fresh != 0 or control[ONLY_FRESH] == 0:
                for i in range(count):
                    ids[written + i] = (path[i] << TAG_SHIFT) | i
                written += count
                matches += 1
                offsets[matches] = written
            continue
        copy_registers(conditions, depth, depth + 1)
        select_event(conditions, depth, False, event, depth + 1)
        begin, end = max(begins[depth], lower[event]), min(ends[depth], upper[event])
        depth += 1
        freshness[depth], begins[depth], ends[depth] = is_fresh, begin, end
        cursors[depth] = first_reaching(candidates, 2 * depth, partition, lower, begin - window + 1)
    control[PARTITION], control[DEPTH] = partition, depth
    control[IDS], control[MATCHES] = written, matches
    return status


@helper
def _pass_instant(happened, events, time, predecessors, sequence, intervals):
    """Let any events happen at this instant.

    Predecessors are looked at last, so that no event follows another of the same instant.
    """
    lower, upper, count = intervals.lower, intervals.upper, len(events)
    for place in range(count - 1, -1, -1):
        i = sequence[place]
        event = events[i]
        if time < lower[event] or time > upper[event]:
            continue
        share = point_mass(intervals, event, time)
        for happening in range(1 << count):
            if (happening >> i) & 1 == 0 and happening & predecessors[i] == predecessors[i]:
                happened[happening | (1 << i)] += happened[happening] * share


@helper
def _sum_from(happened, events, begin, limit, begins, predecessors, sequence, intervals):
    """The probability that all events happen in order from ``begin`` to ``limit``; the latest end.

    If ``begins``, at least one of them is at the first instant.
    """
    lower, upper, count = intervals.lower, intervals.upper, len(events)
    everything = (1 << count) - 1
    total, latest, time = 0.0, -FAR, begin
    for happening in range(everything + 1):
        happened[happening] = 0.0
    happened[0] = 1.0
    while time <= limit:
        _pass_instant(happened, events, time, predecessors, sequence, intervals)
        if begins:
            happened[0] = 0.0
        if happened[everything] > 0.0:
            total += happened[everything]
            latest = time
            happened[everything] = 0.0
        # On to the next instant at which something can happen.
        following = FAR
        for i in range(count):
            if upper[events[i]] > time:
                following = min(following, max(lower[events[i]], time + 1))
        time = following
    return total, latest


@kernel(
    I64(
        I64S_2D, I64S, type_of(Intervals), I64, I64S_2D, I64S_2D, F64S, type_of(Scores),
    )
)  # fmt: skip
def score_partial_orders(
    events, found_by, intervals, window, predecessors, sequences, happened, scores
):
    """Write the confidence and the range of time of each match; 0 where no world has it.

    Row m of ``events`` is match m, found by the alternatives ``found_by[m]``, as bits. Row s of
    ``predecessors`` has the order in which those of the set s hold together, or a negative
    number where they cannot, and that of ``sequences`` the components in such an order.
    """
    lower, upper, count = intervals.lower, intervals.upper, events.shape[1]
    confidences, starts, ends = scores
    for m in range(len(events)):
        total, start, latest = 0.0, FAR, -FAR
        first, last, end = FAR, FAR, -FAR
        for i in range(count):
            first = min(first, lower[events[m, i]])
            last = min(last, upper[events[m, i]])
            end = max(end, upper[events[m, i]])
        for together in range(1, len(predecessors)):
            if together & found_by[m] != together or predecessors[together, 0] < 0:
                continue
            sign, rest = -1.0, together
            while rest:
                sign = -sign
                rest &= rest - 1
            # If the window leaves out nothing, the first time matters for the start alone.
            is_free = end - first < window
            step = -1 if is_free else 0
            while first + step <= last:
                begin = first + max(step, 0)
                share, until = _sum_from(
                    happened, events[m], begin, min(end, begin + window - 1), step >= 0,
                    predecessors[together], sequences[together], intervals,
                )  # fmt: skip
                step += 1
                if share == 0.0:
                    if is_free and step == 0:
                        break
                    continue
                if not is_free or step == 0:
                    total += sign * share
                    latest = max(latest, until)
                if step > 0:
                    start = min(start, begin)
                    if is_free:
                        break
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if latest != -FAR:
            confidences[m], starts[m], ends[m] = total, start, latest
    return 0
