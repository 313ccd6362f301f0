"""The loop of a lazy automaton: instances take events from the stream and from input buffers.

An event is first offered to the instances that wait for it; then it begins an instance of its
own, where its component is the first of a plan; at last it is put into the input buffers. An
instance that was just made reads the buffer of its next component, and waits afterwards if an
event to come can be the next one. So every match is found once, at its last event: an instance
with some of its events is made at the latest of them, and takes the next one from the buffer if
that came before, and from the stream if not [Kolchinsky17 §4].

Instances that read buffers are on a stack, depth first. All of the loop's state is in arrays:
where there is no room it returns what it needs, and goes on from there when called again.
"""

from __future__ import annotations

from cepheid.kernels.jit import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.kernels.lazy_layout import (
    BEGIN,
    BIND,
    BUFFER,
    COMPLETE,
    COMPONENT,
    CONTROL,
    DONE,
    FAR,
    FREE,
    INSTANCE,
    NEED_INSTANCES,
    NEED_NODES,
    NEED_OUTPUT,
    NEED_POOL,
    NEED_STACK,
    NEED_SWEEP,
    NEED_WORK,
    NEGATION,
    NODE,
    NONE,
    PLAN,
    RANGE,
    SEARCH,
    SLOT_FIRST,
    SLOT_NODE,
    TAKE,
    TEST,
    UNSEEN,
    WORK,
)
from cepheid.kernels.lazy_search import choose_next, first_place, lower_bound, upper_bound
from cepheid.kernels.lazy_tests import fits, holds_when_complete
from cepheid.kernels.nfa_b_layout import TAG_SHIFT, UPDATE
from cepheid.kernels.registers import update_registers


@helper
def _is_in(components, slots, nodes, instance_ix, rivals, event):
    """Whether one of these components of the instance has the event."""
    count = len(components)
    for other in range(count):
        if (rivals >> other) & 1:
            if components[other].is_kleene == 0:
                if slots[instance_ix, other] == event:
                    return True
            else:
                node = slots[instance_ix, SLOT_NODE * count + other]
                while node != NONE and nodes[node].event >= event:
                    if nodes[node].event == event:
                        return True
                    node = nodes[node].previous
    return False


@helper
def _phase(is_kleene, count):
    """Which tests an event has to pass to be the next of an instance."""
    if is_kleene == 0:
        return BIND
    return BEGIN if count == 0 else TAKE


@helper
def _new_instance(control, instances):
    """An instance from the free list, for which there is room."""
    ctl = control[0]
    instance_ix = ctl.free
    ctl.free = instances[instance_ix].link
    ctl.free_count -= 1
    ctl.instances_created += 1
    ctl.instances_peak = max(ctl.instances_peak, len(instances) - ctl.free_count)
    return instance_ix


@helper
def free_instance(control, instances, instance_ix):
    """Give an instance back."""
    instances[instance_ix].bound = FREE
    instances[instance_ix].link = control[0].free
    control[0].free = instance_ix
    control[0].free_count += 1


@helper
def _copied(control, instances, slots, ints, floats, valid, source_ix):
    """A copy of an instance."""
    copy_ix = _new_instance(control, instances)
    old, new = instances[source_ix], instances[copy_ix]
    new.bound, new.next, new.count, new.length = old.bound, old.next, old.count, old.length
    new.start, new.finish, new.first, new.last = old.start, old.finish, old.first, old.last
    new.partition, new.plan = old.partition, old.plan
    new.node, new.waits = NONE, control[0].waits
    for slot in range(slots.shape[1]):
        slots[copy_ix, slot] = slots[source_ix, slot]
    for register in range(ints.shape[1]):
        ints[copy_ix, register] = ints[source_ix, register]
    for register in range(floats.shape[1]):
        floats[copy_ix, register] = floats[source_ix, register]
    valid[copy_ix] = valid[source_ix]
    return copy_ix


@helper
def _add_event(instances, instance_ix, event, axis):
    """Let the instance have one more event."""
    row = instances[instance_ix]
    row.length += 1
    if event < row.first:
        row.first, row.start = event, axis[event]
    if event > row.last:
        row.last, row.finish = event, axis[event]


