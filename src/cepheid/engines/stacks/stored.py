"""What the instance stacks of a snapshot must be, so that kernels can follow their links."""

from __future__ import annotations

import numpy as np

from cepheid.engines.base.layout import Rows
from cepheid.engines.stacks.layout import NONE
from cepheid.events.arrays import Int64s
from cepheid.snapshot_checks import require


def check_links(
    instances: Rows, tops: Int64s, components: int, starts_follow: bool, is_cut: bool
) -> None:
    """Refuse stacks that do not have their instances in stream order.

    The rows of instances are in that order. So the instance below another one, its RIP and the top
    of a stack are each the last row of some stack before some row. Where ``starts_follow``, an
    instance starts where its RIP starts, and leaves the window with it. Where a stack ``is_cut``,
    the instances below a violated negation are not in it any more.
    """
    stack, size = instances["stack"], len(instances) + 1
    order = np.argsort(stack, kind="stable")
    keys = stack[order] * size + order
    is_first = stack % components == 0
    rows = np.arange(len(instances))
    below, rip = rows.copy(), np.full(len(instances), NONE)
    below[order] = np.where(np.diff(stack[order], prepend=NONE) == 0, np.roll(order, 1), NONE)
    others = np.flatnonzero(~is_first)
    rip[others] = _last_before(keys, size, stack[others] - 1, rows[others])
    top = _last_before(keys, size, np.arange(len(tops)), np.full(len(tops), len(instances)))
    previous = instances["previous"]
    is_linked = (below == previous) | (is_cut & (previous == NONE))
    is_linked &= rip == instances["rip"]
    is_top = (top == tops) | (is_cut & (tops == NONE))
    require(is_linked.all() and is_top.all(), "instances are in other stacks")
    event, start = instances["event"], instances["start"]
    require((np.diff(event) >= 0).all(), "instances are in no order")
    before = rip[others]
    if starts_follow and len(others):
        follows = (before >= 0) & (start[others] == start[before])
        require((follows & (event[others] > event[before])).all(), "an instance follows no other")


def _last_before(keys: Int64s, size: int, stack: Int64s, row: Int64s) -> Int64s:
    """The last row of each stack before a row, or NONE; keys are stacks × size + rows."""
    found = np.append(keys, -size)[np.searchsorted(keys, stack * size + row) - 1]
    last: Int64s = np.where(found // size == stack, found % size, NONE)
    return last
