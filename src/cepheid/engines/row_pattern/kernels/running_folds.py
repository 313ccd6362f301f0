"""The loop that folds the rows of matches."""

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
from cepheid.jit.decorators import F64S, I64, I64S, array_of, kernel

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
