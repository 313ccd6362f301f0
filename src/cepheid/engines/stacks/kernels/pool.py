"""The pool of instances: those that have left the window make room for new ones [Wu06 §4.3].

Where the window is the same for all, they leave it about in the order in which they came. The
scan of plain sequences then goes through the pool as through a ring, and puts new instances in the
place of the oldest.
"""

from __future__ import annotations

from cepheid.engines.stacks.layout import INSTANCE, NONE, PLAN, STATE, UNUSED
from cepheid.jit.decorators import F64S_2D, I32S, I64, I64S, I64S_2D, array_of, helper, kernel

_BELOW = -2
"""From this the place below a cell is taken away where the cell is dropped: NONE gives NONE."""


@helper
def _moved(places, row):
    """The new place of a row, or NONE where it is dropped."""
    return max(places[row], NONE) if row >= 0 else NONE


@helper
def _moved_cell(places, row):
    """The same of a cell; where it is dropped, that of the next one below it that is not."""
    if row < 0:
        return NONE
    return places[row] if places[row] >= 0 else _BELOW - places[row]


@kernel(
    I64(
        array_of(PLAN), array_of(STATE), array_of(INSTANCE), I64S_2D, F64S_2D, I64S, I64S_2D,
        I64S_2D, I64S, I64S, I64S_2D, I64S, I32S, I64, I64,
    )
)  # fmt: skip
def drop_instances(
    plan, state, instances, kept_ints, kept_floats, kept_valid, keys, others, cells, stacks,
    other_stacks, reached, places, components, now,
):  # fmt: skip
    """Drop the instances at which no sequence ends that is in the window; how many there were.

    Those below such an instance are no younger, so that a link to it can be cut; but in a runtime
    stack there may be younger ones. Rows keep their order, and ``places`` gets the new place of
    each, or of one that is dropped what :func:`_moved_cell` needs. Where the window counts the
    events of a partition, each has got to a place of its own, ``reached``; otherwise all to
    ``now``.
    """
    window, by_partition = plan[0].window, plan[0].by_partition != 0
    basic = plan[0].basic != 0
    used = state[0].used
    kept = 0
    for row in range(used):
        stack = instances[row].stack
        here = reached[stack // components] if by_partition else now
        place = NONE
        if here - instances[row].start < window:
            place = kept
            kept += 1
            instances[place] = instances[row]
            instances[place].previous = _moved(places, instances[row].previous)
            instances[place].rip = _moved(places, instances[row].rip)
            for register in range(kept_ints.shape[1]):
                kept_ints[place, register] = kept_ints[row, register]
            for register in range(kept_floats.shape[1]):
                kept_floats[place, register] = kept_floats[row, register]
            kept_valid[place] = kept_valid[row]
        below = _moved_cell(places, cells[row]) if basic else NONE
        places[row] = place if place >= 0 else _BELOW - below
        # Tops that were moved before are less than this row, and those to come greater.
        if stacks[stack] == row:
            stacks[stack] = place
        for k in range(others.shape[1]):
            component = stack % components  # only where it is needed: to divide takes a while
            if component < components - 1:
                other = keys[row, k] * components + component
                if other_stacks[k, other] == row:
                    other_stacks[k, other] = place
                if place >= 0:
                    others[place, k] = _moved(places, others[row, k])
        if place >= 0:
            for k in range(keys.shape[1]):
                keys[place, k] = keys[row, k]
        if basic:
            runtime_stack = stack - stack % components + components - 1
            if stacks[runtime_stack] == row:
                stacks[runtime_stack] = place if place >= 0 else below
            if place >= 0:
                cells[place] = below
    for row in range(kept, used):
        instances[row].start = UNUSED
    state[0].used = state[0].head = kept
    return used - kept
