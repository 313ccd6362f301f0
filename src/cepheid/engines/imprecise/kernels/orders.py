"""Event-based evaluation in any order of components, such as rare ones first [Zhang10 §5.2].

Two events of a match are at least ``apart[i, j]`` instants apart, from component i to component j.
This follows from the order of the components, total or partial, and from the window. So the times
that a bound event can have, from ``vlb`` to ``vub``, follow from the other bound events. The
conditions across events are tested for the components at the beginning of the pattern as soon as
all of them are bound.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    copy_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.kernels.interval_masses import FAR, first_reaching, mass_between
from cepheid.engines.imprecise.layout import Batch, OrderLevels, Signatures
from cepheid.jit.decorators import F64S, I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

LEVEL_ROWS = 5
"""The rows of numbers of the levels of a search."""
UNBOUND = -1


@helper
def bounds_of(events, vlb, vub, slot, apart):
    """The times that an event of this slot can have, given the events that are bound."""
    low, high = -FAR, FAR
    for i in range(len(events)):
        if events[i] != UNBOUND:
            low = max(low, vlb[i] + apart[i, slot])
            high = min(high, vub[i] - apart[slot, i])
    return low, high


@helper
def fit(events, vlb, vub, slot, event, apart, intervals):
    """Bind an event to a slot and tighten the bounds of all; whether each still has a time.

    ``events`` has the event of each slot, or UNBOUND. One pass is enough: what follows from two
    distances is in ``apart``.
    """
    low, high = bounds_of(events, vlb, vub, slot, apart)
    low, high = max(low, intervals.lower[event]), min(high, intervals.upper[event])
    if low > high:
        return False
    for i in range(len(events)):
        if events[i] != UNBOUND:
            vlb[i] = max(vlb[i], low + apart[slot, i])
            vub[i] = min(vub[i], high - apart[i, slot])
    events[slot], vlb[slot], vub[slot] = event, low, high
    return True


@helper
def satisfies(events, done, bound, conditions):
    """Test the components ``done`` to ``bound`` of a pattern, in its order, and fill registers."""
    for slot in range(done, bound):
        if not holds(conditions, conditions.steps[slot].begin, events[slot], slot):
            return False
        copy_registers(conditions, slot, slot + 1)
        select_event(conditions, slot, False, events[slot], slot + 1)
    return True


@helper
def write_signature(events, out, written, matches):
    """Write the signature of these events, one for each component."""
    for slot in range(len(events)):
        out.ids[written + slot] = (events[slot] << TAG_SHIFT) | slot
    out.offsets[matches + 1] = written + len(events)


@kernel(
    I64(
        I64S, type_of(Batch), type_of(Conditions), type_of(OrderLevels), F64S, type_of(Signatures),
    )
)  # fmt: skip
def search_in_order(control, batch, conditions, bound_at, least_confidence, out):
    """Write the signatures, binding the components in the given order; resumes where it stopped."""
    window = control[layout.WINDOW]
    partition, depth = control[layout.PARTITION], control[layout.DEPTH]
    written, matches = control[layout.IDS], control[layout.MATCHES]
    intervals, candidates, fresh = batch.intervals, batch.candidates, batch.fresh
    lower, upper = intervals.lower, intervals.upper
    places, borders = candidates.places, candidates.borders
    order, apart, events, vlb, vub, levels = bound_at
    count = len(order)
    cursors, bound, freshness = levels[0], levels[1], levels[2]
    earliest, limits = levels[3], levels[4]
    has_tests = False
    for slot in range(count):
        has_tests = has_tests or conditions.steps[slot].begin != NONE
    out.offsets[0] = 0
    status, left = DONE, batch.pace[0]
    while partition < borders.shape[1] - 1:
        if left <= 0:
            status = PAUSE
            break
        left -= 1
        if depth < 0:
            depth = 0
            cursors[0], bound[0], freshness[0] = borders[2 * order[0], partition], 0, 0
            earliest[0], limits[0] = -FAR, FAR
            clear_registers(conditions, 0)
            for slot in range(count):
                events[0, slot] = UNBOUND
        if written + count > len(out.ids) or matches + 2 > len(out.offsets):
            status = layout.NEED_OUTPUT
            break
        slot = order[depth]
        row, limit = 2 * slot, limits[depth]
        if cursors[depth] == borders[row, partition + 1] or lower[places[cursors[depth]]] > limit:
            depth -= 1
            if depth < 0:
                partition += 1
            continue
        event = places[cursors[depth]]
        cursors[depth] += 1
        if upper[event] < earliest[depth] or upper[event] + window - 1 < control[layout.LEAST_TIME]:
            continue
        is_used = False
        for i in range(count):
            is_used = is_used or events[depth, i] == event
        if is_used:
            continue
        if depth + 1 == count and least_confidence[0] <= 0.0:
            # The bounds of the level say all about an event that is the last to be bound.
            events[depth, slot] = event
            if not has_tests or satisfies(events[depth], bound[depth], count, conditions):
                control[layout.PATHS] += 1
                if freshness[depth] | fresh[event] != 0 or control[layout.ONLY_FRESH] == 0:
                    write_signature(events[depth], out, written, matches)
                    written += count
                    matches += 1
            events[depth, slot] = UNBOUND
            continue
        for i in range(count):
            events[depth + 1, i] = events[depth, i]
            vlb[depth + 1, i], vub[depth + 1, i] = vlb[depth, i], vub[depth, i]
        if not fit(
            events[depth + 1], vlb[depth + 1], vub[depth + 1], slot, event, apart, intervals
        ):
            continue
        if least_confidence[0] > 0.0:
            share = 1.0
            for i in range(count):
                bound_event = events[depth + 1, i]
                if bound_event != UNBOUND:
                    share *= mass_between(
                        intervals, bound_event, vlb[depth + 1, i], vub[depth + 1, i]
                    )
            if share < least_confidence[0]:
                continue
        done, high = bound[depth], bound[depth]
        while high < count and events[depth + 1, high] != UNBOUND:
            high += 1
        if has_tests and not satisfies(events[depth + 1], done, high, conditions):
            continue
        control[layout.PATHS] += 1
        is_fresh = freshness[depth] | fresh[event]
        if depth + 1 == count:
            if is_fresh != 0 or control[layout.ONLY_FRESH] == 0:
                write_signature(events[depth + 1], out, written, matches)
                written += count
                matches += 1
            continue
        depth += 1
        bound[depth], freshness[depth] = high, is_fresh
        slot = order[depth]
        first, limits[depth] = bounds_of(events[depth], vlb[depth], vub[depth], slot, apart)
        earliest[depth] = first
        cursors[depth] = first_reaching(candidates, 2 * slot, partition, lower, first)
    control[layout.PARTITION], control[layout.DEPTH] = partition, depth
    control[layout.IDS], control[layout.MATCHES] = written, matches
    return status
