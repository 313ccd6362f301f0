"""Sequence scan and construction with active instance stacks [Wu06 §3.2, §4].

The *scan* pushes an event on the stack of its component, if the stack of the component before
has an instance that it can follow; the instance remembers the most recent of those, its RIP.
An event of the last component starts the *construction*: a search from it back, by RIP and
down the stacks, that binds one component at a time and tests a condition as soon as all that
it speaks of is bound.

All instances are rows of one pool, and a stack is a linked list of them; there is one for each
component and partition, and an empty one costs a number. The kernel is resumable: it returns
what it lacks, and goes on in the middle of a search where it was left.
"""

from __future__ import annotations

from cepheid.codegen.layout import SET_FLOAT, STEP, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.stacks.layout import (
    DONE,
    INSTANCE,
    NEED_OUTPUT,
    NEED_ROOM,
    NONE,
    PLAN,
    STATE,
)
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel_of_widths
from cepheid.jit.pointers import call_predicate, highest_bit
from cepheid.jit.window_edge import window_edge

_LONG_AGO = -(2**62)


@helper
def _bind_registers(
    steps, updates, level, row, kept_ints, kept_floats, kept_valid, ints, floats, valid
):  # fmt: skip
    """Give the registers of the match the values of the instance."""
    for u in range(steps[level].begin_low, steps[level].begin_high):
        register = updates[u].register
        if updates[u].operation == SET_FLOAT:
            floats[0, register] = kept_floats[row, register]
        else:
            ints[0, register] = kept_ints[row, register]
        bit = 1 << register
        valid[0] = (valid[0] & ~bit) | (kept_valid[row] & bit)


@helper
def _agrees(keys, row, here):
    """Whether an instance has the values of the last event in all keys that are tested."""
    same = True
    for k in range(keys.shape[1]):
        same = same and keys[row, k] == here[k]
    return same


@helper
def _meets(instances, row, others, here, tested, after):
    """Whether some instance after ``after`` is in the stacks of all keys.

    The tops of the stacks are ``row`` and those in ``here`` from ``tested`` on.
    Rows are in the order of the stream, and links lead back: of two different ones the later
    is not in both stacks.
    """
    while row >= 0 and instances[row].start > after:
        common = True
        for k in range(others.shape[1]):
            other = here[tested + k]
            while other > row:
                other = others[other, k]
            if other < 0:
                return False
            here[tested + k] = other
            common = common and other == row
        if common:
            return True
        row = instances[row].previous
    return False


@helper
def _link_stacks(plan, instances, cells, links, cell, components, now):
    """The stacks of a partition from its runtime stack, by one search back [Wu06 §3.2].

    ``links`` gets the top of each stack, the instance that the search came to last, and the
    topmost of those whose RIP, the next instance of the component before, is not yet known.
    """
    last = components - 1
    for component in range(components):
        links[0, component] = links[1, component] = links[2, component] = NONE
    in_window = plan[0].window_in_construction != 0
    window = plan[0].window
    while cell >= 0:
        component = instances[cell].stack % components
        if in_window and now - instances[cell].start >= window:
            # What starts with its own time is no younger than all below it; others may be.
            if component == 0 or component == last:
                break
        elif component < last:
            instances[cell].previous = NONE
            instances[cell].rip = NONE
            if links[0, component] < 0:
                links[0, component] = cell
            else:
                instances[links[1, component]].previous = cell
            links[1, component] = cell
            if links[2, component] < 0:
                links[2, component] = cell
            row = links[2, component + 1]
            while row >= 0:
                instances[row].rip = cell
                row = instances[row].previous
            links[2, component + 1] = NONE
        cell = cells[cell]


@helper
def _add_cell(state, instances, cells, stacks, numbers, term_of, pushed, components, i, now):
    """An event that no stack has is still a cell of the runtime stack."""
    partition = 0
    if pushed:
        partition = numbers[term_of[0, 0], i]
        if partition < 0:
            return
    row = state[0].used
    state[0].used = row + 1
    stack = partition * components + components - 1
    instances[row].start = now
    instances[row].stack = stack
    instances[row].previous = NONE
    instances[row].rip = NONE
    cells[row] = stacks[stack]
    stacks[stack] = row


