"""Which matches a negated component violates [Wu06 §3.3].

The events that can violate are indexed by partition, in stream order. For a match, the place
of the component is a range of events; a binary search finds its first one, and the conditions
across events are tested from there on, with the registers that the match fills.
"""

from __future__ import annotations

from cepheid.kernels.jit import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.kernels.nfa_b_layout import STEP, TAG_SHIFT, UPDATE
from cepheid.kernels.pointers import call_predicate
from cepheid.kernels.registers import fill_registers

_COMPONENT = (1 << TAG_SHIFT) - 1
_FAR = 1 << 62


@helper
def _first_after(events, low, high, event):
    """The first place in events[low:high] with a later event."""
    while low < high:
        middle = (low + high) >> 1
        if events[middle] > event:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def _first_within(events, axis, base, low, high, last, window):
    """The first place in events[low:high] that is less than a window before ``last``."""
    while low < high:
        middle = (low + high) >> 1
        if last - axis[events[middle] - base] < window:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(
    I64(
        I64S, I64S, I64S, array_of(STEP), array_of(UPDATE), I64S, I64S_2D, F64S_2D, I64S, I64S,
        I64S, I64S, I64S, I64, I64, I64, I64, I64, I64,
    )
)  # fmt: skip
def find_violated(
    ids, offsets, violated, steps, updates, context, ints, floats, valid, events, index, partitions,
    axis, base, window, after, before, predicate, context_address,
):  # fmt: skip
    """Set ``violated[m]`` for every match at whose place a violating event stands.

    ``events[index[p]:index[p + 1]]`` are those that can violate in partition p; ``partitions``
    has the partition of each event, ``axis`` its place on the axis of the window; both start
    at event ``base``. ``after`` and ``before`` are sets of components, as bits. ``predicate``
    is the address of the conditions across events, or 0.
    """
    count = 0
    for m in range(len(offsets) - 1):
        first = ids[offsets[m]] >> TAG_SHIFT
        last = ids[offsets[m + 1] - 1] >> TAG_SHIFT
        partition = partitions[first - base]
        if partition < 0:
            continue
        lower, upper = -1, _FAR
        for at in range(offsets[m], offsets[m + 1]):
            event, component = ids[at] >> TAG_SHIFT, ids[at] & _COMPONENT
            if (after >> component) & 1 and event > lower:
                lower = event
            if (before >> component) & 1 and event < upper:
                upper = event
        high = index[partition + 1]
        place = _first_after(events, index[partition], high, lower)
        place = _first_within(events, axis, base, place, high, axis[last - base], window)
        filled = False
        while place < high and events[place] < upper:
            event = events[place]
            if axis[event - base] - axis[first - base] >= window:
                break
            if predicate != 0 and not filled:
                fill_registers(
                    ids, offsets[m], offsets[m + 1], base, steps, updates, context, ints, floats,
                    valid,
                )  # fmt: skip
                filled = True
            if predicate == 0 or call_predicate(predicate, 0, context_address, event - base, 0):
                violated[m] = 1
                count += 1
                break
            place += 1
    return count
