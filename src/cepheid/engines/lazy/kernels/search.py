"""Where in its input buffer an instance finds events for its next component [Kolchinsky17 §4.1].

A buffer is in stream order, so that ordering filters and the window are binary searches.
"""

from __future__ import annotations

from cepheid.engines.lazy.layout import FAR, NONE, SLOT_FIRST, WHOLE
from cepheid.jit.decorators import helper, small


@helper
def last_of(components, slots, instance_ix, members):
    """The last event of these bound components, or NONE."""
    last = NONE
    for other in range(len(components)):
        if (members >> other) & 1:
            last = max(last, slots[instance_ix, other])
    return last


@helper
def first_of(components, slots, instance_ix, members):
    """The first event of these bound components, or FAR."""
    first = FAR
    for other in range(len(components)):
        if (members >> other) & 1:
            is_kleene = components[other].is_kleene != 0
            slot = SLOT_FIRST * len(components) + other if is_kleene else other
            first = min(first, slots[instance_ix, slot])
    return first


@helper
def row_of(terms, groups, buffers, instances, instance_ix, component):
    """The row with the events that an instance can bind: that of its partition or of a group.

    Of several groups it is the one with the fewest events. It is NONE where a bound event has
    null in an attribute that has to be equal. The component may be a negated one.
    """
    row = instances.table[instance_ix]
    bound, partition = row.bound, row.partition
    best = partition
    for t in range(len(terms)):
        if terms[t].component != component:
            continue
        for u in range(len(terms)):
            other = terms[u].component
            if terms[u].link == terms[t].link and u != t and (bound >> other) & 1:
                group = groups[instances.slots[instance_ix, other], terms[u].column]
                if group == NONE:
                    return NONE
                if best == partition or (
                    buffers[group, component].count < buffers[best, component].count
                ):
                    best = group
                break
    return best


@helper
def row_of_list(tables, groups, buffers, component, first):
    """The row of the group with the further events of a list, which begins with this event.

    Of several groups it is the one with the fewest events. It is NONE where the first event has
    null in an attribute that has to be equal.
    """
    terms, part = tables.terms, tables.components[component]
    best = groups[first, terms[part.term_low].column]
    for t in range(part.term_low + 1, part.term_high):
        group = groups[first, terms[t].column]
        if group == NONE:
            return NONE
        if best != NONE and buffers[group, component].count < buffers[best, component].count:
            best = group
    return best


@helper
def first_place(pool, axis, low, high, after, finish, window):
    """The first place in pool[low:high] with an event after one and in the window of another."""
    while low < high:
        middle = (low + high) >> 1
        event = pool[middle]
        if event > after and finish - axis[event] < window:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def end_place(pool, axis, low, high, upper, start, window):
    """The first place in pool[low:high] with an event that comes too late."""
    while low < high:
        middle = (low + high) >> 1
        event = pool[middle]
        if event >= upper or axis[event] - start >= window:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def choose_next(tables, parts, instances, inputs, events, window, instance_ix):
    """The component that an instance of a tree binds next.

    It is the one that has the fewest events now, counting only the part of them that is expected
    to satisfy the conditions with the bound events [Kolchinsky17 §7].
    """
    components, row = tables.components, instances.table[instance_ix]
    pool, axis = inputs.pool, events.axis
    count = len(components)
    best, fewest = NONE, 1e300
    for component in range(count):
        if (row.bound >> component) & 1:
            continue
        looked_up = row_of(
            tables.terms, events.groups, inputs.buffers, instances, instance_ix, component
        )
        if looked_up == NONE:
            return component
        buffer = inputs.buffers[looked_up, component]
        low, high = buffer.low, buffer.low + buffer.count
        part, slots = components[component], instances.slots
        after = last_of(components, slots, instance_ix, part.earlier & row.bound)
        upper = first_of(components, slots, instance_ix, part.later & row.bound)
        if upper != FAR:
            # No later event can be taken: the buffer has all there will be.
            low = first_place(pool, axis, low, high, after, row.finish, window)
            high = end_place(pool, axis, low, high, upper, row.start, window)
        else:
            low = first_place(pool, axis, low, high, NONE, row.finish, window)
        found = high - low
        if part.is_kleene != 0 and part.most > 1:
            found = 1 << min(found, 40)
        fitting = float(found)
        for other in range(count):
            if (row.bound >> other) & 1 and looked_up == row.partition:
                fitting *= parts[component, other] / WHOLE
        if fitting < fewest:
            best, fewest = component, fitting
    return best


@helper
def put(control, inputs, axis, row, number, event):
    """Put an event into an input buffer; False where the pool has no room."""
    buffer, pool = inputs.buffers[row, number], inputs.pool
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


@small
def fill_buffers(terms, state, events, event):
    """Put an event into the buffers of its partition, then of its groups; False without room."""
    ctl, inputs = state.control[0], state.inputs
    count, numbers = inputs.waiting.shape[1], inputs.buffers.shape[1]
    mask, partition = events.masks[event], events.partitions[event]
    while ctl.component < count + numbers:
        number = ctl.component - count
        if (mask >> number) & 1:
            if not put(state.control, inputs, events.axis, partition, number, event):
                return False
            ctl.buffered += 1
        ctl.component += 1
    while ctl.component < count + numbers + len(terms):
        term = terms[ctl.component - count - numbers]
        number, group = term.component, events.groups[event, term.column]
        if (mask >> number) & 1 and group != NONE:
            if not put(state.control, inputs, events.axis, group, number, event):
                return False
        ctl.component += 1
    return True
