"""The tests that an instance passes when a component is bound, or when a list is complete."""

from __future__ import annotations

from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.lazy.kernels.search import row_of, slot_of_first
from cepheid.engines.lazy.layout import (
    ABSENT,
    COMPLETED,
    FAR,
    MAX_RANGES,
    NONE,
    SLOT_CURRENT,
    SLOT_NODE,
    SLOT_PREVIOUS,
    WORK,
)
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import call_predicate


@helper
def fits(
    tests, low, high, phase, bound, event, instance_ix, predicate, context_address, evaluations
):
    """Whether an event passes all tests of a phase whose other variables are bound."""
    for t in range(low, high):
        test = tests[t]
        if test.phase == phase and test.needs & ~bound == 0:
            evaluations[t] += 1
            if call_predicate(predicate, test.predicate, context_address, event, instance_ix) == 0:
                return False
    return True


@helper
def holds_when_complete(
    tests, low, high, bound, ranges, negations, components, instance_ix, instances, slots, ints,
    floats, valid, updates, context, nodes, buffers, pool, terms, groups, predicate,
    context_address, work, evaluations,
):  # fmt: skip
    """Whether the tests hold that speak of a whole component, which is now complete."""
    for t in range(low, high):
        test = tests[t]
        if test.needs & ~bound != 0:
            continue
        if test.phase == COMPLETED:
            if not _holds_for_all(
                t, test, ranges, components, instance_ix, slots, ints, floats, valid, updates,
                context, nodes, predicate, context_address, work, evaluations,
            ):  # fmt: skip
                return False
        elif test.phase == ABSENT:
            if not _is_absent(
                t, test, negations, components, instance_ix, instances, slots, buffers, pool, terms,
                groups, predicate, context_address, evaluations,
            ):  # fmt: skip
                return False
    return True


@helper
def _is_absent(
    t, test, negations, components, instance_ix, instances, slots, buffers, pool, terms, groups,
    predicate, context_address, evaluations,
):  # fmt: skip
    """Whether no event violates a negation between events that are bound."""
    negation = negations[test.low]
    if negation.is_late != 0:
        return True
    negation.tested += 1
    count = len(components)
    lower, upper = NONE, FAR
    for other in range(count):
        if (negation.after >> other) & 1:
            lower = max(lower, slots[instance_ix, other])
        if (negation.before >> other) & 1:
            upper = min(upper, slots[instance_ix, slot_of_first(components, count, other)])
    row = row_of(
        count + test.low, slots, instance_ix, instances[instance_ix].bound,
        instances[instance_ix].partition, terms, groups, buffers,
    )  # fmt: skip
    if row == NONE:
        return True
    buffer = buffers[row, count + test.low]
    low, high = buffer.low, buffer.low + buffer.count
    end = high
    while low < high:
        middle = (low + high) >> 1
        if pool[middle] > lower:
            high = middle
        else:
            low = middle + 1
    while low < end and pool[low] < upper:
        evaluations[t] += 1
        event = pool[low]
        if (
            negation.predicate == NONE
            or call_predicate(predicate, negation.predicate, context_address, event, instance_ix)
            != 0
        ):
            negation.refused += 1
            return False
        low += 1
    return True


@helper
def _reset(
    each, at, work, elements, slots, instance_ix, count, ints, floats, valid, updates, context,
):  # fmt: skip
    """Let a range stand at its first element."""
    valid[instance_ix] &= ~each.registers
    for register in range(ints.shape[1]):
        if (each.registers >> register) & 1:
            ints[instance_ix, register] = 0
    work[at] = 0
    while work[at] < each.first - 1:
        _step(
            each, at, work, elements, slots, instance_ix, count, ints, floats, valid, updates,
            context,
        )  # fmt: skip
    slots[instance_ix, SLOT_CURRENT * count + each.component] = work[elements + work[at]]


@helper
def _step(
    each, at, work, elements, slots, instance_ix, count, ints, floats, valid, updates, context,
):  # fmt: skip
    """Let a range stand at its next element; the one it leaves is among those before."""
    event = work[elements + work[at]]
    if work[at] == 0:
        update_registers(
            updates, each.begin_low, each.begin_high, context, event, instance_ix, ints, floats,
            valid,
        )  # fmt: skip
    else:
        update_registers(
            updates, each.take_low, each.take_high, context, event, instance_ix, ints, floats,
            valid,
        )  # fmt: skip
    slots[instance_ix, SLOT_PREVIOUS * count + each.component] = event
    work[at] += 1
    slots[instance_ix, SLOT_CURRENT * count + each.component] = work[elements + work[at]]


@helper
def _holds_for_all(
    t, test, ranges, components, instance_ix, slots, ints, floats, valid, updates, context, nodes,
    predicate, context_address, work, evaluations,
):  # fmt: skip
    """Whether a test holds for every combination of the elements that it ranges over.

    ``work`` has for each range where it stands, how many elements there are and where they
    are listed; from WORK on, the lists.
    """
    count = len(components)
    number = test.high - test.low
    top = WORK
    for at in range(number):
        each = ranges[test.low + at]
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
        _reset(
            ranges[test.low + at], at, work, work[2 * MAX_RANGES + at], slots, instance_ix, count,
            ints, floats, valid, updates, context,
        )  # fmt: skip
    while True:
        evaluations[t] += 1
        if call_predicate(predicate, test.predicate, context_address, 0, instance_ix) == 0:
            return False
        at = number - 1
        while at >= 0:
            each = ranges[test.low + at]
            elements = work[2 * MAX_RANGES + at]
            if work[at] + 1 < work[MAX_RANGES + at]:
                _step(
                    each, at, work, elements, slots, instance_ix, count, ints, floats, valid,
                    updates, context,
                )  # fmt: skip
                break
            _reset(
                each, at, work, elements, slots, instance_ix, count, ints, floats, valid, updates,
                context,
            )  # fmt: skip
            at -= 1
        if at < 0:
            return True
