"""The rivals of a match where a component is negated: events that violate it.

What is written for each is the match, the event, and the number of the gap in which it must not
lie.
"""

from __future__ import annotations

from cepheid.codegen.layout import STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import fill_registers
from cepheid.engines.imprecise.kernels.interval_masses import first_from, is_in, valid_bounds
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, kernel
from cepheid.jit.pointers import call_predicate

_COMPONENT = (1 << TAG_SHIFT) - 1


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, I64, I64S, I64S, I64, array_of(STEP), array_of(UPDATE), I64S,
        I64S_2D, F64S_2D, I64S, I64, I64, I64, I64, I64, I64S_2D, I64S_2D, I64S,
    )
)  # fmt: skip
def find_violating(
    ids, offsets, lower, upper, partition_of, window, candidates, index, reach, steps, updates,
    context, ints, floats, valid, predicate, context_address, gap, after, before, bounds, rivals,
    at,
):  # fmt: skip
    """Write the events that can violate a negated component, from match ``at[0]`` on.

    Its place is after component ``after`` and before ``before``, negative for none;
    ``predicate`` is the address of the conditions across events, or 0. Returns 0 when the room
    for rivals is used up; ``at[1]`` is how many were written.
    """
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        begun = at[1]
        if valid_bounds(ids, low, high, lower, upper, window, lo, hi) == 0:
            continue
        last = high - low - 1
        if after < 0:
            begin, end = lo[last] - window, hi[0]
        elif before < 0:
            begin, end = lo[last], hi[0] + window
        else:
            place = 0
            while (ids[low + place] & _COMPONENT) <= after:
                place += 1
            begin, end = lo[place - 1], hi[place]
        partition = partition_of[ids[low] >> TAG_SHIFT]
        stop = index[partition + 1]
        at_candidate = first_from(candidates, index[partition], stop, lower, begin + 1 - reach)
        filled = False
        while at_candidate < stop and lower[candidates[at_candidate]] < end:
            event = candidates[at_candidate]
            at_candidate += 1
            if upper[event] <= begin or is_in(ids, low, high, event):
                continue
            if predicate != 0:
                if not filled:
                    fill_registers(ids, low, high, 0, steps, updates, context, ints, floats, valid)
                    filled = True
                if call_predicate(predicate, 0, context_address, event, 0) == 0:
                    continue
            if at[1] == rivals.shape[1]:
                at[0], at[1] = m, begun
                return 0
            rivals[0, at[1]], rivals[1, at[1]], rivals[2, at[1]] = m, event, gap
            at[1] += 1
    at[0] = len(offsets) - 1
    return 1
