"""The best match of each group, and state that is kept for each partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.events.arrays import Int64s
from cepheid.matches.bindings import Bindings
from cepheid.matches.positions import Bools, ListPositions

NEVER = int(np.iinfo(np.int64).min)
"""The state of a partition without any."""


def best_of_groups(matches: Bindings, groups: Sequence[Int64s], ranks: Sequence[Int64s]) -> Int64s:
    """The index of the best match of each group, in the order of the groups.

    Matches of a group have equal numbers in all of ``groups``. The best one has the least rank;
    ranks are compared one after the other, and at last the positions in pattern order.
    """
    keys = (*groups, *ranks)
    order = np.lexsort(keys[::-1])
    begins = _differ(groups, order)
    ties = begins | _differ(ranks, order)
    group = np.cumsum(begins)
    leads = np.zeros(len(order) + 1, dtype=np.int64)
    leads[group[begins]] = np.cumsum(ties)[begins]
    best: Int64s = order[np.cumsum(ties) == leads[group]]
    if len(best) == np.count_nonzero(begins):
        return best
    # Imported on first use because it takes a while to compile.
    from cepheid.matches.kernels.choosing import choose_smallest

    tied = group[np.cumsum(ties) == leads[group]]
    chosen = np.empty(len(best), dtype=np.int64)
    count = choose_smallest(tied, *matches.pick(best).rows(), chosen)
    smallest: Int64s = best[chosen[:count]]
    return smallest


def _differ(keys: Sequence[Int64s], order: Int64s) -> Bools:
    """Whether each match, in this order, differs from the one before."""
    found = np.zeros(len(order), dtype=np.bool_)
    found[:1] = True
    for key in keys:
        sorted_ = key[order]
        found[1:] |= sorted_[1:] != sorted_[:-1]
    return found


def sizes(matches: Bindings) -> Int64s:
    """The number of events of each match."""
    found = np.zeros(len(matches), dtype=np.int64)
    for column in matches.variables.values():
        found += column.lengths if isinstance(column, ListPositions) else ~column.absent
    return found


def firsts(matches: Bindings) -> Int64s:
    """The position of the first event of each match."""
    return matches.first_events().astype(np.int64, copy=False)


def with_partitions(state: Int64s, count: int) -> Int64s:
    """The state of partitions, with room for this many."""
    return np.concatenate([state, np.full(max(count - len(state), 0), NEVER, dtype=np.int64)])


def kept_partitions(state: Int64s, numbers: Int64s) -> Int64s:
    """The state without that of the partitions with number -1; the others keep their order."""
    kept = numbers[: len(state)] >= 0
    return state[: len(kept)][kept]
