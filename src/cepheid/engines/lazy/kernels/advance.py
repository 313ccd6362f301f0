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

from cepheid.codegen.layout import UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.lazy.kernels.instances import (
    add_event,
    copied,
    free_instance,
    is_in,
    new_instance,
    phase_of,
    write_match,
)
from cepheid.engines.lazy.kernels.search import put, row_of_list
from cepheid.engines.lazy.kernels.steps import finals_of, go_on, is_last, search_buffer
from cepheid.engines.lazy.kernels.tests import fits, holds_when_complete
from cepheid.engines.lazy.layout import (
    BUFFER,
    COMPLETE,
    COMPONENT,
    CONTROL,
    DONE,
    FAR,
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
    STEP,
    TERM,
    TEST,
    UNSEEN,
    WORK,
)
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel


@helper
def _extend(
    control, instances, instance_ix, event, place, components, tests, ranges, negations, updates,
    context, slots, ints, floats, valid, nodes, buffers, pool, terms, groups, steps, parts, plans,
    axis, numbers, stack, work, ids, offsets, kinds, evaluations,
):  # fmt: skip
    """Let a copy of an instance have an event that fits, for its next component.

    ``place`` is where the event stands in the buffer, or NONE where it comes from the stream.
    """
    row = instances[instance_ix]
    ctl = control[0]
    component, bound, bit = row.next, row.bound, 1 << row.next
    part = components[component]
    finals = finals_of(instances, instance_ix, bound | bit, steps, plans, len(components))
    has_all = is_last(instances, instance_ix, bound | bit, steps, plans, len(components))
    if part.is_kleene == 0 and part.has_done == 0 and has_all:
        write_match(
            control, instances, instance_ix, event, component, bound | bit, finals, components,
            slots, nodes, plans, numbers, ids, offsets, kinds,
        )  # fmt: skip
        return
    copy_ix = copied(control, instances, slots, ints, floats, valid, instance_ix)
    new = instances[copy_ix]
    add_event(instances, copy_ix, event, axis)
    slots[copy_ix, component] = event
    if part.is_kleene == 0:
        new.bound = bound | bit
        if part.has_done != 0 and not holds_when_complete(
            tests, part.test_low, part.test_high, bound, ranges, negations, components, copy_ix,
            instances, slots, ints, floats, valid, updates, context, nodes, buffers, pool, terms,
            groups, ctl.predicate, ctl.context, work, evaluations,
        ):  # fmt: skip
            free_instance(control, instances, copy_ix)
            return
        if finals != 0:
            write_match(
                control, instances, copy_ix, FAR, NONE, new.bound, finals, components, slots, nodes,
                plans, numbers, ids, offsets, kinds,
            )  # fmt: skip
        if has_all:
            free_instance(control, instances, copy_ix)
        else:
            go_on(
                control, instances, copy_ix, components, slots, ints, floats, valid, steps, parts,
                plans, buffers, pool, terms, groups, axis, stack,
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
    if row.count == 0 and row.row == row.partition and part.term_low < part.term_high:
        # What the list goes on with agrees with its first event.
        new.row = row_of_list(
            component, event, part.term_low, part.term_high, terms, groups, buffers
        )
    else:
        new.row = row.row
    if place != NONE and new.row == row.row:
        new.cursor, new.upper = place + 1, row.upper
    else:
        search_buffer(control, instances, copy_ix, components, slots, buffers, pool, axis)
    stack[ctl.top] = copy_ix
    ctl.top += 1


@helper
def _leave(control, instances, instance_ix, components, waiting):
    """What becomes of an instance that has read its buffer: it waits, or is given back."""
    row = instances[instance_ix]
    ctl = control[0]
    ctl.top -= 1
    part = components[row.next]
    if part.later & row.bound == 0 and row.count < part.most and row.row != NONE:
        row.link = waiting[row.row, row.next]
        waiting[row.row, row.next] = instance_ix
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
    if ctl.free_count < 2 + ctl.fanout:
        return NEED_INSTANCES
    if ctl.nodes >= len(nodes):
        return NEED_NODES
    if ctl.ids + length > len(ids) or ctl.matches + 1 >= len(offsets):
        return NEED_OUTPUT
    if ctl.top + 2 + ctl.fanout > len(stack):
        return NEED_STACK
    if WORK + length > len(work):
        return NEED_WORK
    return DONE


@helper
def _work_off(
    control, instances, components, tests, ranges, negations, updates, context, slots, ints, floats,
    valid, nodes, waiting, buffers, pool, terms, groups, steps, parts, plans, axis, numbers, stack,
    work, ids, offsets, kinds, evaluations,
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
                    context, nodes, buffers, pool, terms, groups, ctl.predicate, ctl.context, work,
                    evaluations,
                )
            ):  # fmt: skip
                members = row.bound | (1 << component)
                finals = finals_of(instances, instance_ix, members, steps, plans, len(components))
                if finals != 0:
                    write_match(
                        control, instances, instance_ix, FAR, NONE, members, finals, components,
                        slots, nodes, plans, numbers, ids, offsets, kinds,
                    )  # fmt: skip
                if not is_last(instances, instance_ix, members, steps, plans, len(components)):
                    copy_ix = copied(control, instances, slots, ints, floats, valid, instance_ix)
                    instances[copy_ix].bound = members
                    go_on(
                        control, instances, copy_ix, components, slots, ints, floats, valid, steps,
                        parts, plans, buffers, pool, terms, groups, axis, stack,
                    )  # fmt: skip
            continue
        place, end = row.cursor, row.cursor
        if row.count < part.most and row.row != NONE:
            end = buffers[row.row, component].low + buffers[row.row, component].count
        # Most events do not fit, so that this loop is short and calls little.
        bound, start, upper, window = row.bound, row.start, row.upper, ctl.window
        low, high, rivals = part.test_low, part.test_high, part.rivals & row.bound
        phase = phase_of(part.is_kleene, row.count)
        predicate, address = ctl.predicate, ctl.context
        event = NONE
        while place < end:
            event = pool[place]
            if event >= upper or axis[event] - start >= window:
                place = end
                break
            if (
                rivals == 0 or not is_in(components, slots, nodes, instance_ix, rivals, event)
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
            updates, context, slots, ints, floats, valid, nodes, buffers, pool, terms, groups,
            steps, parts, plans, axis, numbers, stack, work, ids, offsets, kinds, evaluations,
        )  # fmt: skip
    return DONE