@helper
def _search(control, instances, instance_ix, components, slots, buffers, pool, axis):
    """Let an instance read the buffer of its next component from where an event can fit."""
    row = instances[instance_ix]
    component = row.next
    after = lower_bound(components, slots, instance_ix, row.bound, component)
    if row.count > 0:
        after = max(after, slots[instance_ix, component])
    buffer = buffers[row.partition, component]
    row.upper = upper_bound(components, slots, instance_ix, row.bound, component)
    row.cursor = first_place(
        pool, axis, buffer.low, buffer.low + buffer.count, after, row.finish, control[0].window
    )


@helper
def _push(
    control, instances, instance_ix, components, slots, orders, plans, buffers, pool, axis, stack
):
    """Choose what an instance binds next, and let it read the buffer."""
    row = instances[instance_ix]
    row.next = choose_next(
        instances, instance_ix, components, slots, orders, plans, buffers, pool, axis,
        control[0].window,
    )  # fmt: skip
    row.count, row.stage = 0, SEARCH
    # The events of the plan alone: those before it belong to the plan before.
    _search(control, instances, instance_ix, components, slots, buffers, pool, axis)
    since = plans[row.plan].since
    if since > 0:
        buffer = buffers[row.partition, row.next]
        row.cursor = first_place(
            pool, axis, row.cursor, buffer.low + buffer.count, since - 1, row.finish,
            control[0].window,
        )  # fmt: skip
    stack[control[0].top] = instance_ix
    control[0].top += 1


@helper
def _write_match(
    control, instances, instance_ix, event, component, components, slots, nodes, plans, numbers,
    ids, offsets,
):  # fmt: skip
    """Write the match of a complete instance; with ``event``, the one that it lacked is that."""
    ctl = control[0]
    row = instances[instance_ix]
    if min(row.first, event) >= plans[row.plan].until:
        return
    count = len(components)
    start = ctl.ids
    end = start
    for c in range(count):
        if components[c].is_kleene == 0:
            bound = event if c == component else slots[instance_ix, c]
            ids[end] = (numbers[bound] << TAG_SHIFT) | c
            end += 1
        else:
            first = end
            node = slots[instance_ix, SLOT_NODE * count + c]
            while node != NONE:
                ids[end] = (numbers[nodes[node].event] << TAG_SHIFT) | c
                end += 1
                node = nodes[node].previous
            low, high = first, end - 1
            while low < high:
                ids[low], ids[high] = ids[high], ids[low]
                low += 1
                high -= 1
    if ctl.in_order == 0:
        for at in range(start + 1, end):
            tag = ids[at]
            place = at - 1
            while place >= start and ids[place] > tag:
                ids[place + 1] = ids[place]
                place -= 1
            ids[place + 1] = tag
    ctl.ids = end
    ctl.matches += 1
    offsets[ctl.matches] = end
    ctl.matches_found += 1
    ctl.ids_found += end - start


