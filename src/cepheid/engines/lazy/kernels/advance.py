"""The loop of a lazy automaton: instances take events from the stream and from input buffers.

An event is first offered to the instances that wait for it. Then, where its component is the
first one of a plan, it begins a new instance. Last, it is put into the input buffers. A new
instance reads the buffer of its next component; afterwards it waits, if a later event can be the
next one. So every match is found once, at its last event: an instance with some of its events is
made at the latest of them, and takes the next one from the buffer if that one came before, or
from the stream if not [Kolchinsky17 §4].

Instances that read buffers are on a stack, and the loop works depth first. All of its state is
in arrays: where there is no room it returns what it needs, and continues from there when it is
called again.
"""

from __future__ import annotations

from cepheid.engines.base.kernels.conditions import clear_registers
from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.engines.lazy.kernels.absence import RESTS, are_present, may_rest
from cepheid.engines.lazy.kernels.instances import (
    add_event,
    copied,
    expire_waiting,
    free_instance,
    is_in,
    new_instance,
    phase_of,
    write_match,
)
from cepheid.engines.lazy.kernels.search import fill_buffers, row_of_list
from cepheid.engines.lazy.kernels.steps import (
    finals_of,
    follow_plan,
    is_last,
    lacks_room,
    search_buffer,
)
from cepheid.engines.lazy.kernels.tests import Testing, fits, holds_when_complete
from cepheid.engines.lazy.layout import (
    COMPLETE,
    DONE,
    FAR,
    NEED_POOL,
    NEED_SWEEP,
    NONE,
    SEARCH,
    SLOT_FIRST,
    SLOT_NODE,
    UNSEEN,
    Events,
    Output,
    Plans,
    State,
    Tables,
)
from cepheid.jit.decorators import I64, helper, kernel, small, type_of
from cepheid.jit.drive import PAUSE


@small
def _extend(tables, plans, state, events, out, instance_ix, event, place):
    """Let a copy of an instance bind an event that fits its next component.

    ``place`` is the event's place in the pool, or NONE where it comes from the stream. Where the
    event completes a match and nothing is left to test, no copy is made.
    """
    row, count = state.instances.table[instance_ix], len(tables.components)
    part, members = tables.components[row.next], row.bound | (1 << row.next)
    if part.is_kleene != 0:
        _extend_list(tables, state, events, instance_ix, event, place)
    elif part.has_done == 0 and is_last(plans, row, members, count):
        finals = finals_of(plans, row, members, count)
        write_match(tables, plans, state, events, out, instance_ix, event, finals)
    else:
        _bind(tables, plans, state, events, out, instance_ix, event)


@helper
def _bind(tables, plans, state, events, out, instance_ix, event):
    """Let a copy of an instance bind an event to its next component, which is a single one."""
    control, instances = state.control, state.instances
    row, count = instances.table[instance_ix], len(tables.components)
    component, members = row.next, row.bound | (1 << row.next)
    copy_ix = copied(control, instances, instance_ix)
    new = instances.table[copy_ix]
    add_event(new, event, events.axis)
    instances.slots[copy_ix, component] = event
    new.bound = members
    if tables.components[component].has_done != 0 and not holds_when_complete(
        tables, state, events, copy_ix, component, row.bound
    ):
        free_instance(control, instances, copy_ix)
        return
    finals = finals_of(plans, row, members, count)
    if finals != 0:
        write_match(tables, plans, state, events, out, copy_ix, FAR, finals)
    if is_last(plans, row, members, count):
        free_instance(control, instances, copy_ix)
    else:
        follow_plan(tables, plans, state, events, copy_ix)


@helper
def _extend_list(tables, state, events, instance_ix, event, place):
    """Let a copy of an instance add an event to the list of its next component."""
    ctl, instances, nodes = state.control[0], state.instances, state.nodes
    slots, buffers = instances.slots, state.inputs.buffers
    row = instances.table[instance_ix]
    component, count = row.next, len(tables.components)
    part = tables.components[component]
    copy_ix = copied(state.control, instances, instance_ix)
    new = instances.table[copy_ix]
    add_event(new, event, events.axis)
    slots[copy_ix, component] = event
    node = ctl.nodes
    ctl.nodes += 1
    ctl.nodes_created += 1
    nodes[node].event = event
    if row.count == 0:
        nodes[node].previous = NONE
        slots[copy_ix, SLOT_FIRST * count + component] = event
        low, high = part.begin_low, part.begin_high
    else:
        nodes[node].previous = slots[instance_ix, SLOT_NODE * count + component]
        low, high = part.take_low, part.take_high
    registers = instances.registers
    apply_updates(tables.updates, low, high, state.context, event, copy_ix, registers)
    slots[copy_ix, SLOT_NODE * count + component] = node
    new.node = node
    new.count += 1
    new.stage = COMPLETE
    if row.count == 0 and row.row == row.partition and part.term_low < part.term_high:
        # The further events of the list agree with its first one.
        new.row = row_of_list(tables, events.groups, buffers, component, event)
    else:
        new.row = row.row
    if place != NONE and new.row == row.row:
        new.cursor, new.upper = place + 1, row.upper
    else:
        search_buffer(
            tables.components, state.control, instances, state.inputs, events.axis, copy_ix
        )
    state.stack[ctl.top] = copy_ix
    ctl.top += 1


