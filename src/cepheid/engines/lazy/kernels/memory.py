"""Dropping instances, nodes and events of a lazy automaton that have left the window."""

from __future__ import annotations

from cepheid.engines.lazy.kernels.instances import expire_waiting
from cepheid.engines.lazy.layout import (
    COMPONENT,
    FREE,
    NONE,
    SLOT_FIRST,
    SLOT_NODE,
    Inputs,
    State,
)
from cepheid.jit.decorators import I64, I64S, I64S_2D, array_of, helper, kernel, type_of
from cepheid.jit.pointers import call_predicate


@helper
def _now(control, nows, row):
    """The current place on the axis of the window, for a partition or group."""
    return nows[row] if control[0].by_partition != 0 else control[0].now


@helper
def _has_events(row, component):
    """Whether an instance has events of a component."""
    return (row.bound >> component) & 1 != 0 or (row.next == component and row.count > 0)


@kernel(I64(type_of(State)))
def free_expired(state):
    """Free the waiting instances that no later event can complete; how many are left.

    Must not be called in the middle of an event.
    """
    control, instances, waiting = state.control, state.instances, state.inputs.waiting
    ctl, table = control[0], instances.table
    for listed in range(waiting.shape[0]):
        now = _now(control, state.inputs.nows, listed)
        for component in range(waiting.shape[1]):
            before, current = NONE, waiting[listed, component]
            while current != NONE:
                link = table[current].link
                if now - table[current].start >= ctl.window:
                    expire_waiting(control, instances, waiting, listed, component, before, current)
                else:
                    before = current
                current = link
    ctl.swept = len(table) - ctl.free_count
    return ctl.swept


@kernel(I64(array_of(COMPONENT), type_of(State), I64S))
def keep_reachable(components, state, places):
    """Drop the nodes that are in the list of no instance; how many are left.

    ``places`` has room for a number for each node.
    """
    table, slots = state.instances.table, state.instances.slots
    ctl, nodes = state.control[0], state.nodes
    count = len(components)
    for node in range(ctl.nodes):
        places[node] = NONE
    for instance_ix in range(len(table)):
        row = table[instance_ix]
        if row.bound == FREE:
            continue
        for component in range(count):
            if components[component].is_kleene != 0 and _has_events(row, component):
                node = slots[instance_ix, SLOT_NODE * count + component]
                while node != NONE and places[node] == NONE:
                    places[node] = 0
                    node = nodes[node].previous
    kept = 0
    for node in range(ctl.nodes):
        if places[node] != NONE:
            places[node] = kept
            nodes[kept].event = nodes[node].event
            previous = nodes[node].previous
            nodes[kept].previous = NONE if previous == NONE else places[previous]
            kept += 1
    for instance_ix in range(len(table)):
        row = table[instance_ix]
        if row.bound == FREE:
            continue
        if row.node != NONE:
            row.node = places[row.node]
        for component in range(count):
            if components[component].is_kleene != 0 and _has_events(row, component):
                slot = SLOT_NODE * count + component
                slots[instance_ix, slot] = places[slots[instance_ix, slot]]
    ctl.nodes = kept
    return kept


@kernel(I64(type_of(State), I64S, I64S))
def pack_buffers(state, axis, packed):
    """Copy the buffered events that are in the window to ``packed``, with room to grow.

    Returns how much room that takes. With an empty ``packed`` it only computes the room.
    """
    control, buffers, pool = state.control, state.inputs.buffers, state.inputs.pool
    top = 0
    window = control[0].window
    for row in range(buffers.shape[0]):
        now = _now(control, state.inputs.nows, row)
        for number in range(buffers.shape[1]):
            buffer = buffers[row, number]
            while buffer.count > 0 and now - axis[pool[buffer.low]] >= window:
                buffer.low += 1
                buffer.count -= 1
            room = buffer.count + (buffer.count >> 1) + 2 if buffer.count > 0 else 0
            if len(packed) > 0:
                for at in range(buffer.count):
                    packed[top + at] = pool[buffer.low + at]
                buffer.first = buffer.low = top
                buffer.room = room
            top += room
    if len(packed) > 0:
        control[0].pool = top
    return top


@kernel(I64(type_of(Inputs), I64S))
def mark_buffered(inputs, is_kept):
    """Set ``is_kept`` for the events that are in a buffer."""
    for row in range(inputs.buffers.shape[0]):
        for number in range(inputs.buffers.shape[1]):
            buffer = inputs.buffers[row, number]
            for at in range(buffer.low, buffer.low + buffer.count):
                is_kept[inputs.pool[at]] = 1
    return 0


@kernel(I64(array_of(COMPONENT), type_of(State), I64S))
def renumber(components, state, places):
    """Replace the row of every event in the store by ``places[row]``.

    Must not be called in the middle of an event; only nodes of live instances are left.
    """
    table, slots, nodes = state.instances.table, state.instances.slots, state.nodes
    buffers, pool = state.inputs.buffers, state.inputs.pool
    count = len(components)
    for row_ix in range(buffers.shape[0]):
        for number in range(buffers.shape[1]):
            buffer = buffers[row_ix, number]
            for at in range(buffer.low, buffer.low + buffer.count):
                pool[at] = places[pool[at]]
    for node in range(state.control[0].nodes):
        nodes[node].event = places[nodes[node].event]
    for instance_ix in range(len(table)):
        row = table[instance_ix]
        if row.bound == FREE:
            continue
        row.first, row.last = places[row.first], places[row.last]
        for component in range(count):
            if _has_events(row, component):
                slots[instance_ix, component] = places[slots[instance_ix, component]]
                if components[component].is_kleene != 0:
                    slot = SLOT_FIRST * count + component
                    slots[instance_ix, slot] = places[slots[instance_ix, slot]]
    return 0


@kernel(I64(I64, I64, I64, I64S_2D, I64, I64S, I64S))
def count_satisfied(predicate, context, number, slots, other, events, others):
    """How many of these pairs of events satisfy a predicate; it uses the slots of instance 0."""
    satisfied = 0
    for at in range(len(events)):
        slots[0, other] = others[at]
        satisfied += call_predicate(predicate, number, context, events[at], 0) != 0
    return satisfied
