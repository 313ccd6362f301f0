"""The output mode ``non_overlapping``: each match starts after the previous one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.modes.mode import Chooser, CompletedMatches, OutputMode
from cepheid.snapshot_checks import check_arrays, expected

if TYPE_CHECKING:
    from cepheid.matches.bindings import Bindings
    from cepheid.reference.definition import Match
    from cepheid.snapshots import Arrays

_NEVER = np.iinfo(np.int64).min


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
        kept = numbers[: len(self._last_ticks)] >= 0
        self._last_ticks = self._last_ticks[: len(kept)][kept]
        self._last_positions = self._last_positions[: len(kept)][kept]

    def choose(self, completed: CompletedMatches) -> Bindings:
        """The matches that do not overlap."""
        # Imported on first use because it takes a while to compile.
        from cepheid.matches.kernels.non_overlapping import choose_non_overlapping

        matches, partition = completed.matches, completed.partition_of
        never = np.full(max(completed.partitions - len(self._last_ticks), 0), _NEVER)
        self._last_ticks = np.concatenate([self._last_ticks, never])
        self._last_positions = np.concatenate([self._last_positions, never])
        keys = np.stack([matches.ends, matches.completion_positions, partition])
        order = np.lexsort(keys[::-1])
        first = matches.first_events().astype(np.int64, copy=False)
        firsts = np.stack([matches.starts, first])
        rows = matches.rows()
        chosen = np.empty(len(matches), dtype=np.int64)
        count = choose_non_overlapping(
            keys, firsts, order, *rows, self._last_ticks, self._last_positions, chosen
        )
        return matches.pick(chosen[:count])


def _definition(query: ast.Query, matches: list[Match]) -> list[Match]:
    from cepheid.reference.definition import non_overlapping

    return non_overlapping(query, matches)


NON_OVERLAPPING = OutputMode(
    "non_overlapping",
    "matches that each start after the previous match of their partition has ended",
    make_chooser=NonOverlapping,
    definition=_definition,
    can_prune=True,
)
