"""Event-based evaluation in other orders: by selectivity, and from any state [Zhang10 §5.2, §5.3].

Both bind the components of a pattern in an order that is not that of the query. The times that
a bound event can have, from ``vlb`` to ``vub``, follow from its bound neighbours, each unbound
component between two taking at least an instant. The conditions across events are tested for
the components at the beginning of the pattern as soon as all of them are bound.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.imprecise.kernels.interval_masses import FAR, first_from, mass_until
from cepheid.engines.imprecise.kernels.search import (
    CONTEXT,
    DEPTH,
    IDS,
    LEAST_TIME,
    MATCHES,
    NEED_OUTPUT,
    NEED_RUNS,
    ONLY_FRESH,
    PARTITION,
    PATHS,
    PREDICATE,
    SEARCHED,
    WINDOW,
    copy_registers,
)
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate

_UNBOUND = -1


@helper
def _fit(events, vlb, vub, slot, event, lower, upper, window):
    """Bind an event to a slot and tighten the bounds of all; whether each still has a time.

    ``events`` has the event of each slot, or _UNBOUND; all but ``slot`` have their bounds.
    """
    count = len(events)
    vlb[slot], vub[slot] = lower[event], upper[event]
    events[slot] = event
    first, last = -1, -1
    for i in range(count):
        if events[i] != _UNBOUND:
            if first < 0:
                first = i
            else:
                vlb[i] = max(vlb[i], vlb[last] + i - last)
            last = i
    if last - first >= window:
        return False
    later = last
    vub[last] = min(vub[last], vub[first] + window - 1)
    for i in range(last - 1, first - 1, -1):
        if events[i] != _UNBOUND:
            vub[i] = min(vub[i], vub[later] - (later - i))
            later = i
    vub[last] = min(vub[last], vub[first] + window - 1)
    vlb[first] = max(vlb[first], vlb[last] - window + 1)
    for i in range(first, last + 1):
        if events[i] != _UNBOUND and vlb[i] > vub[i]:
            return False
    return True


@helper
def _satisfies(events, done, bound, steps, updates, context, ints, floats, valid, predicate,
               context_address):  # fmt: skip
    """Test the components ``done`` to ``bound`` of a pattern, in its order, and fill registers."""
    for slot in range(done, bound):
        step = steps[slot]
        if (
            step.begin != NONE
            and call_predicate(predicate, step.begin, context_address, events[slot], slot) == 0
        ):
            return False
        copy_registers(slot, ints, floats, valid)
        update_registers(
            updates, step.begin_low, step.begin_high, context, events[slot], slot + 1, ints,
            floats, valid,
        )  # fmt: skip
    return True


@helper
def _write(events, ids, written, offsets, matches):
    for slot in range(len(events)):
        ids[written + slot] = (events[slot] << TAG_SHIFT) | slot
    offsets[matches + 1] = written + len(events)


@kernel(
    I64(
        I64S, I64S, I64S, I64S, F64S, I64S, I64S_2D, I64S, array_of(STEP), array_of(UPDATE), I64S,
        I64S_2D, F64S_2D, I64S, I64S, I64S, I64S_2D, I64S_2D, I64S_2D, I64S_2D, F64S, I64S, I64S,
    )
)  # fmt: skip
def search_in_order(
    control, lower, upper, mass_at, masses, candidates, index, reach, steps, updates, context,
    ints, floats, valid, fresh, order, events, vlb, vub, levels, least_confidence, ids, offsets,
):  # fmt: skip
    """Write the signatures, binding the components in the given order; resumes where it stopped.

    ``events``, ``vlb`` and ``vub`` have a row for each level: what is bound before it is filled.
    The rows of ``levels`` are the cursor, how many components are bound at the beginning of the
    pattern, whether a fresh event is bound, and between which times the next event has to lie:
    the components without an event take at least an instant each.
    """
    window = control[WINDOW]
    partition, depth = control[PARTITION], control[DEPTH]
    written, matches = control[IDS], control[MATCHES]
    count = len(order)
    cursors, bound, freshness = levels[0], levels[1], levels[2]
    earliest, limits = levels[3], levels[4]
    has_tests = False
    for slot in range(count):
        has_tests = has_tests or steps[slot].begin != NONE
    offsets[0] = 0
    status = SEARCHED
    while partition < index.shape[1] - 1:
        if depth < 0:
            depth = 0
            cursors[0], bound[0], freshness[0] = index[2 * order[0], partition], 0, 0
            earliest[0], limits[0] = -FAR, FAR
            valid[0] = 0
            for register in range(ints.shape[1]):
                ints[0, register] = 0
            for slot in range(count):
                events[0, slot] = _UNBOUND
        if written + count > len(ids) or matches + 2 > len(offsets):
            status = NEED_OUTPUT
            break
        slot = order[depth]
        row, limit = 2 * slot, limits[depth]
        if cursors[depth] == index[row, partition + 1] or lower[candidates[cursors[depth]]] > limit:
            depth -= 1
            if depth < 0:
                partition += 1
            continue
        event = candidates[cursors[depth]]
        cursors[depth] += 1
        if upper[event] < earliest[depth] or upper[event] + window - 1 < control[LEAST_TIME]:
            continue
        is_used = False
        for i in range(count):
            is_used = is_used or events[depth, i] == event
        if is_used:
            continue
        if depth + 1 == count and least_confidence[0] <= 0.0:
            # The bounds of the level say all about an event that is the last to be bound.
            events[depth, slot] = event
            if not has_tests or _satisfies(
                events[depth], bound[depth], count, steps, updates, context, ints, floats, valid,
                control[PREDICATE], control[CONTEXT],
            ):  # fmt: skip
                control[PATHS] += 1
                if freshness[depth] | fresh[event] != 0 or control[ONLY_FRESH] == 0:
                    _write(events[depth], ids, written, offsets, matches)
                    written += count
                    matches += 1
            events[depth, slot] = _UNBOUND
            continue
        for i in range(count):
            events[depth + 1, i] = events[depth, i]
            vlb[depth + 1, i], vub[depth + 1, i] = vlb[depth, i], vub[depth, i]
        if not _fit(
            events[depth + 1], vlb[depth + 1], vub[depth + 1], slot, event, lower, upper, window
        ):
            continue
        if least_confidence[0] > 0.0:
            share = 1.0
            for i in range(count):
                bound_event = events[depth + 1, i]
                if bound_event != _UNBOUND:
                    share *= mass_until(
                        lower, upper, mass_at, masses, bound_event, vub[depth + 1, i]
                    ) - mass_until(
                        lower, upper, mass_at, masses, bound_event, vlb[depth + 1, i] - 1
                    )
            if share < least_confidence[0]:
                continue
        done, high = bound[depth], bound[depth]
        while high < count and events[depth + 1, high] != _UNBOUND:
            high += 1
        if has_tests and not _satisfies(
            events[depth + 1], done, high, steps, updates, context, ints, floats, valid,
            control[PREDICATE], control[CONTEXT],
        ):  # fmt: skip
            continue
        control[PATHS] += 1
        is_fresh = freshness[depth] | fresh[event]
        if depth + 1 == count:
            if is_fresh != 0 or control[ONLY_FRESH] == 0:
                _write(events[depth + 1], ids, written, offsets, matches)
                written += count
                matches += 1
            continue
        depth += 1
        bound[depth], freshness[depth] = high, is_fresh
        slot = order[depth]
        first, limit = -FAR, FAR
        for i in range(count):
            if events[depth, i] != _UNBOUND:
                if i < slot:
                    first = max(first, vlb[depth, i] + slot - i)
                    limit = min(limit, vub[depth, i] - i + window - count + slot)
                else:
                    first = max(first, vlb[depth, i] - i - window + count + slot)
                    limit = min(limit, vub[depth, i] - (i - slot))
        if first > limit:
            limit = -FAR
        earliest[depth] = first
        limits[depth] = limit
        row = 2 * slot
        cursors[depth] = first_from(
            candidates, index[row, partition], index[row, partition + 1], lower,
            first - reach[row],
        )  # fmt: skip
    control[PARTITION], control[DEPTH] = partition, depth
    control[IDS], control[MATCHES] = written, matches
    return status


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, array_of(STEP), array_of(UPDATE), I64S, I64S_2D, F64S_2D,
        I64S, I64S, I64S_2D, I64S_2D, I64S_2D, I64S, I64S, I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def run_from_any_state(
    control, lower, upper, mask, partition_of, steps, updates, context, ints, floats, valid, fresh,
    events, vlb, vub, freshness, following, first_of, free, ids, offsets, at,
):  # fmt: skip
    """Write the signatures that runs find which begin at any component; resumes at ``at[0]``.

    Events come in the order of their lower bounds. Row r of ``events``, ``vlb`` and ``vub`` is
    run r; ``following`` links the runs of a partition, whose first is in ``first_of``, and the
    unused ones from ``free[0]`` on. A run is dropped when no event to come can complete it: its
    window is over, or what is missing before one of its events can come no more [Zhang10 §B.2].
    The last row is scratch.
    """
    window, count = control[WINDOW], len(steps)
    written, matches = control[IDS], control[MATCHES]
    scratch = len(events) - 1
    offsets[0] = 0
    for event in range(at[0], len(mask)):
        partition = partition_of[event]
        if mask[event] == 0 or partition < 0:
            continue
        now = lower[event]
        # First what has become useless, so that what follows only adds.
        previous, run, live = -1, first_of[partition], 0
        while run >= 0:
            after = following[run]
            is_over = False
            for i in range(count):
                if events[run, i] != _UNBOUND:
                    if vub[run, i] + window - 1 < now:
                        is_over = True
                    if i > 0 and events[run, i - 1] == _UNBOUND and vub[run, i] <= now:
                        is_over = True
            if is_over:
                if previous < 0:
                    first_of[partition] = after
                else:
                    following[previous] = after
                following[run] = free[0]
                free[0] = run
                free[1] += 1
            else:
                previous = run
                live += 1
            run = after
        at[0] = event
        if free[1] < live * count + count:
            control[IDS], control[MATCHES] = written, matches
            return NEED_RUNS
        if written + (live + 1) * count * count > len(ids) or matches + (
            live + 1
        ) * count + 2 > len(offsets):
            control[IDS], control[MATCHES] = written, matches
            return NEED_OUTPUT
        head, run = first_of[partition], first_of[partition]
        is_first = True
        while run >= 0 or is_first:
            if run < 0:
                is_first = False  # at last the run that begins with this event
            for slot in range(count):
                if (mask[event] >> (2 * slot)) & 1 == 0:
                    continue
                missing = 0
                for i in range(count):
                    events[scratch, i] = events[run, i] if run >= 0 else _UNBOUND
                    if run >= 0:
                        vlb[scratch, i], vub[scratch, i] = vlb[run, i], vub[run, i]
                    missing += events[scratch, i] == _UNBOUND
                if events[scratch, slot] != _UNBOUND:
                    continue
                if not _fit(
                    events[scratch], vlb[scratch], vub[scratch], slot, event, lower, upper, window
                ):
                    continue
                control[PATHS] += 1
                is_fresh = fresh[event] | (freshness[run] if run >= 0 else 0)
                if missing == 1:
                    valid[0] = 0
                    for register in range(ints.shape[1]):
                        ints[0, register] = 0
                    if (is_fresh != 0 or control[ONLY_FRESH] == 0) and _satisfies(
                        events[scratch], 0, count, steps, updates, context, ints, floats, valid,
                        control[PREDICATE], control[CONTEXT],
                    ):  # fmt: skip
                        _write(events[scratch], ids, written, offsets, matches)
                        written += count
                        matches += 1
                    continue
                new = free[0]
                free[0] = following[new]
                free[1] -= 1
                for i in range(count):
                    events[new, i] = events[scratch, i]
                    vlb[new, i], vub[new, i] = vlb[scratch, i], vub[scratch, i]
                freshness[new] = is_fresh
                following[new] = head
                head = new
            if run >= 0:
                run = following[run]
        first_of[partition] = head
    at[0] = len(mask)
    control[IDS], control[MATCHES] = written, matches
    return SEARCHED
