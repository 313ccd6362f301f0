"""Which matches a negated component violates [Wu06 §3.3].

The events that can violate are indexed by partition, in stream order. For a match, the place
of the component is a range of events; a binary search finds its first one, and the conditions
across events are tested from there on, with the registers that the match fills.
"""

from __future__ import annotations

from cepheid.codegen.layout import STEP, UPDATE
from cepheid.engines.base.kernels.registers import fill_registers
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate


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
        I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S, array_of(STEP), array_of(UPDATE), I64S,
        I64S_2D, F64S_2D, I64S, I64S, I64S, I64S, I64, I64, I64,
    )
)  # fmt: skip
def find_violated(
    lower, upper, tags, begins, match_partitions, firsts, lasts, violated, steps, updates, columns,
    ints, floats, valid, events, partitions, axis, window, predicate, context,
):  # fmt: skip
    """Set ``violated[m]`` for every match m that one of the events violates.

    The events, with their partitions and places on the axis of the window, are in the order of
    partition and stream. Those after ``lower[m]`` and before ``upper[m]`` can violate match m;
    ``firsts`` and ``lasts`` are the places on the axis of the first and the last event of each
    match. ``predicate`` is the address of the conditions across events, or 0; for it the
    registers of a match are filled from ``columns``, in which ``tags`` number its events.
    """
    count = 0
    for m in range(len(violated)):
        partition = match_partitions[m]
        if violated[m] != 0 or partition < 0:
            continue
        place = _first_after(partitions, events, partition, lower[m])
        high = _first_after(partitions, events, partition, upper[m] - 1)
        place = _first_within(axis, place, high, lasts[m], window)
        filled = False
        while place < high and axis[place] - firsts[m] < window:
            if predicate != 0 and not filled:
                fill_registers(
                    tags, begins[m], begins[m + 1], 0, steps, updates, columns, ints,
                    floats, valid,
                )  # fmt: skip
                filled = True
            if predicate == 0 or call_predicate(predicate, 0, context, place, 0):
                violated[m] = 1
                count += 1
                break
            place += 1
    return count
