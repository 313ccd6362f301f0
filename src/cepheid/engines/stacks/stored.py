"""What the instance stacks of a snapshot must be, so that kernels can follow their links."""

from __future__ import annotations

import numpy as np

from cepheid.engines.base.engine import Restored
from cepheid.engines.stacks.layout import NONE, Rows
from cepheid.events.arrays import Int64s
from cepheid.snapshot_checks import require


def check_links(
    instances: Rows, tops: Int64s, components: int, restored: Restored, starts_follow: bool
) -> None:
    """Refuse stacks that do not have their instances in stream order.

    The rows of instances are in that order. So the instance below another one, its RIP and the top
    of a stack are each the last row of some stack before some row. Where ``starts_follow``, an
    instance starts where its RIP starts, and leaves the window with it.
    """
    stack, rows = instances["stack"], np.arange(len(instances))
    is_first = stack % components == 0
    below = _last_before(stack, stack, rows)
    rip = np.where(is_first, NONE, _last_before(stack, stack - 1, rows))
    top = _last_before(stack, np.arange(len(tops)), np.full(len(tops), len(instances)))
    is_linked = (below == instances["previous"]) & (rip == instances["rip"])
    require(is_linked.all() and (top == tops).all(), "instances are in other stacks")
    event, start = instances["event"], instances["start"]
    require((np.diff(event) >= 0).all(), "instances are in no order")
    is_unknown = (event < restored.events.start) & (start > restored.edge)
    require(not is_unknown[is_first].any(), "an instance has an unknown event")
    others = np.flatnonzero(~is_first)
    before = rip[others]
    if starts_follow and len(others):
        follows = (before >= 0) & (start[others] == start[before])
        require((follows & (event[others] > event[before])).all(), "an instance follows no other")


def _last_before(stack: Int64s, wanted: Int64s, row: Int64s) -> Int64s:
    """The last row of each of the wanted stacks before a row, or NONE; by the stack of each row."""
    size = len(stack) + 1
    order = np.argsort(stack, kind="stable")
    at = np.searchsorted(stack[order] * size + order, wanted * size + row) - 1
    found: Int64s = np.append(order, NONE)[at]
    return np.where((found >= 0) & (np.append(stack, NONE)[found] == wanted), found, NONE)
