"""Event-based evaluation in any order of components, such as rare ones first [Zhang10 §5.2].

Two events of a match are at least ``apart[i, j]`` instants apart, from component i to component j.
This follows from the order of the components, total or partial, and from the window. So the times
that a bound event can have, from ``vlb`` to ``vub``, follow from the other bound events. A
condition across events is tested as soon as all its components are bound.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    copy_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    first_from,
    first_reaching,
    mass_between,
)
from cepheid.engines.imprecise.layout import Batch, OrderLevels, Signatures
from cepheid.jit.decorators import F64S, I64, I64S, I64S_2D, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

LEVEL_ROWS = 4
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
def satisfies(events, slot, joint, conditions, run):
    """Test all that can be tested since this slot is bound, given the registers of a run.

    A row of ``joint`` is the set of components that a predicate needs, as bits, the component
    whose event it reads, and its number.
    """
    bound = 0
    for i in range(len(events)):
        if events[i] != UNBOUND:
            bound |= 1 << i
    for test in range(len(joint)):
        needed = joint[test, 0]
        if (needed >> slot) & 1 and needed & bound == needed:
            if not holds(conditions, joint[test, 2], events[joint[test, 1]], run):
                return False
    return True


@helper
def upper_confidence(events, vlb, vub, intervals):
    """No match with these events has a higher confidence: each must lie between its bounds."""
    share = 1.0
    for i in range(len(events)):
        if events[i] != UNBOUND:
            share *= mass_between(intervals, events[i], vlb[i], vub[i])
    return share


@helper
def _can_be_completed(events, vlb, vub, apart, last_from, candidates, partition, lower):
    """Whether each component without an event has a candidate between its bounds.

    The event of the last component must end at ``last_from`` or later.
    """
    for slot in range(len(events)):
        if events[slot] == UNBOUND:
            low, high = bounds_of(events, vlb, vub, slot, apart)
            if slot + 1 == len(events):
                low = max(low, last_from)
            place = first_reaching(candidates, 2 * slot, partition, lower, low)
            stop = candidates.borders[2 * slot, partition + 1]
            if place == stop or lower[candidates.places[place]] > high:
                return False
    return True


@helper
def _decides_before(events, first, slot, event, apart, upper):
    """Whether this event says more than that of component ``first`` of the end of a window.

    The window ends with the latest time that the first event of the match can have. Of events that
    say the same, that of the first component decides.
    """
    own = upper[event] - apart[0, slot]
    other = upper[events[first]] - apart[0, first]
    return own < other or (own == other and slot < first)


@helper
def _latest_before(event, row, partition, candidates, intervals):
    """The latest beginning of a candidate that is certain to be before this event, or -FAR."""
    lower, upper = intervals.lower, intervals.upper
    places, first = candidates.places, candidates.borders[row, partition]
    place = first_from(
        places, first, candidates.borders[row, partition + 1], lower, lower[event]
    )  # fmt: skip
    while place > first:
        place -= 1
        if upper[places[place]] < lower[event]:
            return lower[places[place]]
    return -FAR


@helper
def write_signature(events, out, written, matches):
    """Write the signature of these events, one for each component."""
    for slot in range(len(events)):
        out.ids[written + slot] = (events[slot] << TAG_SHIFT) | slot
    out.offsets[matches + 1] = written + len(events)


@kernel(
    I64(
        I64S, type_of(Batch), type_of(Conditions), I64S_2D, type_of(OrderLevels), F64S,
        type_of(Signatures),
    )
)  # fmt: skip
def search_in_order(control, batch, conditions, joint, bound_at, least_confidence, out):
    """Write the signatures, binding the components in the given order; resumes where it stopped.

    The first event bound ends at ENDS_FROM or later and before ENDS_BEFORE, and begins before
    BEGINS_BEFORE; the event of the last component ends at LAST_FROM or later. With
    FRESH_FIRST the first one is fresh, and no event of a component before it in the pattern is:
    then searches that begin with each component find every signature with a fresh event once. With
    DECIDES, it decides when the window of the match ends: then they find every signature once, too.
    With IS_NEXT, no condition across events says what could be next.
    """
    is_next = control[layout.IS_NEXT] != 0
    window, only_fresh = control[layout.WINDOW], control[layout.ONLY_FRESH] != 0
    fresh_first, decides = control[layout.FRESH_FIRST] != 0, control[layout.DECIDES] != 0
    last_from = control[layout.LAST_FROM]
    partition, depth = control[layout.PARTITION], control[layout.DEPTH]
    written, matches = control[layout.IDS], control[layout.MATCHES]
    intervals, candidates, fresh = batch.intervals, batch.candidates, batch.fresh
    lower, upper = intervals.lower, intervals.upper
    places, borders = candidates.places, candidates.borders
    order, apart, events, vlb, vub, levels = bound_at
    count = len(order)
    cursors, freshness, earliest, limits = levels[0], levels[1], levels[2], levels[3]
    out.offsets[0] = 0
    status, left = DONE, batch.pace[0]
    while partition < borders.shape[1] - 1:
        if left <= 0:
            status = PAUSE
            break
        left -= 1
        if depth < 0:
            depth = 0
            earliest[0], limits[0] = control[layout.ENDS_FROM], control[layout.BEGINS_BEFORE] - 1
            cursors[0] = first_reaching(candidates, 2 * order[0], partition, lower, earliest[0])
            freshness[0] = 0
            clear_registers(conditions, 0)
            for slot in range(count):
                events[0, slot] = UNBOUND
            if fresh_first:
                # All fresh events begin at the least time or later.
                cursors[0] = first_from(
                    places, cursors[0], borders[2 * order[0], partition + 1], lower,
                    control[layout.LEAST_TIME],
                )  # fmt: skip
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
        if depth == 0 and upper[event] >= control[layout.ENDS_BEFORE]:
            continue
        if depth > 0 and decides and _decides_before(
            events[depth], order[0], slot, event, apart, upper
        ):  # fmt: skip
            continue
        if fresh_first and (
            fresh[event] == 0 if depth == 0 else slot < order[0] and fresh[event] != 0
        ):
            continue
        is_used = False
        for i in range(count):
            is_used = is_used or events[depth, i] == event
        if is_used:
            continue
        is_fresh = freshness[depth] | fresh[event]
        if depth + 1 == count and len(joint) == 0 and least_confidence[0] <= 0.0:
            # The bounds of the level say all about an event that is the last to be bound.
            control[layout.PATHS] += 1
            if is_fresh != 0 or not only_fresh:
                events[depth, slot] = event
                write_signature(events[depth], out, written, matches)
                events[depth, slot] = UNBOUND
                written += count
                matches += 1
            continue
        for i in range(count):
            events[depth + 1, i] = events[depth, i]
            vlb[depth + 1, i], vub[depth + 1, i] = vlb[depth, i], vub[depth, i]
        if not fit(
            events[depth + 1], vlb[depth + 1], vub[depth + 1], slot, event, apart, intervals
        ):
            continue
        if least_confidence[0] > 0.0:
            share = upper_confidence(events[depth + 1], vlb[depth + 1], vub[depth + 1], intervals)
            if share < least_confidence[0]:
                continue
        if len(joint):
            copy_registers(conditions, depth, depth + 1)
            select_event(conditions, slot, False, event, depth + 1)
            if not satisfies(events[depth + 1], slot, joint, conditions, depth + 1):
                continue
        if depth + 1 == count:
            control[layout.PATHS] += 1
            if is_fresh != 0 or not only_fresh:
                write_signature(events[depth + 1], out, written, matches)
                written += count
                matches += 1
            continue
        if depth == 0 and not _can_be_completed(
            events[1], vlb[1], vub[1], apart, last_from, candidates, partition, lower,
        ):  # fmt: skip
            continue
        control[layout.PATHS] += 1
        depth += 1
        freshness[depth] = is_fresh
        slot = order[depth]
        first, limits[depth] = bounds_of(events[depth], vlb[depth], vub[depth], slot, apart)
        if is_next and slot + 1 < count and events[depth, slot + 1] != UNBOUND:
            # No event that could be next is certain to be in between.
            after = events[depth, slot + 1]
            between = _latest_before(after, 2 * slot + 2, partition, candidates, intervals)
            first = max(first, between)
        if slot + 1 == count:
            first = max(first, last_from)
        earliest[depth] = first
        cursors[depth] = first_reaching(candidates, 2 * slot, partition, lower, first)
    control[layout.PARTITION], control[layout.DEPTH] = partition, depth
    control[layout.IDS], control[layout.MATCHES] = written, matches
    return status
