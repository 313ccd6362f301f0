"""Lists of matches as tags: splitting them by variable, comparing and picking them.

A match is ``ids[offsets[m]:offsets[m + 1]]``, tags of its events in the order of the pattern;
a tag is the event's number times 32 plus the number of its variable.
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel, kernel_of_widths

_VARIABLE = (1 << TAG_SHIFT) - 1


@kernel(I64(I64S, I64S, I64, I64S_2D, I64S_2D, I64S))
def split_variables(ids, offsets, base, positions, counts, totals):
    """Write the events of each variable, match after match, counted from ``base``.

    ``positions[variable]`` gets ``totals[variable]`` events, ``counts[variable, match]`` of
    each match.
    """
    for m in range(len(offsets) - 1):
        at, end = offsets[m], offsets[m + 1]
        while at < end:
            variable = ids[at] & _VARIABLE
            total = totals[variable]
            first = at
            while at < end and ids[at] & _VARIABLE == variable:
                positions[variable, total + at - first] = (ids[at] >> TAG_SHIFT) - base
                at += 1
            counts[variable, m] += at - first
            totals[variable] = total + at - first
    return 0


@kernel_of_widths(lambda _row, rows: I64(rows, I64S_2D, I64, I64S, I64S))
def tag_columns(positions, columns, count, ids, offsets):
    """Write matches that are columns, the events of each component, as tags.

    The events of component c in match m are ``positions[c, columns[c, m]:columns[c, m + 1]]``.
    """
    at = 0
    for m in range(count):
        for component in range(len(columns)):
            for place in range(columns[component, m], columns[component, m + 1]):
                ids[at] = (np.int64(positions[component, place]) << TAG_SHIFT) | component
                at += 1
        offsets[m + 1] = at
    return at


@kernel(I64(I64S, I64S))
def rename_variables(ids, names):
    """Replace the variable of each tag by ``names[variable]``."""
    for at in range(len(ids)):
        tag = ids[at]
        ids[at] = (tag & ~_VARIABLE) | names[tag & _VARIABLE]
    return 0


@kernel(I64(I64S, I64S, I64S, I64S))
def place_tags(ids, places, names, tags):
    """Write the tags with ``places[event]`` and ``names[variable]`` in place of these."""
    for at in range(len(ids)):
        tag = ids[at]
        tags[at] = (places[tag >> TAG_SHIFT] << TAG_SHIFT) | names[tag & _VARIABLE]
    return 0


@kernel(I64(I64S, I64S, I64S, I64S))
def hash_matches(ids, offsets, high, low):
    """Two independent hashes of each match: equal matches have equal ones."""
    for m in range(len(offsets) - 1):
        a, b = 1469598103934665603, 88172645463325252
        for at in range(offsets[m], offsets[m + 1]):
            a = (a ^ ids[at]) * 1099511628211
            a ^= (a >> 31) & 0x1FFFFFFFF
            b = (b + ids[at]) * -7046029254386353131
            b ^= (b >> 29) & 0x7FFFFFFFF
        high[m], low[m] = a, b
    return 0


@kernel(I64(I64S, I64S, I64S, I64S, I64S))
def pick_matches(ids, offsets, chosen, new_ids, new_offsets):
    """Copy the chosen matches, in the order in which they are chosen."""
    at = 0
    for c in range(len(chosen)):
        m = chosen[c]
        for old in range(offsets[m], offsets[m + 1]):
            new_ids[at] = ids[old]
            at += 1
        new_offsets[c + 1] = at
    return at


@kernel(I64(I64S, I64, I64S_2D))
def split_single_variables(ids, base, positions):
    """Fill ``positions[v, m]`` where every match has one event of every variable v."""
    variables = len(positions)
    at = 0
    for m in range(positions.shape[1]):
        for _ in range(variables):
            positions[ids[at] & _VARIABLE, m] = (ids[at] >> TAG_SHIFT) - base
            at += 1
    return 0


@kernel(I64(I64S, I64S, I64, I64S, I64S, I64S, I64S))
def find_ends(ids, offsets, base, ticks, starts, ends, positions):
    """The times of the first and the last event of each match, and the number of the last.

    ``ticks`` are the times of consecutive events from number ``base`` on.
    """
    for m in range(len(starts)):
        last = ids[offsets[m + 1] - 1] >> TAG_SHIFT
        starts[m] = ticks[(ids[offsets[m]] >> TAG_SHIFT) - base]
        ends[m] = ticks[last - base]
        positions[m] = last
    return 0