@helper
def _extend(
    control, instances, instance_ix, event, place, components, tests, ranges, negations, updates,
    context, slots, ints, floats, valid, nodes, buffers, pool, orders, plans, axis, numbers, stack,
    work, ids, offsets, evaluations, everything,
):  # fmt: skip
    """Let a copy of an instance have an event that fits, for its next component.

    ``place`` is where the event stands in the buffer, or NONE where it comes from the stream.
    """
    row = instances[instance_ix]
    ctl = control[0]
    component, bound, bit = row.next, row.bound, 1 << row.next
    part = components[component]
    if part.is_kleene == 0 and part.has_done == 0 and bound | bit == everything:
        _write_match(
            control, instances, instance_ix, event, component, components, slots, nodes, plans,
            numbers, ids, offsets,
        )  # fmt: skip
        return
    copy_ix = _copied(control, instances, slots, ints, floats, valid, instance_ix)
    new = instances[copy_ix]
    _add_event(instances, copy_ix, event, axis)
    slots[copy_ix, component] = event
    if part.is_kleene == 0:
        new.bound = bound | bit
        if part.has_done != 0 and not holds_when_complete(
            tests, part.test_low, part.test_high, bound, ranges, negations, components,
            copy_ix, instances, slots, ints, floats, valid, updates, context, nodes, buffers, pool,
            ctl.predicate, ctl.context, work, evaluations,
        ):  # fmt: skip
            free_instance(control, instances, copy_ix)
        elif new.bound == everything:
            _write_match(
                control, instances, copy_ix, FAR, NONE, components, slots, nodes, plans, numbers,
                ids, offsets,
            )  # fmt: skip
            free_instance(control, instances, copy_ix)
        else:
            _push(
                control, instances, copy_ix, components, slots, orders, plans, buffers, pool, axis,
                stack,
            )  # fmt: skip
        return
    count = len(components)
    node = ctl.nodes
    ctl.nodes += 1
    ctl.nodes_created += 1
    nodes[node].event = event
    if row.count == 0:
        nodes[node].previous = NONE
        slots[copy_ix, SLOT_FIRST * count + component] = event
        update_registers(
            updates, part.begin_low, part.begin_high, context, event, copy_ix, ints, floats, valid
        )
    else:
        nodes[node].previous = slots[instance_ix, SLOT_NODE * count + component]
        update_registers(
            updates, part.take_low, part.take_high, context, event, copy_ix, ints, floats, valid
        )
    slots[copy_ix, SLOT_NODE * count + component] = node
    new.node = node
    new.count += 1
    new.stage = COMPLETE
    if place != NONE:
        new.cursor, new.upper = place + 1, row.upper
    else:
        _search(control, instances, copy_ix, components, slots, buffers, pool, axis)
    stack[ctl.top] = copy_ix
    ctl.top += 1


@helper
def _leave(control, instances, instance_ix, components, waiting):
    """What becomes of an instance that has read its buffer: it waits, or is given back."""
    row = instances[instance_ix]
    ctl = control[0]
    ctl.top -= 1
    part = components[row.next]
    if part.later & row.bound == 0 and row.count < part.most:
        row.link = waiting[row.partition, row.next]
        waiting[row.partition, row.next] = instance_ix
        ctl.waits += 1
        return
    # A node that no instance which waits can have is the last one made.
    if row.node != NONE and row.node == ctl.nodes - 1 and row.waits == ctl.waits:
        ctl.nodes -= 1
    free_instance(control, instances, instance_ix)


@helper
def _lacks_room(control, instances, instance_ix, nodes, stack, work, ids, offsets):
    """What there is too little of for one more step of an instance, or DONE."""
    ctl = control[0]
    length = instances[instance_ix].length + 1
    if ctl.free_count < 2:
        return NEED_INSTANCES
    if ctl.nodes >= len(nodes):
        return NEED_NODES
    if ctl.ids + length > len(ids) or ctl.matches + 1 >= len(offsets):
        return NEED_OUTPUT
    if ctl.top + 2 > len(stack):
        return NEED_STACK
    if WORK + length > len(work):
        return NEED_WORK
    return DONE


@helper
def _work_off(
    control, instances, components, tests, ranges, negations, updates, context, slots, ints, floats,
    valid, nodes, waiting, buffers, pool, orders, plans, axis, numbers, stack, work, ids, offsets,
    evaluations, everything,
):  # fmt: skip
    """Let the instances on the stack read their buffers."""
    ctl = control[0]
    while ctl.top > 0:
        instance_ix = stack[ctl.top - 1]
        lacking = _lacks_room(control, instances, instance_ix, nodes, stack, work, ids, offsets)
        if lacking != DONE:
            return lacking
        row = instances[instance_ix]
        component = row.next
        part = components[component]
        if row.stage == COMPLETE:
            row.stage = SEARCH
            if row.count >= part.least and (
                part.has_done == 0
                or holds_when_complete(
                    tests, part.test_low, part.test_high, row.bound, ranges, negations,
                    components, instance_ix, instances, slots, ints, floats, valid, updates,
                    context, nodes, buffers, pool, ctl.predicate, ctl.context, work, evaluations,
                )
            ):  # fmt: skip
                if row.bound | (1 << component) == everything:
                    _write_match(
                        control, instances, instance_ix, FAR, NONE, components, slots, nodes, plans,
                        numbers, ids, offsets,
                    )  # fmt: skip
                else:
                    copy_ix = _copied(control, instances, slots, ints, floats, valid, instance_ix)
                    instances[copy_ix].bound |= 1 << component
                    _push(
                        control, instances, copy_ix, components, slots, orders, plans, buffers,
                        pool, axis, stack,
                    )  # fmt: skip
            continue
        place, end = row.cursor, row.cursor
        if row.count < part.most:
            end = buffers[row.partition, component].low + buffers[row.partition, component].count
        # Most events do not fit, so that this loop is short and calls little.
        bound, start, upper, window = row.bound, row.start, row.upper, ctl.window
        low, high, rivals = part.test_low, part.test_high, part.rivals & row.bound
        phase = _phase(part.is_kleene, row.count)
        predicate, address = ctl.predicate, ctl.context
        event = NONE
        while place < end:
            event = pool[place]
            if event >= upper or axis[event] - start >= window:
                place = end
                break
            if (
                rivals == 0 or not _is_in(components, slots, nodes, instance_ix, rivals, event)
            ) and fits(
                tests, low, high, phase, bound, event, instance_ix, predicate, address, evaluations
            ):
                break
            place += 1
        if place >= end:
            _leave(control, instances, instance_ix, components, waiting)
            continue
        row.cursor = place + 1
        _extend(
            control, instances, instance_ix, event, place, components, tests, ranges, negations,
            updates, context, slots, ints, floats, valid, nodes, buffers, pool, orders, plans, axis,
            numbers, stack, work, ids, offsets, evaluations, everything,
        )  # fmt: skip
    return DONE


