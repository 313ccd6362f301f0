"""Which matches a negated component violates [Wu06 §3.3].

The events that can violate are ordered by partition and then in stream order. In a match, the
place of the component is a range of events; a binary search finds the first one, and the
conditions across events are tested from there on, with the registers that the match fills.
"""

from __future__ import annotations

from cepheid.engines.base.kernels.conditions import Conditions, holds, select_match
from cepheid.engines.negation.layout import MatchArrays, SpanArrays
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE


@helper
def _first_after(partitions, events, partition, event):
    """The first place whose (partition, event) is greater."""
    low, high = 0, len(events)
    while low < high:
        middle = (low + high) >> 1
        here = partitions[middle]
        if here > partition or (here == partition and events[middle] > event):
            high = middle
        else:
            low = middle + 1
    return low


@helper
def _first_within(axis, low, high, last, window):
    """The first place in axis[low:high] that is less than a window before ``last``."""
    while low < high:
        middle = (low + high) >> 1
        if last - axis[middle] < window:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(
    I64(
        type_of(MatchArrays), type_of(SpanArrays), type_of(Conditions), I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def find_violated(matches, span, conditions, reach, at, pace, violated):
    """Set ``violated[m]`` for every match m, from ``at[0]`` on, that one of the events violates.

    ``reach`` has the window, and the least and the greatest place of the span on the axis.
    If there are conditions across events, the registers of a match are filled from the columns
    of the context, and the predicate reads the events of the span. ``at[1]`` counts how often it
    was tested.
    """
    axis = span.axis
    window, from_axis, to_axis = reach[0], reach[1], reach[2]
    for m in range(at[0], len(violated)):
        if pace[0] <= 0:
            at[0] = m
            return PAUSE
        pace[0] -= 1
        partition = matches.partitions[m]
        if violated[m] != 0 or partition < 0:
            continue
        if matches.lasts[m] - to_axis >= window or from_axis - matches.firsts[m] >= window:
            continue
        place = _first_after(span.partitions, span.events, partition, matches.lower[m])
        high = _first_after(span.partitions, span.events, partition, matches.upper[m] - 1)
        place = _first_within(axis, place, high, matches.lasts[m], window)
        filled = False
        listed, end = 0, 0
        if len(matches.listed_begins) > 0:
            listed, end = matches.listed_begins[m], matches.listed_begins[m + 1]
        while place < high and axis[place] - matches.firsts[m] < window:
            while listed < end and matches.listed[listed] < span.events[place]:
                listed += 1
            if listed < end and matches.listed[listed] == span.events[place]:
                place += 1
                pace[0] -= 1
                continue
            if conditions.predicate != 0 and not filled:
                select_match(conditions, matches.tags, matches.begins[m], matches.begins[m + 1])
                filled = True
            at[1] += conditions.predicate != 0
            if conditions.predicate == 0 or holds(conditions, 0, place, 0):
                violated[m] = 1
                break
            place += 1
            pace[0] -= 1
    return DONE
