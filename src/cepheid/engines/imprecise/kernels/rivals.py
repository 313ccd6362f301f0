"""The rivals of a match under skip_till_next_match: events that could be next.

For each, its match, its event and the number of the gap in which it must not lie are written.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.drive import DONE
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise.kernels.interval_masses import first_reaching, is_in, valid_bounds
from cepheid.engines.imprecise.layout import NEED_OUTPUT, Batch, Match, Signatures
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel, type_of


@kernel(
    I64(
        type_of(Signatures), type_of(Batch), type_of(Conditions), I64, I64S_2D, I64S, I64S_2D, I64S,
    )
)  # fmt: skip
def find_rivals(signatures, batch, conditions, window, bounds, alive, rivals, at):
    """Write the events that could be taken before one of the match, from match ``at[0]`` on.

    ``alive[m]`` becomes 0 if one is certain to be. ``at[1]`` is the number of rivals written.
    """
    ids, offsets = signatures.ids, signatures.offsets
    candidates = batch.candidates
    lower, upper = batch.intervals.lower, batch.intervals.upper
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        tags = match.tags
        begun = at[1]
        alive[m] = valid_bounds(match, batch.intervals)
        if alive[m] == 0:
            continue
        partition = batch.partition_of[tags[0] >> TAG_SHIFT]
        clear_registers(conditions, 0)
        for j in range(len(tags)):
            if j > 0:
                test = conditions.steps[j].begin
                end = candidates.borders[2 * j, partition + 1]
                place = first_reaching(candidates, 2 * j, partition, lower, lo[j - 1] + 1)
                while place < end and lower[candidates.places[place]] < hi[j]:
                    event = candidates.places[place]
                    place += 1
                    if upper[event] <= lo[j - 1] or is_in(tags, event):
                        continue
                    if not holds(conditions, test, event, 0):
                        continue
                    if lower[event] > hi[j - 1] and upper[event] < lo[j]:
                        alive[m] = 0
                        break
                    if at[1] == rivals.shape[1]:
                        at[0], at[1] = m, begun
                        return NEED_OUTPUT
                    rivals[0, at[1]], rivals[1, at[1]], rivals[2, at[1]] = m, event, j
                    at[1] += 1
                if alive[m] == 0:
                    at[1] = begun
                    break
            select_event(conditions, j, False, tags[j] >> TAG_SHIFT, 0)
    at[0] = len(offsets) - 1
    return DONE