@helper
def _begin(
    control, instances, event, partition, component, plan, components, tests, ranges, negations,
    updates, context, slots, ints, floats, valid, nodes, buffers, pool, orders, plans, axis,
    numbers, stack, work, ids, offsets, evaluations, everything,
):  # fmt: skip
    """An instance of a plan whose first component is that of the event."""
    instance_ix = _new_instance(control, instances)
    row = instances[instance_ix]
    row.bound, row.next, row.count, row.length = 0, component, 0, 0
    row.start = row.finish = axis[event]
    row.first = row.last = event
    row.partition, row.plan, row.node, row.waits = partition, plan, NONE, control[0].waits
    for slot in range(slots.shape[1]):
        slots[instance_ix, slot] = 0
    for register in range(ints.shape[1]):
        ints[instance_ix, register] = 0
    valid[instance_ix] = 0
    part = components[component]
    if not fits(
        tests, part.test_low, part.test_high, _phase(part.is_kleene, 0), 0, event, instance_ix,
        control[0].predicate, control[0].context, evaluations,
    ):  # fmt: skip
        free_instance(control, instances, instance_ix)
        return
    _extend(
        control, instances, instance_ix, event, NONE, components, tests, ranges, negations, updates,
        context, slots, ints, floats, valid, nodes, buffers, pool, orders, plans, axis, numbers,
        stack, work, ids, offsets, evaluations, everything,
    )  # fmt: skip
    free_instance(control, instances, instance_ix)


@helper
def _put(control, buffers, pool, partition, number, event, axis):
    """Put an event into an input buffer; False where the pool has no room."""
    buffer = buffers[partition, number]
    window, now = control[0].window, axis[event]
    if buffer.low + buffer.count == buffer.first + buffer.room:
        while buffer.count > 0 and now - axis[pool[buffer.low]] >= window:
            buffer.low += 1
            buffer.count -= 1
        if 2 * buffer.count < buffer.room:
            target = buffer.first
        else:
            room = max(2 * buffer.room, 4)
            target = control[0].pool
            if target + room > len(pool):
                return False
            control[0].pool += room
            buffer.first, buffer.room = target, room
        for at in range(buffer.count):
            pool[target + at] = pool[buffer.low + at]
        buffer.low = target
    pool[buffer.low + buffer.count] = event
    buffer.count += 1
    return True


