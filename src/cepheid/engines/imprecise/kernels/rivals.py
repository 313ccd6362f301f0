"""The rivals of a match under skip_till_next_match: events that could be next.

What is written for each is the match, the event, and the number of the gap in which it must not
lie.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.imprecise.kernels.interval_masses import first_from, is_in, valid_bounds
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, kernel
from cepheid.jit.pointers import call_predicate


@kernel(
    I64(
        I64S, I64S, I64S, I64S, I64S, I64, I64S, I64S_2D, I64S, array_of(STEP), array_of(UPDATE),
        I64S, I64S_2D, F64S_2D, I64S, I64, I64, I64S_2D, I64S, I64S_2D, I64S,
    )
)  # fmt: skip
def find_rivals(
    ids, offsets, lower, upper, partition_of, window, candidates, index, reach, steps, updates,
    context, ints, floats, valid, predicate, context_address, bounds, alive, rivals, at,
):  # fmt: skip
    """Write those that could be taken before an event of the match, from match ``at[0]`` on.

    ``alive[m]`` becomes 0 where one is sure to. Returns 0 when the room for rivals is used up;
    ``at[1]`` is how many were written.
    """
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        begun = at[1]
        alive[m] = valid_bounds(ids, low, high, lower, upper, window, lo, hi)
        if alive[m] == 0:
            continue
        partition = partition_of[ids[low] >> TAG_SHIFT]
        valid[0] = 0
        for j in range(high - low):
            step = steps[j]
            if j > 0:
                row, end = 2 * j, index[2 * j, partition + 1]
                place = first_from(
                    candidates, index[row, partition], end, lower, lo[j - 1] + 1 - reach[row]
                )
                while place < end and lower[candidates[place]] < hi[j]:
                    event = candidates[place]
                    place += 1
                    if upper[event] <= lo[j - 1] or is_in(ids, low, high, event):
                        continue
                    if (
                        step.begin != NONE
                        and call_predicate(predicate, step.begin, context_address, event, 0) == 0
                    ):
                        continue
                    if lower[event] > hi[j - 1] and upper[event] < lo[j]:
                        alive[m] = 0
                        break
                    if at[1] == rivals.shape[1]:
                        at[0], at[1] = m, begun
                        return 0
                    rivals[0, at[1]], rivals[1, at[1]], rivals[2, at[1]] = m, event, j
                    at[1] += 1
                if alive[m] == 0:
                    at[1] = begun
                    break
            update_registers(
                updates, step.begin_low, step.begin_high, context, ids[low + j] >> TAG_SHIFT, 0,
                ints, floats, valid,
            )  # fmt: skip
    at[0] = len(offsets) - 1
    return 1