@helper
def _begin(
    control, instances, event, partition, component, plan, step, components, tests, ranges,
    negations, updates, context, slots, ints, floats, valid, nodes, buffers, pool, terms, groups,
    steps, parts, plans, axis, numbers, stack, work, ids, offsets, kinds, evaluations,
):  # fmt: skip
    """An instance of a plan whose first component is that of the event."""
    instance_ix = new_instance(control, instances)
    row = instances[instance_ix]
    row.bound, row.next, row.count, row.length = 0, component, 0, 0
    row.start = row.finish = axis[event]
    row.first = row.last = event
    row.partition, row.row, row.plan, row.step = partition, partition, plan, step
    row.node, row.waits = NONE, control[0].waits
    for slot in range(slots.shape[1]):
        slots[instance_ix, slot] = 0
    for register in range(ints.shape[1]):
        ints[instance_ix, register] = 0
    valid[instance_ix] = 0
    part = components[component]
    if not fits(
        tests, part.test_low, part.test_high, phase_of(part.is_kleene, 0), 0, event, instance_ix,
        control[0].predicate, control[0].context, evaluations,
    ):  # fmt: skip
        free_instance(control, instances, instance_ix)
        return
    _extend(
        control, instances, instance_ix, event, NONE, components, tests, ranges, negations, updates,
        context, slots, ints, floats, valid, nodes, buffers, pool, terms, groups, steps, parts,
        plans, axis, numbers, stack, work, ids, offsets, kinds, evaluations,
    )  # fmt: skip
    free_instance(control, instances, instance_ix)