@helper
def _construct(
    plan, state, steps, updates, instances, kept_ints, kept_floats, kept_valid, keys, here,
    cursor, path, ints, floats, valid, found, evaluations, first_event, now,
):  # fmt: skip
    """Search back from the last event; whether the search has ended, or else lacks room.

    ``cursor`` has the instance that is bound, or to be looked at, of each component, and
    ``path`` the events of those that are bound, and the last. The search goes on from component
    ``state.level``.
    """
    window = plan[0].window
    in_window = plan[0].window_in_construction != 0
    dynamic = plan[0].dynamic != 0 and keys.shape[1] > 0
    selects = plan[0].dynamic == 0 and keys.shape[1] > 0
    last = len(steps) - 1
    level = state[0].level
    matches, constructed = state[0].matches, state[0].constructed
    full = False
    while level < last:
        row = cursor[level]
        if row < 0 or (in_window and now - instances[row].start >= window):
            level += 1
            if level < last:
                cursor[level] = instances[cursor[level]].previous
            continue
        if dynamic and not _agrees(keys, row, here):
            cursor[level] = instances[row].previous
            continue
        if steps[level].begin_low < steps[level].begin_high:
            _bind_registers(
                steps, updates, level, row, kept_ints, kept_floats, kept_valid, ints, floats, valid
            )
        predicate = steps[level].begin
        if predicate >= 0:
            evaluations[predicate] += 1
            if call_predicate(plan[0].predicate, predicate, plan[0].context, 0, 0) == 0:
                cursor[level] = instances[row].previous
                continue
        path[level] = instances[row].event - first_event
        if level > 0:
            level -= 1
            cursor[level] = instances[row].rip
            continue
        if matches == found.shape[1]:
            full = True
            break
        constructed += 1
        chosen = in_window or now - instances[row].start < window
        if selects:
            for component in range(last):
                chosen = chosen and _agrees(keys, cursor[component], here)
        if chosen:
            for component in range(last + 1):
                found[component, matches] = path[component]
            matches += 1
        cursor[0] = instances[row].previous
    state[0].matches_found += matches - state[0].matches
    state[0].matches, state[0].constructed = matches, constructed
    state[0].level = level if full else NONE
    return not full


@helper
def _keep(
    plan, steps, updates, context, kept_ints, kept_floats, kept_valid, keys, others, cells, stacks,
    other_stacks, here, row, stack, component, components, event_ix,
):  # fmt: skip
    """Keep beside a new instance what is tested later, and link it where it is looked for."""
    for k in range(keys.shape[1]):
        keys[row, k] = here[k]
    for k in range(others.shape[1]):
        other = here[k] * components + component
        others[row, k] = other_stacks[k, other]
        other_stacks[k, other] = row
    if plan[0].basic != 0:
        runtime_stack = stack - component + components - 1
        cells[row] = stacks[runtime_stack]
        stacks[runtime_stack] = row
    step = steps[component]
    if step.begin_low < step.begin_high:
        kept_valid[row] = 0
        update_registers(
            updates, step.begin_low, step.begin_high, context, event_ix, row, kept_ints,
            kept_floats, kept_valid,
        )  # fmt: skip


