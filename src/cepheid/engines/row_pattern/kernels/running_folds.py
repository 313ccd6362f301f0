"""The loops over the rows of matches that aggregates need."""

from __future__ import annotations

import numpy as np
from numba import types

from cepheid.engines.row_pattern.kernels.matched_rows import carried
from cepheid.engines.row_pattern.layout import (
    FOLD_COUNT,
    FOLD_DEVIATIONS,
    FOLD_MAX,
    FOLD_MIN,
    FOLD_SUM,
    FOLD_TOTAL,
)
from cepheid.jit.decorators import F64S, I32S, I64, I64S, array_of, helper, kernel

_OUT = types.Tuple((I64S, F64S, I64S, I64S))


@kernel(I64(I64S, F64S, array_of(np.bool_), I64S, I64, _OUT))
def fold_labels(ints, floats, use, ends, operation, out):
    """Write the fold of each match up to each of its labels; one of ``ints`` and ``floats``."""
    wholes, reals, extras, counts = out
    is_float = len(ints) == 0
    begin = 0
    for match in range(len(ends)):
        whole, real, extra, count, mean = 0, 0.0, 0, 0, 0.0
        for at in range(begin, ends[match]):
            if use[at]:
                count += 1
                if operation != FOLD_COUNT:
                    x = 0 if is_float else ints[at]
                    y = floats[at] if is_float else float(x)
                    if operation == FOLD_SUM and not is_float:
                        extra += carried(whole, x)
                        whole += x
                    elif operation == FOLD_SUM or operation == FOLD_TOTAL:
                        real = y if count == 1 else real + y
                    elif operation == FOLD_DEVIATIONS:
                        before = y if count == 1 else mean
                        mean = before + (y - before) / count
                        real += (y - before) * (y - mean)
                    elif (
                        count == 1
                        or (
                            operation == FOLD_MIN
                            and (y < floats[whole] if is_float else x < ints[whole])
                        )
                        or (
                            operation == FOLD_MAX
                            and (y > floats[whole] if is_float else x > ints[whole])
                        )
                    ):
                        whole = at
            wholes[at], reals[at], extras[at], counts[at] = whole, real, extra, count
        begin = ends[match]
    return 0


@kernel(I64(I32S, array_of(np.bool_), I64S, I64S))
def use_first(codes, use, ends, last_match):
    """Of the labels of a match with the same code, use the first.

    ``last_match`` has a place for each code, in which there is no match at first.
    """
    begin = 0
    for match in range(len(ends)):
        for at in range(begin, ends[match]):
            if use[at]:
                use[at] = last_match[codes[at]] != match
                last_match[codes[at]] = match
        begin = ends[match]
    return 0


@helper
def _count_rank(counts, rank, change):
    """Count one rank more or less; ``counts`` is a binary indexed tree."""
    place = rank + 1
    while place < len(counts):
        counts[place] += change
        place += place & -place


@helper
def _nth_rank(counts, nth):
    """The rank that is the n-th of those counted, from 0; the tree has 2^k places and one."""
    place, step = 0, (len(counts) - 1) >> 1
    while step:
        if counts[place + step] <= nth:
            place += step
            nth -= counts[place]
        step >>= 1
    return place


@kernel(I64(I64S, array_of(np.bool_), I64S, I64S, types.Tuple((I64S, I64S, I64S))))
def middle_ranks(ranks, use, ends, tree, out):
    """Write the two middle ranks of each match up to each of its labels, and how many are used.

    ``tree`` has one place more than a power of two, which is greater than every rank; it is 0.
    """
    lower, upper, counts = out
    begin = 0
    for match in range(len(ends)):
        count = 0
        for at in range(begin, ends[match]):
            if use[at]:
                _count_rank(tree, ranks[at], 1)
                count += 1
            counts[at] = count
            if count:
                lower[at] = _nth_rank(tree, (count - 1) >> 1)
                upper[at] = _nth_rank(tree, count >> 1)
        for at in range(begin, ends[match]):
            if use[at]:
                _count_rank(tree, ranks[at], -1)
        begin = ends[match]
    return 0
