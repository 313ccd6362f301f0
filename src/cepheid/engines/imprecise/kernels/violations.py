"""The rivals of a match if a component is negated: events that violate it.

For each, its match, its event and the number of the gap in which it must not lie are written.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.drive import DONE
from cepheid.engines.base.kernels.conditions import Conditions, holds, select_match
from cepheid.engines.imprecise.kernels.interval_masses import first_reaching, is_in, valid_bounds
from cepheid.engines.imprecise.layout import NEED_OUTPUT, Batch, Gap, Match, Signatures
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel, type_of

_COMPONENT = (1 << TAG_SHIFT) - 1


@kernel(
    I64(
        type_of(Signatures), type_of(Batch), type_of(Conditions), I64, type_of(Gap), I64S_2D,
        I64S_2D, I64S,
    )
)  # fmt: skip
def find_violating(signatures, batch, conditions, window, gap, bounds, rivals, at):
    """Write the events that can violate a negated component, from match ``at[0]`` on.

    The candidates of the batch are those of the negated component. ``at[1]`` is the number of
    rivals written.
    """
    ids, offsets = signatures.ids, signatures.offsets
    candidates = batch.candidates
    lower, upper = batch.intervals.lower, batch.intervals.upper
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        match = Match(ids[low:high], lo, hi, window)
        tags = match.tags
        begun = at[1]
        if valid_bounds(match, batch.intervals) == 0:
            continue
        last = high - low - 1
        if gap.after < 0:
            begin, end = lo[last] - window, hi[0]
        elif gap.before < 0:
            begin, end = lo[last], hi[0] + window
        else:
            place = 0
            while (tags[place] & _COMPONENT) <= gap.after:
                place += 1
            begin, end = lo[place - 1], hi[place]
        partition = batch.partition_of[tags[0] >> TAG_SHIFT]
        stop = candidates.borders[0, partition + 1]
        cursor = first_reaching(candidates, 0, partition, lower, begin + 1)
        filled = False
        while cursor < stop and lower[candidates.places[cursor]] < end:
            event = candidates.places[cursor]
            cursor += 1
            if upper[event] <= begin or is_in(tags, event):
                continue
            if conditions.predicate != 0:
                if not filled:
                    select_match(conditions, ids, low, high)
                    filled = True
                if not holds(conditions, 0, event, 0):
                    continue
            if at[1] == rivals.shape[1]:
                at[0], at[1] = m, begun
                return NEED_OUTPUT
            rivals[0, at[1]], rivals[1, at[1]], rivals[2, at[1]] = m, event, gap.number
            at[1] += 1
    at[0] = len(offsets) - 1
    return DONE
