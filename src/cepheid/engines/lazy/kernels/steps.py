"""How an instance continues: with the next step of its plan, or in a tree as it chooses."""

from __future__ import annotations

from cepheid.engines.lazy.kernels.instances import copied
from cepheid.engines.lazy.kernels.search import (
    choose_next,
    first_of,
    first_place,
    last_of,
    row_of,
)
from cepheid.engines.lazy.layout import (
    DONE,
    NEED_INSTANCES,
    NEED_NODES,
    NEED_OUTPUT,
    NEED_STACK,
    NEED_WORK,
    NONE,
    SEARCH,
    WORK,
)
from cepheid.jit.decorators import helper, small


@helper
def search_buffer(components, control, instances, inputs, axis, instance_ix):
    """Let an instance read the buffer of its next component from the first event that can fit."""
    slots, row = instances.slots, instances.table[instance_ix]
    component, part = row.next, components[row.next]
    after = last_of(components, slots, instance_ix, part.earlier & row.bound)
    if row.count > 0:
        after = max(after, slots[instance_ix, component])
    row.upper = first_of(components, slots, instance_ix, part.later & row.bound)
    if row.row == NONE:
        row.cursor = 0
        return
    buffer = inputs.buffers[row.row, component]
    end, window = buffer.low + buffer.count, control[0].window
    row.cursor = first_place(inputs.pool, axis, buffer.low, end, after, row.finish, window)


@small
def push(tables, plans, state, events, instance_ix):
    """Set the component that an instance of a step binds next, and let it read the buffer."""
    ctl, instances, inputs = state.control[0], state.instances, state.inputs
    row = instances.table[instance_ix]
    plan = plans.table[row.plan]
    if plan.is_tree == 0:
        row.next = plans.steps[row.plan, row.step].component
    else:
        row.next = choose_next(
            tables, plans.parts, instances, inputs, events, ctl.window, instance_ix
        )
    row.count, row.stage = 0, SEARCH
    row.row = row_of(tables.terms, events.groups, inputs.buffers, instances, instance_ix, row.next)
    search_buffer(tables.components, state.control, instances, inputs, events.axis, instance_ix)
    # Matches with earlier events belong to the previous plan.
    after = plan.since - 1
    if after >= 0 and row.row != NONE:
        buffer = inputs.buffers[row.row, row.next]
        end = buffer.low + buffer.count
        row.cursor = first_place(
            inputs.pool, events.axis, row.cursor, end, after, row.finish, ctl.window
        )
    state.stack[ctl.top] = instance_ix
    ctl.top += 1


@helper
def finals_of(plans, row, bound, count):
    """The alternatives that are complete where these components are bound, as bits."""
    if plans.table[row.plan].is_tree == 0:
        return plans.steps[row.plan, row.step].finals
    return 1 if bound == (1 << count) - 1 else 0


@helper
def is_last(plans, row, bound, count):
    """Whether nothing is left to bind where these components are bound."""
    if plans.table[row.plan].is_tree == 0:
        return plans.steps[row.plan, row.step].child == NONE
    return bound == (1 << count) - 1


@helper
def follow_plan(tables, plans, state, events, instance_ix):
    """Let an instance that has bound a component, but not all, continue with the next steps."""
    row = state.instances.table[instance_ix]
    if plans.table[row.plan].is_tree == 0:
        child = plans.steps[row.plan, row.step].child
        sibling = plans.steps[row.plan, child].sibling
        while sibling != NONE:
            copy_ix = copied(state.control, state.instances, instance_ix)
            state.instances.table[copy_ix].step = sibling
            push(tables, plans, state, events, copy_ix)
            sibling = plans.steps[row.plan, sibling].sibling
        row.step = child
    push(tables, plans, state, events, instance_ix)


@helper
def lacks_room(state, out, count, length):
    """What is too full for a step of ``count`` instances to ``length`` events each, or DONE."""
    ctl = state.control[0]
    most = count * (2 + ctl.fanout)
    if ctl.free_count < most:
        return NEED_INSTANCES
    if ctl.nodes + count > len(state.nodes):
        return NEED_NODES
    if ctl.ids + count * length > len(out.ids) or ctl.matches + count >= len(out.offsets):
        return NEED_OUTPUT
    if ctl.top + most > len(state.stack):
        return NEED_STACK
    if WORK + length > len(state.work):
        return NEED_WORK
    return DONE