@helper
def _leave(components, state, instance_ix):
    """Take an instance that has read its buffer off the stack: it waits, or it is freed."""
    row = state.instances.table[instance_ix]
    ctl, waiting = state.control[0], state.inputs.waiting
    ctl.top -= 1
    part = components[row.next]
    if part.later & row.bound == 0 and row.count < part.most and row.row != NONE:
        row.link = waiting[row.row, row.next]
        waiting[row.row, row.next] = instance_ix
        ctl.waits += 1
        return
    # If no waiting instance can have its node, that node is the last one made.
    if row.node != NONE and row.node == ctl.nodes - 1 and row.waits == ctl.waits:
        ctl.nodes -= 1
    free_instance(state.control, state.instances, instance_ix)


@helper
def _complete(tables, plans, state, events, out, instance_ix):
    """End the list of an instance here, where it may be complete."""
    row, count = state.instances.table[instance_ix], len(tables.components)
    part = tables.components[row.next]
    if row.count < part.least:
        return
    if part.has_done != 0 and not holds_when_complete(
        tables, state, events, instance_ix, row.next, row.bound
    ):
        return
    members = row.bound | (1 << row.next)
    finals = finals_of(plans, row, members, count)
    if finals != 0:
        write_match(tables, plans, state, events, out, instance_ix, FAR, finals)
    if not is_last(plans, row, members, count):
        copy_ix = copied(state.control, state.instances, instance_ix)
        state.instances.table[copy_ix].bound = members
        follow_plan(tables, plans, state, events, copy_ix)


@helper
def _work_off(tables, plans, state, events, out):
    """Let the instances on the stack read their buffers; what is needed, or DONE."""
    ctl, instances, inputs = state.control[0], state.instances, state.inputs
    components, nodes, slots = tables.components, state.nodes, instances.slots
    pool, axis, pace = inputs.pool, events.axis, state.pace
    testing = Testing(tables.tests, state.evaluations, ctl.predicate, ctl.context)
    while ctl.top > 0:
        if pace[0] <= 0:
            return PAUSE
        pace[0] -= 1
        instance_ix = state.stack[ctl.top - 1]
        row = instances.table[instance_ix]
        lacking = lacks_room(state, out, 1, row.length + 1)
        if lacking != DONE:
            return lacking
        component = row.next
        part = components[component]
        if row.stage == COMPLETE:
            row.stage = SEARCH
            _complete(tables, plans, state, events, out, instance_ix)
            continue
        place, end = row.cursor, row.cursor
        if row.count < part.most and row.row != NONE:
            buffer = inputs.buffers[row.row, component]
            end = buffer.low + buffer.count
        # Most events do not fit, so that this loop is short and calls little.
        bound, start, upper, window = row.bound, row.start, row.upper, ctl.window
        low, high, rivals = part.test_low, part.test_high, part.rivals & row.bound
        phase = phase_of(part.is_kleene, row.count)
        event, stop = NONE, min(end, place + pace[0] + 1)
        while place < stop:
            event = pool[place]
            if event >= upper or axis[event] - start >= window:
                place = end
                break
            if (
                rivals == 0 or not is_in(components, slots, nodes, instance_ix, rivals, event)
            ) and fits(testing, low, high, phase, bound, event, instance_ix):
                break
            place += 1
        pace[0] -= place - row.cursor
        if stop <= place < end:
            row.cursor = place
            continue
        if place >= end:
            _leave(components, state, instance_ix)
            continue
        row.cursor = place + 1
        _extend(tables, plans, state, events, out, instance_ix, event, place)
    return DONE


@helper
def _begin(tables, plans, state, events, out, plan, step, event):
    """Begin an instance with an event, which fits the component of a first step of a plan."""
    ctl, instances = state.control[0], state.instances
    instance_ix = new_instance(state.control, instances)
    row = instances.table[instance_ix]
    component, partition = plans.steps[plan, step].component, events.partitions[event]
    row.bound, row.next, row.count, row.length = 0, component, 0, 0
    row.start = row.finish = events.axis[event]
    row.first = row.last = event
    row.partition, row.row, row.plan, row.step = partition, partition, plan, step
    row.node, row.waits = NONE, ctl.waits
    for slot in range(instances.slots.shape[1]):
        instances.slots[instance_ix, slot] = 0
    clear_registers(instances, instance_ix)
    part = tables.components[component]
    testing = Testing(tables.tests, state.evaluations, ctl.predicate, ctl.context)
    phase = phase_of(part.is_kleene, 0)
    if fits(testing, part.test_low, part.test_high, phase, 0, event, instance_ix):
        _extend(tables, plans, state, events, out, instance_ix, event, NONE)
    free_instance(state.control, instances, instance_ix)


