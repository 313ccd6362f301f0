"""Rows by partition, and the rows that a window excludes."""

from __future__ import annotations

import numpy as np

from cepheid.jit.decorators import I32S, I64, I64S, array_of, kernel


@kernel(I64(I64S, array_of(np.bool_), I64, I32S, I32S))
def number_values(values, is_known, least, numbers, codes):
    """Number values in the order in which they first occur, and return how many there are.

    ``numbers`` has the number of each value from ``least``, after that of null; it is -1 for a
    value that has not occurred. ``is_known`` is empty if there are no nulls.
    """
    count = 0
    for row in range(len(values)):
        place = values[row] - least + 1
        if len(is_known) and not is_known[row]:
            place = 0
        if numbers[place] < 0:
            numbers[place] = count
            count += 1
        codes[row] = numbers[place]
    return count


@kernel(I64(I32S, I64S))
def count_codes(codes, counts):
    """Count the rows of each partition."""
    for row in range(len(codes)):
        counts[codes[row]] += 1
    return 0


@kernel(I64(I32S, I64S, I64S, I64, I64S))
def group_coarsely(codes, order, nexts, shift, out):
    """Distribute rows among groups of partitions, in the given order.

    ``codes`` are the partitions of rows, and those of a group differ in their last bits. What is
    written is a row with its partition in the upper half. ``nexts`` is where each group begins in
    ``out``. An empty ``order`` is that of the rows.
    """
    for at in range(len(codes)):
        row = order[at] if len(order) else at
        code = np.int64(codes[row])
        group = code >> shift
        out[nexts[group]] = code << 32 | row
        nexts[group] += 1
    return 0


@kernel(I64(I64S, I64S, I64S))
def group_rows(coded, nexts, out):
    """Distribute rows among partitions; ``coded`` is what :func:`group_coarsely` writes.

    ``nexts`` is where each partition begins in ``out``. As the partitions of a group are together,
    what is written remains in the cache.
    """
    for at in range(len(coded)):
        code = coded[at] >> 32
        out[nexts[code]] = coded[at] & 0xFFFFFFFF
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
