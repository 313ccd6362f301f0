"""The pool of instances: those that have left the window make room for new ones [Wu06 §4.3].

Where the window is the same for all, instances leave it roughly in the order in which they came.
The scan of plain sequences then uses the pool as a ring, and puts new instances in the place of
the oldest.
"""

from __future__ import annotations

from cepheid.engines.base.kernels.closing import closes, is_closed
from cepheid.engines.stacks.layout import NONE, UNUSED, Pool, State, Tables, VariantState
from cepheid.engines.stacks.variants.kernels.basic import drop_cell
from cepheid.engines.stacks.variants.kernels.multi_pais import drop_from_others
from cepheid.jit.decorators import I32S, I64, helper, inlined, kernel, type_of


@inlined
def cut_before(closing, instances, tops, stack, component, event_ix):
    """Empty the stack of a component if an event that violates came between it and this event."""
    top = tops[stack]
    edge = 2 * component + 2
    if top >= 0 and is_closed(closing, edge, event_ix, instances[top].event):
        tops[stack] = NONE


@inlined
def cut_below(closing, instances, tops, stack, component, event_ix, event):
    """Empty the stack of a component before this event is pushed on it.

    If an event that violates came after the instances, or is this one, no later event can follow
    them.
    """
    top = tops[stack]
    edge = 2 * component + 2
    if top >= 0 and closes(closing, edge, event_ix, event, instances[top].event):
        tops[stack] = NONE


@helper
def _moved(places, row):
    """The new place of a row, or NONE where it is dropped."""
    return max(places[row], NONE) if row >= 0 else NONE


@helper
def _move(pool, places, row, place):
    """Move an instance to an earlier row, with the values kept beside it."""
    instances = pool.instances
    instances[place] = instances[row]
    instances[place].previous = _moved(places, instances[row].previous)
    instances[place].rip = _moved(places, instances[row].rip)
    for register in range(pool.kept_ints.shape[1]):
        pool.kept_ints[place, register] = pool.kept_ints[row, register]
    for register in range(pool.kept_floats.shape[1]):
        pool.kept_floats[place, register] = pool.kept_floats[row, register]
    pool.kept_valid[place] = pool.kept_valid[row]
    for k in range(pool.instance_keys.shape[1]):
        pool.instance_keys[place, k] = pool.instance_keys[row, k]


@kernel(I64(type_of(Tables), type_of(State), type_of(Pool), type_of(VariantState), I32S, I64))
def drop_instances(tables, state, pool, variant, places, now):
    """Drop the instances at which no sequence in the window ends; the number of dropped ones.

    Instances below a dropped one are no younger, so that a link to it can be cut. Rows keep their
    order, and ``places`` gets the new place of each, or NONE. Where the window counts the events
    of a partition, each partition has its own place on the axis, ``reached``; otherwise all are
    at ``now``.
    """
    plan, control, tops = tables.plan, state.control, state.tops
    window, by_partition = plan[0].window, plan[0].by_partition != 0
    multi, basic = plan[0].multi != 0, plan[0].basic != 0
    components = len(tables.steps)
    used = control[0].used
    kept = 0
    for row in range(used):
        stack = pool.instances[row].stack
        here = state.reached[stack // components] if by_partition else now
        place = NONE
        if here - pool.instances[row].start < window:
            place = kept
            kept += 1
            _move(pool, places, row, place)
        places[row] = place
        # Tops that were moved before are less than this row, and those to come greater.
        if tops[stack] == row:
            tops[stack] = place
        if multi:
            drop_from_others(pool, variant, places, row, stack % components, components)
        if basic:
            drop_cell(tops, variant.cells, places, row, stack - stack % components + components - 1)
    for row in range(kept, used):
        pool.instances[row].start = UNUSED
    control[0].used = control[0].head = kept
    return used - kept
