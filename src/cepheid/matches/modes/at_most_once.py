"""AT MOST ONCE PER a duration: leaves out matches that end too soon after the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.events.arrays import Int64s, int64s
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches
from cepheid.snapshot_checks import FAR, check_arrays, expected

if TYPE_CHECKING:
    from cepheid.snapshots import Arrays


class AtMostOnce(Chooser):
    """Keeps the end of the last match of each partition; ``left_out`` counts the others.

    Here a match is ``closed`` if no match of its partition that completes before it can come.
    """

    def __init__(self, gap: int) -> None:
        self.gap = gap
        self._ends: Int64s = int64s(0)
        self.left_out = 0

    def state(self) -> Arrays:
        """The end of the last match of each partition, and the number of matches left out."""
        return {"ends": self._ends, "left_out": np.array([self.left_out])}

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        left_out = expected(np.int64, 1, each=(0, FAR))
        check_arrays(state, {"ends": expected(np.int64, "partitions"), "left_out": left_out})
        self._ends, self.left_out = state["ends"], int(state["left_out"][0])

    def used_partitions(self, now: int) -> Int64s:
        """For each partition, 1 if its last match can still leave out another at this time."""
        from cepheid.matches.modes.groups import NEVER

        is_used = (self._ends != NEVER) & (self._ends > now - self.gap)
        return np.asarray(is_used, dtype=np.int64)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Drop the state of the partitions with number -1."""
        from cepheid.matches.modes.groups import kept_partitions

        self._ends = kept_partitions(self._ends, numbers)

    def choose(self, completed: CompletedMatches) -> Choice:
        """The matches far enough apart; those that are not closed wait."""
        # Imported on first use because it takes a while to compile.
        from cepheid.matches.kernels.choosing import choose_apart
        from cepheid.matches.modes.groups import best_of_groups, with_partitions

        closed = np.flatnonzero(completed.closed)
        matches, partition = completed.matches.pick(closed), completed.partition_of[closed]
        self._ends = with_partitions(self._ends, completed.partitions)
        # Of matches that complete together only the smallest can be reported.
        keys = (partition, matches.ends, matches.completion_positions)
        best = best_of_groups(matches, keys, ())
        chosen = np.empty(len(best), dtype=np.int64)
        ends = matches.ends[best]
        count = choose_apart(partition[best], ends, self.gap, self._ends, chosen)
        self.left_out += len(closed) - count
        return Choice(closed[best[chosen[:count]]], np.flatnonzero(~completed.closed))
