"""When matches are decided, in whose confidence other events have a say."""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import valid_bounds
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel


@kernel(I64(I64S, I64S, I64S, I64S, I64, I64, I64S_2D, I64S))
def decide_matches(ids, offsets, lower, upper, window, waits, bounds, decided):
    """Write when each match is decided: no event that begins later changes its confidence.

    It is the latest time of its last event, or the end of its latest window where it ``waits``.
    """
    lo, hi = bounds[0], bounds[1]
    for m in range(len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        if valid_bounds(ids, low, high, lower, upper, window, lo, hi) == 0:
            decided[m] = lower[ids[low] >> TAG_SHIFT]
        elif waits != 0:
            decided[m] = hi[0] + window - 1
        else:
            decided[m] = hi[high - low - 1]
    return 0
