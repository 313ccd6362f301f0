"""Which matches a negated component violates [Wu06 §3.3].

The events that can violate are indexed by partition, in stream order. For a match, the place
of the component is a range of events; a binary search finds its first one, and the conditions
across events are tested from there on, with the registers that the match fills.
"""

from __future__ import annotations

from cepheid.codegen.layout import STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import fill_registers
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate

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
        I64S, I64S, I64S, I64S, I64S, I64S, I64S, array_of(STEP), array_of(UPDATE), I64S, I64S_2D,
        F64S_2D, I64S, I64S, I64S, I64S, I64, I64, I64, I64, I64,
    )
)  # fmt: skip
def find_violated(
    ids, filled_ids, offsets, match_partitions, firsts, lasts, violated, steps, updates, columns,
    ints, floats, valid, events, partitions, axis, window, after, before, predicate, context,
):  # fmt: skip
    """Set ``violated[m]`` for every match at whose place one of the events stands.

    The events, with their partitions and places on the axis of the window, are in the order of
    partition and stream; ``firsts`` and ``lasts`` have those places of the first and the last
    event of each match. ``after`` and ``before`` are sets of components, as bits. ``predicate``
    is the address of the conditions across events, or 0; for it the registers of a match are
    filled from ``columns``, in which its events are numbered as in ``filled_ids``.
    """
    count = 0
    for m in range(len(offsets) - 1):
        partition = match_partitions[m]
        if violated[m] != 0 or partition < 0:
            continue
        lower, upper = -1, _FAR
        for at in range(offsets[m], offsets[m + 1]):
            event, component = ids[at] >> TAG_SHIFT, ids[at] & _COMPONENT
            if (after >> component) & 1 and event > lower:
                lower = event
            if (before >> component) & 1 and event < upper:
                upper = event
        place = _first_after(partitions, events, partition, lower)
        high = _first_after(partitions, events, partition, upper - 1)
        place = _first_within(axis, place, high, lasts[m], window)
        filled = False
        while place < high and axis[place] - firsts[m] < window:
            if predicate != 0 and not filled:
                fill_registers(
                    filled_ids, offsets[m], offsets[m + 1], 0, steps, updates, columns, ints,
                    floats, valid,
                )  # fmt: skip
                filled = True
            if predicate == 0 or call_predicate(predicate, 0, context, place, 0):
                violated[m] = 1
                count += 1
                break
            place += 1
    return count
