"""Multi-PAIS: every key has stacks of its own, and the scan intersects them [Wu06 §4.2].

An instance is on one stack of each key. ``here`` has the values of the event in the keys after
the first, and behind them room for the tops of their stacks.
"""

from __future__ import annotations

from cepheid.engines.stacks.layout import NONE
from cepheid.jit.decorators import helper
from cepheid.jit.window_edge import window_edge

_LONG_AGO = -(2**62)


@helper
def has_common_instance(tables, instances, variant, here, component, row, now, pace):
    """Whether an event can follow some instance that is on the stacks of all its keys.

    ``row`` is the top of the stack of the first key. Rows are in stream order and links lead back:
    of two different rows the later one is not on both stacks.
    """
    plan, components = tables.plan, len(tables.steps)
    after = _LONG_AGO
    if plan[0].window_in_scan != 0:
        after = window_edge(now, plan[0].window)
    tested = variant.others.shape[1]
    for k in range(tested):
        here[tested + k] = variant.other_stacks[k, here[k] * components + component - 1]
    looked_at = 0
    while row >= 0 and instances[row].start > after:
        looked_at += 1
        common = True
        for k in range(tested):
            other = here[tested + k]
            while other > row:
                other = variant.others[other, k]
            if other < 0:
                pace[0] -= looked_at
                return False
            here[tested + k] = other
            common = common and other == row
        if common:
            pace[0] -= looked_at
            return True
        row = instances[row].previous
    pace[0] -= looked_at
    return False


@helper
def push_on_others(variant, here, row, component, components):
    """Put an instance on the stacks of the keys after the first."""
    for k in range(variant.others.shape[1]):
        stack = here[k] * components + component
        variant.others[row, k] = variant.other_stacks[k, stack]
        variant.other_stacks[k, stack] = row


@helper
def drop_from_others(pool, variant, places, row, component, components):
    """Move an instance on the stacks of the keys after the first, or drop it there."""
    if component == components - 1:
        return
    place = places[row]
    for k in range(variant.others.shape[1]):
        stack = pool.instance_keys[row, k] * components + component
        if variant.other_stacks[k, stack] == row:
            variant.other_stacks[k, stack] = place
        if place >= 0:
            below = variant.others[row, k]
            variant.others[place, k] = max(places[below], NONE) if below >= 0 else NONE
