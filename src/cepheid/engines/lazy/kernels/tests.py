"""The tests that an instance must pass when it binds an event, or when a component is complete."""

from __future__ import annotations

from typing import Any, NamedTuple

from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.engines.lazy.kernels.search import first_of, first_place, last_of, row_of
from cepheid.engines.lazy.layout import (
    ABSENT,
    COMPLETED,
    MAX_RANGES,
    NONE,
    SLOT_CURRENT,
    SLOT_NODE,
    SLOT_PREVIOUS,
    WORK,
)
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import call_predicate


class Testing(NamedTuple):
    """What a test of an event reads; made before a loop, so that the loop reads no control."""

    tests: Any
    evaluations: Any
    predicate: int  # address of the predicate function
    context: int  # address of the context


@helper
def fits(testing, low, high, phase, bound, event, instance_ix):
    """Whether an event passes all tests of a phase that need only components that are bound."""
    for t in range(low, high):
        test = testing.tests[t]
        if test.phase == phase and test.needs & ~bound == 0:
            testing.evaluations[t] += 1
            holds = call_predicate(
                testing.predicate, test.predicate, testing.context, event, instance_ix
            )
            if holds == 0:
                return False
    return True


@helper
def holds_when_complete(tables, state, events, instance_ix, component, bound):
    """Whether the tests hold that have to wait until a component is complete; it is now."""
    part = tables.components[component]
    for t in range(part.test_low, part.test_high):
        test = tables.tests[t]
        if test.needs & ~bound != 0:
            continue
        if test.phase == COMPLETED:
            if not _holds_for_all(tables, state, instance_ix, t):
                return False
        elif test.phase == ABSENT:
            if not _is_absent(tables, state, events, instance_ix, t):
                return False
    return True


@helper
def _is_absent(tables, state, events, instance_ix, t):
    """Whether no event violates a negation between events that are bound."""
    ctl, components, slots = state.control[0], tables.components, state.instances.slots
    buffers, pool = state.inputs.buffers, state.inputs.pool
    number = tables.tests[t].low
    negation = tables.negations[number]
    if negation.is_late != 0:
        return True
    negation.tested += 1
    count = len(components)
    lower = last_of(components, slots, instance_ix, negation.after)
    upper = first_of(components, slots, instance_ix, negation.before)
    row = row_of(tables.terms, events.groups, buffers, state.instances, instance_ix, count + number)
    if row == NONE:
        return True
    buffer = buffers[row, count + number]
    end = buffer.low + buffer.count
    finish = state.instances.table[instance_ix].finish
    low = first_place(pool, events.axis, buffer.low, end, lower, finish, ctl.window)
    while low < end and pool[low] < upper:
        state.evaluations[t] += 1
        state.pace[0] -= 1
        event = pool[low]
        if (
            negation.predicate == NONE
            or call_predicate(ctl.predicate, negation.predicate, ctl.context, event, instance_ix)
            != 0
        ):
            negation.refused += 1
            return False
        low += 1
    return True


@helper
def _reset(tables, state, instance_ix, each, at):
    """Set a range to its first element."""
    instances, work, elements = state.instances, state.work, state.work[2 * MAX_RANGES + at]
    ints, _, valid = instances.registers
    valid[instance_ix] &= ~each.registers
    for register in range(ints.shape[1]):
        if (each.registers >> register) & 1:
            ints[instance_ix, register] = 0
    work[at] = 0
    while work[at] < each.first - 1:
        _step(tables, state, instance_ix, each, at)
    slot = SLOT_CURRENT * len(tables.components) + each.component
    instances.slots[instance_ix, slot] = work[elements + work[at]]


@helper
def _step(tables, state, instance_ix, each, at):
    """Set a range to its next element, and add the one it leaves to the registers."""
    slots, registers = state.instances.slots, state.instances.registers
    work, elements = state.work, state.work[2 * MAX_RANGES + at]
    event = work[elements + work[at]]
    low, high = each.take_low, each.take_high
    if work[at] == 0:
        low, high = each.begin_low, each.begin_high
    apply_updates(tables.updates, low, high, state.context, event, instance_ix, registers)
    count = len(tables.components)
    slots[instance_ix, SLOT_PREVIOUS * count + each.component] = event
    work[at] += 1
    slots[instance_ix, SLOT_CURRENT * count + each.component] = work[elements + work[at]]


@helper
def _holds_for_all(tables, state, instance_ix, t):
    """Whether a test holds for every combination of the elements that it ranges over.

    ``work`` has for each range the ordinal of its element, the number of elements, and where they
    are listed. The lists begin at WORK.
    """
    ctl, test = state.control[0], tables.tests[t]
    slots, nodes, work = state.instances.slots, state.nodes, state.work
    count = len(tables.components)
    number = test.high - test.low
    top = WORK
    for at in range(number):
        each = tables.ranges[test.low + at]
        length = 0
        node = slots[instance_ix, SLOT_NODE * count + each.component]
        while node != NONE:
            length += 1
            node = nodes[node].previous
        if length < each.first:
            return True
        work[MAX_RANGES + at], work[2 * MAX_RANGES + at] = length, top
        node = slots[instance_ix, SLOT_NODE * count + each.component]
        while node != NONE:
            length -= 1
            work[top + length] = nodes[node].event
            node = nodes[node].previous
        top += work[MAX_RANGES + at]
    for at in range(number):
        _reset(tables, state, instance_ix, tables.ranges[test.low + at], at)
    while True:
        state.evaluations[t] += 1
        state.pace[0] -= 1
        if call_predicate(ctl.predicate, test.predicate, ctl.context, 0, instance_ix) == 0:
            return False
        at = number - 1
        while at >= 0:
            each = tables.ranges[test.low + at]
            if work[at] + 1 < work[MAX_RANGES + at]:
                _step(tables, state, instance_ix, each, at)
                break
            _reset(tables, state, instance_ix, each, at)
            at -= 1
        if at < 0:
            return True
