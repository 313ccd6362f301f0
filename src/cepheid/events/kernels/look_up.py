"""Numbers at given indices of an array that consists of two parts."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, kernel_of_widths


@kernel_of_widths(lambda row, _rows: I64(I64S, I64S, row, I64S))
def look_up(before, after, places, found):
    """Write to ``found`` the number at each index of ``before`` followed by ``after``."""
    first = len(before)
    for ix in range(len(places)):
        place = places[ix]
        found[ix] = before[place] if place < first else after[place - first]
    return 0
