"""The time at which a match is decided, if other events have a say in its confidence."""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import valid_bounds
from cepheid.engines.imprecise.layout import Intervals, Match, Signatures
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel, type_of


@kernel(I64(type_of(Signatures), type_of(Intervals), I64, I64, I64S_2D, I64S))
def decide_matches(signatures, intervals, window, waits, bounds, decided):
    """Write when each match is decided: no event that begins later changes its confidence.

    It is the latest time of its last event, or the end of its latest window if it ``waits``.
    """
    ids, offsets = signatures.ids, signatures.offsets
    lo, hi = bounds[0], bounds[1]
    for m in range(len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        if valid_bounds(match, intervals) == 0:
            decided[m] = intervals.lower[match.tags[0] >> TAG_SHIFT]
        elif waits != 0:
            decided[m] = hi[0] + window - 1
        else:
            decided[m] = hi[len(match.tags) - 1]
    return 0
