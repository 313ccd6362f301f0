"""Linked lists of a snapshot, followed once with care: later kernels follow them without checks."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, kernel

NONE = -1
BROKEN = 1 << 62
"""The length of a chain that leads nowhere: more than any other."""


@kernel(I64(I64S, I64S, I64S, I64S))
def follow_lists(firsts, following, list_of, lengths):
    """Find the list of each row; whether no link is wrong and no row is in two lists.

    List n begins with row ``firsts[n]``, or is empty if that is NONE. ``list_of`` was NONE for each
    row, and ``lengths`` was 0 for each list.
    """
    for number in range(len(firsts)):
        row = firsts[number]
        while row != NONE:
            if row < 0 or row >= len(following) or list_of[row] != NONE:
                return False
            list_of[row] = number
            lengths[number] += 1
            row = following[row]
    return True


@kernel(I64(I64S, I64S))
def measure_chains(previous, lengths):
    """The number of rows of the chain that ends in each row; links lead to earlier rows."""
    for row in range(len(previous)):
        before = previous[row]
        if before == NONE:
            lengths[row] = 1
        elif before < 0 or before >= row or lengths[before] == BROKEN:
            lengths[row] = BROKEN
        else:
            lengths[row] = lengths[before] + 1
    return 0
