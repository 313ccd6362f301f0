"""Matches that several alternatives of a query find: each is reported once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.events.arrays import Int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, joined_bindings, no_matches
from cepheid.matches.kernels.digests import hash_rows
from cepheid.matches.stored import load_matches, store_matches
from cepheid.snapshots import Arrays


def hashes(matches: Bindings) -> tuple[Int64s, Int64s]:
    """Two hashes of each match; equal matches have equal ones."""
    high, low = np.empty(len(matches), np.int64), np.empty(len(matches), np.int64)
    hash_rows(*matches.rows(), high, low)
    return high, low


def without_duplicates(matches: Bindings) -> Bindings:
    """Each match once, at its first completion; in the order of completion."""
    high, low = hashes(matches)
    position, ends = matches.completion_positions, matches.ends
    order = np.lexsort((position, ends, low, high))
    same = (np.diff(high[order]) == 0) & (np.diff(low[order]) == 0)
    first = order[np.concatenate([[True], ~same])] if len(order) else order
    return matches.pick(first[np.lexsort((position[first], ends[first]))])


class ReportedMatches:
    """The reported matches that an alternative with pending matches may find again."""

    def __init__(self, components: Sequence[ast.Component]) -> None:
        self._components = components
        self._reported = no_matches(components)

    def without_reported(self, matches: Bindings, first_number: int) -> Bindings:
        """The matches that were not reported yet, each once.

        All events before ``first_number`` have been evicted, so no match with one of them will
        be found again.
        """
        once = without_duplicates(joined_bindings([self._reported, matches]))
        known = set(_keys(self._reported))
        is_recent = once.first_events() >= first_number
        self._reported = once.pick(np.flatnonzero(is_recent))
        if not known:
            return once
        fresh = [ix for ix, key in enumerate(_keys(once)) if key not in known]
        return once.pick(np.array(fresh, dtype=np.int64))

    def state(self) -> Arrays:
        """The matches as arrays, for a snapshot."""
        return store_matches(self._reported)

    def load(self, state: Arrays, events: range) -> None:
        """Restore the state of a snapshot, which can have these events."""
        self._reported = load_matches(state, self._components, events)


def _keys(matches: Bindings) -> list[tuple[int, int]]:
    high, low = hashes(matches)
    return list(zip(high.tolist(), low.tolist(), strict=True))
