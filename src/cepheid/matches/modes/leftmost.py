"""The output mode ``leftmost``: the longest match of the earliest start, and so on after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.events.arrays import Int64s, int64s
from cepheid.matches.layout import LAST_OF_RUN
from cepheid.matches.modes.longest import longest_of_starts
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches, OutputMode, by_definition
from cepheid.snapshot_checks import check_arrays, expected

if TYPE_CHECKING:
    from cepheid.snapshots import Arrays


class Leftmost(Chooser):
    """Keeps the position of the last event of the last match of each partition."""

    def __init__(self) -> None:
        self._after: Int64s = int64s(0)

    def state(self) -> Arrays:
        """The last event of the last match of each partition."""
        return {"after": self._after}

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        check_arrays(state, {"after": expected(np.int64, "partitions")})
        self._after = state["after"]

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Drop the state of the partitions with number -1."""
        from cepheid.matches.modes.groups import kept_partitions

        self._after = kept_partitions(self._after, numbers)

    def choose(self, completed: CompletedMatches) -> Choice:
        """The leftmost matches of each partition that are decided; later ones wait."""
        # Imported on first use because it takes a while to compile.
        from cepheid.matches.kernels.choosing import choose_leftmost
        from cepheid.matches.modes.groups import firsts, with_partitions

        self._after = with_partitions(self._after, completed.partitions)
        best, live = longest_of_starts(completed.matches, completed.partition_of), completed.live
        matches = completed.matches.pick(best)
        decisions = np.empty(len(best), dtype=np.int64)
        choose_leftmost(
            completed.partition_of[best],
            firsts(matches),
            matches.last_events().astype(np.int64, copy=False),
            completed.closed[best].astype(np.int64),
            int64s(0) if live is None else live.partitions,
            int64s(0) if live is None else live.positions,
            self._after,
            decisions,
        )
        return Choice(best[decisions == 1], best[decisions == 0])


LEFTMOST = OutputMode(
    "leftmost",
    "the longest match of the earliest first event of each partition, then of the earliest first "
    "event after that match, and so on",
    make_chooser=Leftmost,
    definition=by_definition("leftmost"),
    prunes=LAST_OF_RUN,
    waits=True,
)
