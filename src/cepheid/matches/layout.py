"""Chains of events as arrays: how engines that share the past of matches hand them over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import no_rows

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
