"""Chains of events as arrays: how engines that share the past of matches hand them over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import int64s, no_rows, zeros

NODE = np.dtype(
    [
        ("tag", "i8"),  # event × 32 + component; of a union: -1 - its other branch
        ("previous", "i8"),  # the node selected before, or NONE; of a union: one branch
        ("youngest", "i8"),  # the latest start of the chains that end here
        ("oldest", "i8"),  # their first start
        ("chains", "f8"),  # how many chains end here
    ]
)
FINAL = np.dtype(
    [
        ("head", "i8"),  # the node where the chains of some matches end, or NONE
        ("tag", "i8"),  # the event after it that completes them, or NONE
        ("after", "i8"),  # chains that start after this are in the window
    ]
)
COUNTED = np.dtype(
    [
        ("after", "i8"),  # the edge of the window for which the chains of a node were counted last
        ("chains", "f8"),  # how many of them start after it
    ]
)
TOTAL = np.dtype(
    [
        ("after", "i8"),  # the edge of the window, as above
        ("chains", "i8"),  # how many chains there are
        ("values", "i8"),  # how many values their events have, but for nulls
        ("sum", "i8"),
        ("least", "i8"),  # the rank of the least value, or NO_LEAST
        ("most", "i8"),  # the rank of the greatest value, or -1
        ("bits", "i8"),  # at least as many bits as the number of chains has
    ]
)
NO_LEAST = 1 << 62
NEVER = -(1 << 63)
"""Before every edge of a window."""
DEAD = -2
"""A branch of a union that has no chain inside the window."""


NO_PRUNING, ONE_OF_PARTITION, FIRST_OF_RUN, LAST_OF_RUN = range(4)
"""The matches that an output mode lets an engine leave out: none; matches that overlap an earlier
match of their partition; further matches of a run that has found one; or matches of a run that
finds others later, with the same first events."""


class Chains(NamedTuple):
    """Matches that are not listed yet: chains of nodes, and the finals where they end.

    The first node has the number ``base``. No match has more than ``longest`` events.
    """

    nodes: npt.NDArray[Any] = no_rows(NODE)
    finals: npt.NDArray[Any] = no_rows(FINAL)
    base: int = 0
    longest: int = 0


class Counting(NamedTuple):
    """The memory for counting chains: room for a path of nodes, and what is known of each node."""

    stack: npt.NDArray[Any] = no_rows(np.int64)
    memo: npt.NDArray[Any] = no_rows(COUNTED)

    @classmethod
    def of(cls, nodes: int) -> Counting:
        """Memory for this many nodes, of which nothing is known."""
        memo = zeros(nodes, COUNTED)
        memo["after"] = NEVER
        return cls(int64s(nodes + 1), memo)