@kernel(
    I64(
        array_of(CONTROL), array_of(COMPONENT), array_of(TEST), array_of(RANGE), array_of(NEGATION),
        array_of(UPDATE), I64S, array_of(INSTANCE), I64S_2D, I64S_2D, F64S_2D, I64S, array_of(NODE),
        I64S_2D, array_of(BUFFER, 2), I64S, array_of(TERM), I64S_2D, array_of(STEP, 2), I64S_2D,
        array_of(PLAN), I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def read_events(
    control, components, tests, ranges, negations, updates, context, instances, slots, ints, floats,
    valid, nodes, waiting, buffers, pool, terms, groups, steps, parts, plans, axis, numbers,
    partitions, masks, nows, stack, work, ids, offsets, kinds, evaluations,
):  # fmt: skip
    """Read the events of the store from ``at`` to ``stop``; what is needed, or DONE.

    ``masks`` has for each event the components that it fits, as bits, and above them the
    negations that it can violate, ``groups`` the rows of what it is looked up by. ``waiting`` has
    for each row and component the list of the instances that wait, ``nows`` where each partition
    has got to.
    """
    ctl = control[0]
    count = len(components)
    while True:
        lacking = _work_off(
            control, instances, components, tests, ranges, negations, updates, context, slots, ints,
            floats, valid, nodes, waiting, buffers, pool, terms, groups, steps, parts, plans, axis,
            numbers, stack, work, ids, offsets, kinds, evaluations,
        )  # fmt: skip
        if lacking != DONE:
            return lacking
        if ctl.at >= ctl.stop:
            return DONE
        event = ctl.at
        mask, partition, now = masks[event], partitions[event], axis[event]
        component = ctl.component
        if component == 0 and ctl.current == UNSEEN and ctl.list == 0:
            live = len(instances) - ctl.free_count
            if 4 * ctl.free_count < len(instances) and live >= 2 * ctl.swept + 64:
                return NEED_SWEEP
            ctl.now = max(ctl.now, now)
            nows[partition] = now
        if component < count:
            if (mask >> component) & 1 == 0:
                ctl.component += 1
                continue
            term = components[component].term_low + ctl.list - 1
            listed = partition if ctl.list == 0 else groups[event, terms[term].column]
            if ctl.current == UNSEEN:
                ctl.current = waiting[listed, component] if listed != NONE else NONE
                ctl.before = NONE
            is_kleene = components[component].is_kleene
            low, high = components[component].test_low, components[component].test_high
            predicate, address = ctl.predicate, ctl.context
            while ctl.current != NONE and ctl.top == 0:
                instance_ix = ctl.current
                row = instances[instance_ix]
                if now - row.start >= ctl.window:
                    ctl.current = row.link
                    if ctl.before == NONE:
                        waiting[listed, component] = row.link
                    else:
                        instances[ctl.before].link = row.link
                    free_instance(control, instances, instance_ix)
                    ctl.instances_expired += 1
                    continue
                # An event that is newer than all of the instance is none of them already.
                if row.last == event or not fits(
                    tests, low, high, phase_of(is_kleene, row.count), row.bound, event, instance_ix,
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
                    terms, groups, steps, parts, plans, axis, numbers, stack, work, ids, offsets,
                    kinds, evaluations,
                )  # fmt: skip
            if ctl.top > 0:
                continue
            if term + 1 < components[component].term_high:
                ctl.list, ctl.current = ctl.list + 1, UNSEEN
                continue
            if ctl.free_count < 4 + 2 * ctl.fanout:
                return NEED_INSTANCES
            if ctl.nodes + 2 >= len(nodes):
                return NEED_NODES
            if ctl.ids + 2 > len(ids) or ctl.matches + 2 >= len(offsets):
                return NEED_OUTPUT
            if len(stack) < 4 + 2 * ctl.fanout:
                return NEED_STACK
            if len(work) < WORK + 2:
                return NEED_WORK
            for plan in range(len(plans)):
                step = steps[plan, 0].child if plans[plan].is_alive != 0 else NONE
                while step != NONE:
                    if steps[plan, step].component == component:
                        _begin(
                            control, instances, event, partition, component, plan, step, components,
                            tests, ranges, negations, updates, context, slots, ints, floats, valid,
                            nodes, buffers, pool, terms, groups, steps, parts, plans, axis, numbers,
                            stack, work, ids, offsets, kinds, evaluations,
                        )  # fmt: skip
                    step = steps[plan, step].sibling
            ctl.component += 1
            ctl.list, ctl.current = 0, UNSEEN
            continue
        while ctl.component < count + buffers.shape[1]:
            number = ctl.component - count
            if (mask >> number) & 1:
                if not put(control, buffers, pool, partition, number, event, axis):
                    return NEED_POOL
                ctl.buffered += 1
            ctl.component += 1
        while ctl.component < count + buffers.shape[1] + len(terms):
            term = ctl.component - count - buffers.shape[1]
            number, group = terms[term].component, groups[event, terms[term].column]
            if (
                (mask >> number) & 1
                and group != NONE
                and not put(control, buffers, pool, group, number, event, axis)
            ):
                return NEED_POOL
            ctl.component += 1
        ctl.at += 1
        ctl.component = 0
