"""Which matches a negated component violates [Wu06 §3.3].

The events that can violate are ordered by partition and then in stream order. In a match, the
place of the component is a range of events; a binary search finds the first one, and the
conditions across events are tested from there on, with the registers that the match fills.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.kernels.conditions import Conditions, holds, select_match
from cepheid.engines.negation.layout import MatchArrays, Place, SpanArrays
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of

_COMPONENT = (1 << TAG_SHIFT) - 1
_FAR = 1 << 62


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
        type_of(MatchArrays), type_of(SpanArrays), type_of(Conditions), type_of(Place), I64S,
    )
)  # fmt: skip
def find_violated(matches, span, conditions, negated, violated):
    """Set ``violated[m]`` for every match that has one of the events at the place of the component.

    If there are conditions across events, the registers of a match are filled from the columns
    of the context, and the predicate reads the events of the span.
    """
    offsets, axis, window = matches.offsets, span.axis, negated.window
    count = 0
    for m in range(len(offsets) - 1):
        partition = matches.partitions[m]
        if violated[m] != 0 or partition < 0:
            continue
        lower, upper = -1, _FAR
        for at in range(offsets[m], offsets[m + 1]):
            event, component = matches.ids[at] >> TAG_SHIFT, matches.ids[at] & _COMPONENT
            if (negated.after >> component) & 1 and event > lower:
                lower = event
            if (negated.before >> component) & 1 and event < upper:
                upper = event
        place = _first_after(span.partitions, span.events, partition, lower)
        high = _first_after(span.partitions, span.events, partition, upper - 1)
        place = _first_within(axis, place, high, matches.lasts[m], window)
        filled = False
        while place < high and axis[place] - matches.firsts[m] < window:
            if conditions.predicate != 0 and not filled:
                select_match(conditions, matches.filled_ids, offsets[m], offsets[m + 1])
                filled = True
            if conditions.predicate == 0 or holds(conditions, 0, place, 0):
                violated[m] = 1
                count += 1
                break
            place += 1
    return count
