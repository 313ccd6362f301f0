"""Rows by partition, and the rows that a window excludes."""

from __future__ import annotations

import numpy as np

from cepheid.jit.decorators import I64, I64S, array_of, kernel


@kernel(I64(I64S, I64S, I64S, I64S))
def group_rows(codes, order, nexts, out):
    """Distribute rows among partitions in the given order.

    ``codes`` are the partitions of rows, and ``nexts`` is where each partition begins in ``out``.
    """
    for at in range(len(order)):
        row = order[at]
        code = codes[row]
        out[nexts[code]] = row
        nexts[code] += 1
    return 0


@kernel(I64(I64S, array_of(np.bool_), I64S, I64, I64S))
def window_ends(times, is_known, offsets, window, out):
    """For each row as the first of a match, the first row that is too late, or has no time."""
    for partition in range(len(offsets) - 1):
        end = offsets[partition]
        for row in range(offsets[partition], offsets[partition + 1]):
            if not is_known[row]:
                out[row] = row
                continue
            end = max(end, row)
            # A difference that does not fit into 64 bits is beyond every window.
            while end < offsets[partition + 1] and is_known[end]:
                past = times[end] - times[row]
                if past < 0 or past >= window:
                    break
                end += 1
            out[row] = end
    return 0


@kernel(I64(array_of(np.bool_), I64, I64S))
def set_bits(truths, bit, masks):
    """Set a bit in the masks of the rows for which a condition is true."""
    for row in range(len(masks)):
        masks[row] |= bit if truths[row] else 0
    return 0
