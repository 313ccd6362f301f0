"""How an instance goes on: by the steps of its plan, or by what a tree finds best for it."""

from __future__ import annotations

from cepheid.engines.lazy.kernels.instances import copied
from cepheid.engines.lazy.kernels.search import (
    choose_next,
    first_place,
    lower_bound,
    row_of,
    upper_bound,
)
from cepheid.engines.lazy.layout import NONE, SEARCH
from cepheid.jit.decorators import helper


@helper
def search_buffer(control, instances, instance_ix, components, slots, buffers, pool, axis):
    """Let an instance read the buffer of its next component from where an event can fit."""
    row = instances[instance_ix]
    component = row.next
    after = lower_bound(components, slots, instance_ix, row.bound, component)
    if row.count > 0:
        after = max(after, slots[instance_ix, component])
    row.upper = upper_bound(components, slots, instance_ix, row.bound, component)
    if row.row == NONE:
        row.cursor = 0
        return
    buffer = buffers[row.row, component]
    row.cursor = first_place(
        pool, axis, buffer.low, buffer.low + buffer.count, after, row.finish, control[0].window
    )


@helper
def push(
    control,
    instances,
    instance_ix,
    components,
    slots,
    steps,
    parts,
    plans,
    buffers,
    pool,
    terms,
    groups,
    axis,
    stack,
):
    """Choose what an instance of a step binds next, and let it read the buffer."""
    row = instances[instance_ix]
    if plans[row.plan].is_tree == 0:
        row.next = steps[row.plan, row.step].component
    else:
        row.next = choose_next(
            instances, instance_ix, components, slots, parts, buffers, pool, terms, groups, axis,
            control[0].window,
        )  # fmt: skip
    row.count, row.stage = 0, SEARCH
    row.row = row_of(row.next, slots, instance_ix, row.bound, row.partition, terms, groups, buffers)
    # The events of the plan alone: those before it belong to the plan before.
    search_buffer(control, instances, instance_ix, components, slots, buffers, pool, axis)
    since = plans[row.plan].since
    if since > 0 and row.row != NONE:
        buffer = buffers[row.row, row.next]
        row.cursor = first_place(
            pool, axis, row.cursor, buffer.low + buffer.count, since - 1, row.finish,
            control[0].window,
        )  # fmt: skip
    stack[control[0].top] = instance_ix
    control[0].top += 1


@helper
def finals_of(instances, instance_ix, bound, steps, plans, count):
    """The alternatives that are complete where these components are bound, as bits."""
    row = instances[instance_ix]
    if plans[row.plan].is_tree == 0:
        return steps[row.plan, row.step].finals
    return 1 if bound == (1 << count) - 1 else 0


@helper
def is_last(instances, instance_ix, bound, steps, plans, count):
    """Whether nothing is left to be bound where these components are."""
    row = instances[instance_ix]
    if plans[row.plan].is_tree == 0:
        return steps[row.plan, row.step].child == NONE
    return bound == (1 << count) - 1


@helper
def go_on(
    control, instances, instance_ix, components, slots, ints, floats, valid, steps, parts, plans,
    buffers, pool, terms, groups, axis, stack,
):  # fmt: skip
    """Let an instance that has bound a component go on to what may be next; there is something."""
    row = instances[instance_ix]
    if plans[row.plan].is_tree == 0:
        child = steps[row.plan, row.step].child
        sibling = steps[row.plan, child].sibling
        while sibling != NONE:
            copy_ix = copied(control, instances, slots, ints, floats, valid, instance_ix)
            instances[copy_ix].step = sibling
            push(
                control, instances, copy_ix, components, slots, steps, parts, plans, buffers, pool,
                terms, groups, axis, stack,
            )  # fmt: skip
            sibling = steps[row.plan, sibling].sibling
        row.step = child
    push(
        control, instances, instance_ix, components, slots, steps, parts, plans, buffers, pool,
        terms, groups, axis, stack,
    )  # fmt: skip