@kernel(
    I64(
        array_of(CONTROL), array_of(COMPONENT), array_of(TEST), array_of(RANGE), array_of(NEGATION),
        array_of(UPDATE), I64S, array_of(INSTANCE), I64S_2D, I64S_2D, F64S_2D, I64S, array_of(NODE),
        I64S_2D, array_of(BUFFER, 2), I64S, I64S_2D, array_of(PLAN), I64S, I64S, I64S, I64S, I64S,
        I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def read_events(
    control, components, tests, ranges, negations, updates, context, instances, slots, ints, floats,
    valid, nodes, waiting, buffers, pool, orders, plans, axis, numbers, partitions, masks, nows,
    stack, work, ids, offsets, evaluations,
):  # fmt: skip
    """Read the events of the store from ``at`` to ``stop``; what is needed, or DONE.

    ``masks`` has for each event the components that it fits, as bits, and above them the
    negations that it can violate. ``waiting`` has for each partition and component the list of
    the instances that wait, ``nows`` where each partition has got to.
    """
    ctl = control[0]
    count = len(components)
    everything = (1 << count) - 1
    while True:
        lacking = _work_off(
            control, instances, components, tests, ranges, negations, updates, context, slots, ints,
            floats, valid, nodes, waiting, buffers, pool, orders, plans, axis, numbers, stack, work,
            ids, offsets, evaluations, everything,
        )  # fmt: skip
        if lacking != DONE:
            return lacking
        if ctl.at >= ctl.stop:
            return DONE
        event = ctl.at
        mask, partition, now = masks[event], partitions[event], axis[event]
        component = ctl.component
        if component == 0 and ctl.current == UNSEEN:
            live = len(instances) - ctl.free_count
            if 4 * ctl.free_count < len(instances) and live >= 2 * ctl.swept + 64:
                return NEED_SWEEP
            ctl.now = max(ctl.now, now)
            nows[partition] = now
        if component < count:
            if (mask >> component) & 1 == 0:
                ctl.component += 1
                continue
            if ctl.current == UNSEEN:
                ctl.current, ctl.before = waiting[partition, component], NONE
            is_kleene = components[component].is_kleene
            low, high = components[component].test_low, components[component].test_high
            predicate, address = ctl.predicate, ctl.context
            while ctl.current != NONE and ctl.top == 0:
                instance_ix = ctl.current
                row = instances[instance_ix]
                if now - row.start >= ctl.window:
                    ctl.current = row.link
                    if ctl.before == NONE:
                        waiting[partition, component] = row.link
                    else:
                        instances[ctl.before].link = row.link
                    free_instance(control, instances, instance_ix)
                    ctl.instances_expired += 1
                    continue
                # An event that is newer than all of the instance is none of them already.
                if row.last == event or not fits(
                    tests, low, high, _phase(is_kleene, row.count), row.bound, event, instance_ix,
                    predicate, address, evaluations,
                ):  # fmt: skip
                    ctl.before, ctl.current = instance_ix, row.link
                    continue
                lacking = _lacks_room(
                    control, instances, instance_ix, nodes, stack, work, ids, offsets
                )
                if lacking != DONE:
                    return lacking
                ctl.before, ctl.current = instance_ix, row.link
                _extend(
                    control, instances, instance_ix, event, NONE, components, tests, ranges,
                    negations, updates, context, slots, ints, floats, valid, nodes, buffers, pool,
                    orders, plans, axis, numbers, stack, work, ids, offsets, evaluations,
                    everything,
                )  # fmt: skip
            if ctl.top > 0:
                continue
            if ctl.free_count < 4:
                return NEED_INSTANCES
            if ctl.nodes + 2 >= len(nodes):
                return NEED_NODES
            if ctl.ids + 2 > len(ids) or ctl.matches + 2 >= len(offsets):
                return NEED_OUTPUT
            if len(work) < WORK + 2:
                return NEED_WORK
            for plan in range(len(plans)):
                if plans[plan].is_alive != 0 and orders[plan, 0] == component:
                    _begin(
                        control, instances, event, partition, component, plan, components, tests,
                        ranges, negations, updates, context, slots, ints, floats, valid, nodes,
                        buffers, pool, orders, plans, axis, numbers, stack, work, ids, offsets,
                        evaluations, everything,
                    )  # fmt: skip
            ctl.component += 1
            ctl.current = UNSEEN
            continue
        while ctl.component < count + buffers.shape[1]:
            number = ctl.component - count
            if (mask >> number) & 1:
                if not _put(control, buffers, pool, partition, number, event, axis):
                    return NEED_POOL
                ctl.buffered += 1
            ctl.component += 1
        ctl.at += 1
        ctl.component = 0