@kernel_of_widths(
    lambda _row, rows: I64(
        array_of(PLAN), array_of(STATE), array_of(STEP), array_of(UPDATE), I64S, array_of(INSTANCE),
        I64S_2D, F64S_2D, I64S, I64S_2D, I64S_2D, I64S, I64S, I64S_2D, I64S, I64S_2D, I64S, I64S,
        I64S, I64S_2D, F64S_2D, I64S, I64S_2D, I64S_2D, rows, I64S, I64S, I64S, I64, I64, I64, I64S,
    )
)  # fmt: skip
def advance_stacks(
    plan, state, steps, updates, context, instances, kept_ints, kept_floats, kept_valid, keys,
    others, cells, stacks, other_stacks, reached, links, cursor, path, here, ints, floats, valid,
    numbers, term_of, found, evaluations, mask, axis, base_event, first_event, event_ix, stopped_at,
):  # fmt: skip
    """Read events from ``event_ix`` on; ``stopped_at[0]`` is the first that was not read.

    ``numbers[term_of[c, k]]`` has the number of each event's value of key k as component c.
    ``stacks`` has the top of each stack, ``other_stacks`` those of the keys after the first;
    where a runtime stack is kept, its top stands in the place of the last component, which
    needs no stack. Match m has event ``found[c, m]`` for component c, counted from
    ``first_event``.
    """
    components = len(steps)
    last = components - 1
    window, in_scan = plan[0].window, plan[0].window_in_scan != 0
    pushed, multi, basic = plan[0].pushed, plan[0].multi != 0, plan[0].basic != 0
    by_partition = plan[0].by_partition != 0
    tested = plan[0].keys - pushed
    for i in range(event_ix, len(mask)):
        bits = mask[i]
        if bits == 0 and not basic:
            continue
        stopped_at[0] = i
        used = state[0].used
        if used + components > len(instances):
            return NEED_ROOM
        now, event = axis[i], base_event + i
        # From the last component back, so that an event does not follow itself.
        while bits != 0:
            component = highest_bit(bits) >> 1
            bits &= ~(1 << (2 * component))
            partition = 0
            if pushed:
                partition = numbers[term_of[component, 0], i]
            known = partition >= 0
            for k in range(tested):
                number = numbers[term_of[component, k + pushed], i]
                here[k] = number
                known = known and number >= 0
            if not known:
                continue
            if by_partition:
                reached[partition] = now
            stack = partition * components + component
            top, start = NONE, now
            if component > 0 and state[0].level < 0:
                top = stacks[stack - 1]
                if top < 0:
                    continue
                start = instances[top].start
                if in_scan and now - start >= window:
                    continue
                if multi:
                    for k in range(tested):
                        here[tested + k] = other_stacks[k, here[k] * components + component - 1]
                    after = window_edge(now, window) if in_scan else _LONG_AGO
                    if not _meets(instances, top, others, here, tested, after):
                        continue
                    # In a stack of another key the youngest starts are in no order.
                    start = now
            if component < last:
                row = state[0].used
                state[0].used = row + 1
                state[0].pushed += 1
                instances[row].event = event
                instances[row].start = start
                instances[row].previous = stacks[stack]
                instances[row].rip = top
                instances[row].stack = stack
                stacks[stack] = row
                _keep(
                    plan, steps, updates, context, kept_ints, kept_floats, kept_valid, keys, others,
                    cells, stacks, other_stacks, here, row, stack, component, components, i,
                )  # fmt: skip
                continue
            if last == 0:
                match = state[0].matches
                if match == found.shape[1]:
                    return NEED_OUTPUT
                found[0, match] = event - first_event
                state[0].matches = match + 1
                state[0].matches_found += 1
                state[0].constructed += 1
                continue
            if state[0].level < 0:
                if basic:
                    _link_stacks(plan, instances, cells, links, stacks[stack], components, now)
                    top = links[0, last - 1]
                cursor[last - 1] = top
                path[last] = event - first_event
                state[0].level = last - 1
            step = steps[last]
            if step.begin_low < step.begin_high:
                for u in range(step.begin_low, step.begin_high):
                    valid[0] &= ~(1 << updates[u].register)
                update_registers(
                    updates, step.begin_low, step.begin_high, context, i, 0, ints, floats, valid
                )
            if not _construct(
                plan, state, steps, updates, instances, kept_ints, kept_floats, kept_valid, keys,
                here, cursor, path, ints, floats, valid, found, evaluations, first_event, now,
            ):  # fmt: skip
                return NEED_OUTPUT
        if basic and state[0].used == used:
            _add_cell(state, instances, cells, stacks, numbers, term_of, pushed, components, i, now)
    stopped_at[0] = len(mask)
    return DONE
