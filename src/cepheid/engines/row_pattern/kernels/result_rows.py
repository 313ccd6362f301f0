"""The rows of the result from the labels of matches."""

from __future__ import annotations

import numpy as np

from cepheid.engines.row_pattern.layout import EXCLUDED
from cepheid.jit.decorators import I64, I64S, array_of, kernel


@kernel(I64(I64S, I64S, array_of(np.uint8), I64, I64S, I64S, I64S))
def write_rows(starts, ends, labels, shows_empty, rows, matches, seen):
    """Write the row, the match and the place in it of all rows that are not excluded.

    An empty match has one row if ``shows_empty``. Returns how many rows there are.
    """
    count, begin = 0, 0
    for match in range(len(starts)):
        if ends[match] == begin and shows_empty != 0:
            rows[count], matches[count], seen[count] = starts[match], match, 0
            count += 1
        for label in range(begin, ends[match]):
            if labels[label] & EXCLUDED == 0:
                place = label - begin
                rows[count], matches[count], seen[count] = starts[match] + place, match, place + 1
                count += 1
        begin = ends[match]
    return count
