"""Basic construction: the stacks are found in a runtime stack when they are needed [Wu06 §3.2].

Every event of a partition is a cell of its runtime stack. The top of the runtime stack is in the
place of the last component, which needs no stack.
"""

from __future__ import annotations

from cepheid.engines.stacks.layout import NONE
from cepheid.jit.decorators import helper

_BELOW = -2
"""The place of a dropped cell is this minus the place of the next cell below it; for NONE, NONE."""


@helper
def push_cell(tops, cells, row, runtime_stack):
    """Put an instance on the runtime stack of its partition."""
    cells[row] = tops[runtime_stack]
    tops[runtime_stack] = row


@helper
def add_cell(instances, tops, cells, row, runtime_stack, now):
    """Put an event that is on no stack on the runtime stack of its partition."""
    instances[row].start = now
    instances[row].stack = runtime_stack
    instances[row].previous = NONE
    instances[row].rip = NONE
    push_cell(tops, cells, row, runtime_stack)


@helper
def link_stacks(plan, instances, cells, links, components, cell, now, pace):
    """Link the stacks of a partition by one search back through its runtime stack.

    Row 0 of ``links`` gets the top of each stack, row 1 the instance that the search reached last,
    and row 2 the topmost instance without a RIP so far. Each cell looked at is work done.
    """
    last = components - 1
    for component in range(components):
        links[0, component] = links[1, component] = links[2, component] = NONE
    in_window = plan[0].window_in_construction != 0
    window = plan[0].window
    looked_at = 0
    while cell >= 0:
        looked_at += 1
        component = instances[cell].stack % components
        if in_window and now - instances[cell].start >= window:
            # An instance that starts at its own time is no younger than any below it; others may
            # be younger.
            if component == 0 or component == last:
                break
        elif component < last:
            instances[cell].previous = NONE
            instances[cell].rip = NONE
            if links[0, component] < 0:
                links[0, component] = cell
            else:
                instances[links[1, component]].previous = cell
            links[1, component] = cell
            if links[2, component] < 0:
                links[2, component] = cell
            row = links[2, component + 1]
            while row >= 0:
                instances[row].rip = cell
                row = instances[row].previous
            links[2, component + 1] = NONE
        cell = cells[cell]
    pace[0] -= looked_at


@helper
def drop_cell(tops, cells, places, row, runtime_stack):
    """Move a cell to its new place; where it is dropped, ``places`` leads to the cells below it.

    In a runtime stack there may be younger instances below a dropped one.
    """
    place, cell = places[row], cells[row]
    below = NONE
    if cell >= 0:
        below = places[cell] if places[cell] >= 0 else _BELOW - places[cell]
    if place >= 0:
        cells[place] = below
    else:
        places[row] = _BELOW - below
    if tops[runtime_stack] == row:
        tops[runtime_stack] = place if place >= 0 else below
