"""The output mode ``non_overlapping``: each match starts after the previous one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.events.arrays import Int64s, int64s
from cepheid.matches.layout import ONE_OF_PARTITION
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches, OutputMode, by_definition
from cepheid.snapshot_checks import check_arrays, expected

if TYPE_CHECKING:
    from cepheid.snapshots import Arrays


class NonOverlapping(Chooser):
    """Takes the matches of each partition in the order of completion, unless they overlap.

    Of the matches of a partition that are complete at the same event, it takes the one with the
    latest first event, then the one with the smallest events in the order of the pattern.
    """

    def __init__(self) -> None:
        # The end of the last match taken, by partition.
        self._last_ticks: Int64s = int64s(0)
        self._last_positions: Int64s = int64s(0)

    def state(self) -> Arrays:
        """The end of the last match of each partition."""
        return {"ticks": self._last_ticks, "positions": self._last_positions}

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        ends = expected(np.int64, "partitions")
        check_arrays(state, {"ticks": ends, "positions": ends})
        self._last_ticks, self._last_positions = state["ticks"], state["positions"]

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Drop the ends of the partitions with number -1; the others keep their order."""
        from cepheid.matches.modes.groups import kept_partitions

        self._last_ticks = kept_partitions(self._last_ticks, numbers)
        self._last_positions = kept_partitions(self._last_positions, numbers)

    def choose(self, completed: CompletedMatches) -> Choice:
        """The matches that do not overlap."""
        # Imported on first use because it takes a while to compile.
        from cepheid.matches.kernels.non_overlapping import choose_non_overlapping
        from cepheid.matches.modes.groups import firsts, with_partitions

        matches, partition = completed.matches, completed.partition_of
        self._last_ticks = with_partitions(self._last_ticks, completed.partitions)
        self._last_positions = with_partitions(self._last_positions, completed.partitions)
        waited = completed.waited.astype(np.int64)
        keys = np.stack([matches.ends, matches.completion_positions, partition, waited])
        order = np.lexsort(keys[2::-1])
        begins = np.stack([matches.starts, firsts(matches)])
        rows = matches.rows()
        chosen = np.empty(len(matches), dtype=np.int64)
        count = choose_non_overlapping(
            keys, begins, order, *rows, self._last_ticks, self._last_positions, chosen
        )
        return Choice(chosen[:count])


NON_OVERLAPPING = OutputMode(
    "non_overlapping",
    "matches that each start after the previous match of their partition has ended",
    make_chooser=NonOverlapping,
    definition=by_definition("non_overlapping"),
    prunes=ONE_OF_PARTITION,
)
