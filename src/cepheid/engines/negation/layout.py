"""What the kernel of negation reads, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.events.arrays import Int64s, no_rows

_INTS = no_rows(np.int64)


class MatchArrays(NamedTuple):
    """The matches that are tested.

    ``ids[offsets[m]:offsets[m + 1]]`` are the tags of match m, and ``filled_ids`` the same tags
    with the places of the events in the columns that fill the registers. ``firsts`` and ``lasts``
    are the places of its first and its last event on the axis of the window.
    """

    ids: Int64s = _INTS
    filled_ids: Int64s = _INTS
    offsets: Int64s = _INTS
    partitions: Int64s = _INTS
    firsts: Int64s = _INTS
    lasts: Int64s = _INTS


class SpanArrays(NamedTuple):
    """Events that can violate, ordered by partition and then in stream order."""

    events: Int64s = _INTS
    partitions: Int64s = _INTS
    axis: Int64s = _INTS


class Place(NamedTuple):
    """Where a negated component is: after and before these sets of components, as bits."""

    window: int = 0
    after: int = 0
    before: int = 0
