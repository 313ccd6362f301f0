"""What the kernel of negation reads, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.events.arrays import Int64s, no_rows

_INTS = no_rows(np.int64)


class MatchArrays(NamedTuple):
    """The matches that are tested.

    Events after ``lower[m]`` and before ``upper[m]`` can violate match m. ``firsts`` and ``lasts``
    are the places of its first and its last event on the axis of the window. Only for conditions
    across events, ``tags[begins[m]:begins[m + 1]]`` are the tags of its events, with their places
    in the columns that fill the registers. Only for an event that can be in a list which it must
    not be inside of, ``listed[listed_begins[m]:listed_begins[m + 1]]`` are the events of the list.
    """

    lower: Int64s = _INTS
    upper: Int64s = _INTS
    tags: Int64s = _INTS
    begins: Int64s = _INTS
    partitions: Int64s = _INTS
    firsts: Int64s = _INTS
    lasts: Int64s = _INTS
    listed: Int64s = _INTS
    listed_begins: Int64s = _INTS


class SpanArrays(NamedTuple):
    """Events that can violate, ordered by partition and then in stream order."""

    events: Int64s = _INTS
    partitions: Int64s = _INTS
    axis: Int64s = _INTS
