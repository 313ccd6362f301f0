"""What a lazy automaton forgets: instances, nodes and events that have left the window."""

from __future__ import annotations

from cepheid.engines.lazy.kernels.instances import free_instance
from cepheid.engines.lazy.layout import (
    BUFFER,
    COMPONENT,
    CONTROL,
    FREE,
    INSTANCE,
    NODE,
    NONE,
    SLOT_FIRST,
    SLOT_NODE,
)
from cepheid.jit.decorators import I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate


@helper
def _now(control, nows, partition):
    return nows[partition] if control[0].by_partition != 0 else control[0].now


@helper
def _has_events(row, component):
    """Whether an instance has events of a component."""
    return (row.bound >> component) & 1 != 0 or (row.next == component and row.count > 0)


@kernel(I64(array_of(CONTROL), array_of(INSTANCE), I64S_2D, I64S))
def free_expired(control, instances, waiting, nows):
    """Free the waiting instances that nothing to come can complete; how many are left.

    No event is being read.
    """
    ctl = control[0]
    for partition in range(waiting.shape[0]):
        now = _now(control, nows, partition)
        for component in range(waiting.shape[1]):
            before, current = NONE, waiting[partition, component]
            while current != NONE:
                link = instances[current].link
                if now - instances[current].start >= ctl.window:
                    if before == NONE:
                        waiting[partition, component] = link
                    else:
                        instances[before].link = link
                    free_instance(control, instances, current)
                    ctl.instances_expired += 1
                else:
                    before = current
                current = link
    ctl.swept = len(instances) - ctl.free_count
    return ctl.swept


@kernel(
    I64(
        array_of(CONTROL), array_of(COMPONENT), array_of(INSTANCE), I64S_2D, array_of(NODE), I64S,
    )
)  # fmt: skip
def keep_reachable(control, components, instances, slots, nodes, places):
    """Drop the nodes that are in the list of no instance; how many are left.

    ``places`` has room for a number for each node.
    """
    ctl = control[0]
    count = len(components)
    for node in range(ctl.nodes):
        places[node] = NONE
    for instance_ix in range(len(instances)):
        row = instances[instance_ix]
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
    for instance_ix in range(len(instances)):
        row = instances[instance_ix]
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


@kernel(I64(array_of(CONTROL), array_of(BUFFER, 2), I64S, I64S, I64S, I64S))
def pack_buffers(control, buffers, pool, packed, axis, nows):
    """Write what is in the window into a pool with room to grow; how much room that takes.

    With an empty ``packed`` it is only counted.
    """
    top = 0
    window = control[0].window
    for partition in range(buffers.shape[0]):
        now = _now(control, nows, partition)
        for number in range(buffers.shape[1]):
            buffer = buffers[partition, number]
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


@kernel(I64(array_of(BUFFER, 2), I64S, I64S))
def mark_buffered(buffers, pool, is_kept):
    """Set ``is_kept`` for the events that are in a buffer."""
    for partition in range(buffers.shape[0]):
        for number in range(buffers.shape[1]):
            buffer = buffers[partition, number]
            for at in range(buffer.low, buffer.low + buffer.count):
                is_kept[pool[at]] = 1
    return 0


@kernel(
    I64(
        array_of(CONTROL), array_of(COMPONENT), array_of(INSTANCE), I64S_2D, array_of(NODE),
        array_of(BUFFER, 2), I64S, I64S,
    )
)  # fmt: skip
def renumber(control, components, instances, slots, nodes, buffers, pool, places):
    """Give events their new numbers: ``places[event]``.

    No event is being read, and only nodes of live instances are left.
    """
    count = len(components)
    for partition in range(buffers.shape[0]):
        for number in range(buffers.shape[1]):
            buffer = buffers[partition, number]
            for at in range(buffer.low, buffer.low + buffer.count):
                pool[at] = places[pool[at]]
    for node in range(control[0].nodes):
        nodes[node].event = places[nodes[node].event]
    for instance_ix in range(len(instances)):
        row = instances[instance_ix]
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
    """How many of these pairs of events satisfy a predicate; instance 0 is used for it."""
    satisfied = 0
    for at in range(len(events)):
        slots[0, other] = others[at]
        satisfied += call_predicate(predicate, number, context, events[at], 0) != 0
    return satisfied
