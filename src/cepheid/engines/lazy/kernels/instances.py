"""Instances of a lazy automaton: how they are made, copied, freed and written as matches."""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.kernels.conditions import copy_registers
from cepheid.engines.lazy.layout import BEGIN, BIND, FAR, FREE, NONE, SLOT_NODE, TAKE
from cepheid.jit.decorators import helper, small


@helper
def is_in(components, slots, nodes, instance_ix, rivals, event):
    """Whether one of these components of the instance has bound the event."""
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
def phase_of(is_kleene, count):
    """The tests that an event must pass to be the next one of an instance."""
    if is_kleene == 0:
        return BIND
    return BEGIN if count == 0 else TAKE


@helper
def new_instance(control, instances):
    """Take an instance from the free list, which is not empty."""
    ctl = control[0]
    instance_ix = ctl.free
    ctl.free = instances.table[instance_ix].link
    ctl.free_count -= 1
    ctl.instances_created += 1
    ctl.instances_peak = max(ctl.instances_peak, len(instances.table) - ctl.free_count)
    return instance_ix


@helper
def free_instance(control, instances, instance_ix):
    """Put an instance on the free list."""
    row = instances.table[instance_ix]
    row.bound = FREE
    row.link = control[0].free
    control[0].free = instance_ix
    control[0].free_count += 1


@helper
def expire_waiting(control, instances, waiting, listed, component, before, instance_ix):
    """Free a waiting instance; ``before`` is the one before it in its list, or NONE."""
    link = instances.table[instance_ix].link
    if before == NONE:
        waiting[listed, component] = link
    else:
        instances.table[before].link = link
    free_instance(control, instances, instance_ix)
    control[0].instances_expired += 1


@helper
def copied(control, instances, source_ix):
    """A copy of an instance."""
    copy_ix = new_instance(control, instances)
    old, new = instances.table[source_ix], instances.table[copy_ix]
    new.bound, new.next, new.count, new.length = old.bound, old.next, old.count, old.length
    new.start, new.finish, new.first, new.last = old.start, old.finish, old.first, old.last
    new.partition, new.row, new.plan, new.step = old.partition, old.row, old.plan, old.step
    new.node, new.waits = NONE, control[0].waits
    slots = instances.slots
    for slot in range(slots.shape[1]):
        slots[copy_ix, slot] = slots[source_ix, slot]
    copy_registers(instances, source_ix, copy_ix)
    return copy_ix


@helper
def add_event(row, event, axis):
    """Count one more event of an instance."""
    row.length += 1
    if event < row.first:
        row.first, row.start = event, axis[event]
    if event > row.last:
        row.last, row.finish = event, axis[event]


@small
def write_match(tables, plans, state, events, out, instance_ix, event, finals):
    """Write the match of an instance that completes these alternatives.

    ``event`` is its last event where the instance has not bound it yet to its next component,
    and FAR otherwise.
    """
    ctl = state.control[0]
    row = state.instances.table[instance_ix]
    if min(row.first, event) >= plans.table[row.plan].until:
        return
    components, slots, nodes = tables.components, state.instances.slots, state.nodes
    ids, numbers = out.ids, events.numbers
    members = row.bound | (1 << row.next)
    lacking = row.next if event != FAR else NONE
    count = len(components)
    start = ctl.ids
    end = start
    for c in range(count):
        if (members >> c) & 1 == 0:
            continue
        if components[c].is_kleene == 0:
            bound = event if c == lacking else slots[instance_ix, c]
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
    out.kinds[ctl.matches] = finals
    ctl.matches += 1
    out.offsets[ctl.matches] = end
    ctl.matches_found += 1
    ctl.ids_found += end - start