@helper
def _begin_or_rest(tables, plans, state, events, out, plan, step, event):
    """Begin an instance, or in a tree let the event rest while a component is absent."""
    inputs, window, row = state.inputs, state.control[0].window, plans.table[plan]
    mask = events.masks[event]
    first = plans.steps[plan, step].component
    if row.is_tree == 0 or are_present(inputs, events, window, row, first, event, mask):
        _begin(tables, plans, state, events, out, plan, step, event)
    elif may_rest(tables.components, inputs, events, window, row, first, event):
        events.masks[event] = mask | (RESTS << plan)


@helper
def _wake(tables, plans, state, events, out, event):
    """Begin the instances of resting events if this one brings what was absent; what is needed."""
    inputs, window = state.inputs, state.control[0].window
    now, partition = events.axis[event], events.partitions[event]
    for plan in range(len(plans.table)):
        row = plans.table[plan]
        if row.is_alive == 0 or row.is_tree == 0:
            continue
        step = plans.steps[plan, 0].child
        first = plans.steps[plan, step].component
        if are_present(inputs, events, window, row, first, event, 0) or not are_present(
            inputs, events, window, row, first, event, events.masks[event]
        ):
            continue
        buffer = inputs.buffers[partition, first]
        place = buffer.low + buffer.count - 1
        while place >= buffer.low and now - events.axis[inputs.pool[place]] < window:
            own = inputs.pool[place]
            if events.masks[own] & (RESTS << plan):
                lacking = lacks_room(state, out, 1, 1)
                if lacking != DONE:
                    return lacking
                events.masks[own] &= ~(RESTS << plan)
                _begin(tables, plans, state, events, out, plan, step, own)
            place -= 1
    return DONE


@kernel(I64(type_of(Tables), type_of(Plans), type_of(State), type_of(Events), type_of(Output)))
def read_events(tables, plans, state, events, out):
    """Read the events of the store from ``at`` to ``stop``; what is needed, or DONE."""
    control, instances, inputs = state.control, state.instances, state.inputs
    ctl, components, waiting = control[0], tables.components, inputs.waiting
    count = len(components)
    while True:
        lacking = _work_off(tables, plans, state, events, out)
        if lacking != DONE:
            return lacking
        if ctl.at >= ctl.stop:
            return DONE
        event = ctl.at
        now = events.axis[event]
        component = ctl.component
        if component == 0 and ctl.current == UNSEEN and ctl.list == 0:
            live = len(instances.table) - ctl.free_count
            if 4 * ctl.free_count < len(instances.table) and live >= 2 * ctl.swept + 64:
                return NEED_SWEEP
            ctl.now = max(ctl.now, now)
            inputs.nows[events.partitions[event]] = now
            lacking = _wake(tables, plans, state, events, out, event)
            if lacking != DONE:
                return lacking
            if ctl.top > 0:
                continue
        if component >= count:
            if not fill_buffers(tables.terms, state, events, event):
                return NEED_POOL
            ctl.at += 1
            ctl.component = 0
            continue
        if (events.masks[event] >> component) & 1 == 0:
            ctl.component += 1
            continue
        part = components[component]
        term = part.term_low + ctl.list - 1
        if ctl.list == 0:
            listed = events.partitions[event]
        else:
            listed = events.groups[event, tables.terms[term].column]
        if ctl.current == UNSEEN:
            ctl.current = waiting[listed, component] if listed != NONE else NONE
            ctl.before = NONE
        is_kleene, low, high = part.is_kleene, part.test_low, part.test_high
        testing = Testing(tables.tests, state.evaluations, ctl.predicate, ctl.context)
        while ctl.current != NONE and ctl.top == 0:
            if state.pace[0] <= 0:
                return PAUSE
            state.pace[0] -= 1
            instance_ix = ctl.current
            row = instances.table[instance_ix]
            if now - row.start >= ctl.window:
                ctl.current = row.link
                expire_waiting(
                    control, instances, waiting, listed, component, ctl.before, instance_ix
                )
                continue
            # An instance has bound the event already only if that is its last one.
            phase = phase_of(is_kleene, row.count)
            if row.last == event or not fits(
                testing, low, high, phase, row.bound, event, instance_ix
            ):
                ctl.before, ctl.current = instance_ix, row.link
                continue
            lacking = lacks_room(state, out, 1, row.length + 1)
            if lacking != DONE:
                return lacking
            ctl.before, ctl.current = instance_ix, row.link
            _extend(tables, plans, state, events, out, instance_ix, event, NONE)
        if ctl.top > 0:
            continue
        if term + 1 < part.term_high:
            ctl.list, ctl.current = ctl.list + 1, UNSEEN
            continue
        lacking = lacks_room(state, out, len(plans.table), 1)
        if lacking != DONE:
            return lacking
        for plan in range(len(plans.table)):
            step = plans.steps[plan, 0].child if plans.table[plan].is_alive != 0 else NONE
            while step != NONE:
                if plans.steps[plan, step].component == component:
                    _begin_or_rest(tables, plans, state, events, out, plan, step, event)
                step = plans.steps[plan, step].sibling
        ctl.component += 1
        ctl.list, ctl.current = 0, UNSEEN
