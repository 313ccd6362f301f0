"""The output mode ``first``: of the matches with the same first event, the first to complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.events.arrays import Int64s, int64s
from cepheid.matches.layout import FIRST_OF_RUN
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches, OutputMode, by_definition
from cepheid.snapshot_checks import FAR, check_arrays, expected

if TYPE_CHECKING:
    from cepheid.snapshots import Arrays


class First(Chooser):
    """Keeps the positions of the first events of matches that were reported."""

    def __init__(self) -> None:
        self._answered: Int64s = int64s(0)

    def state(self) -> Arrays:
        """The first events of the matches that were reported."""
        return {"answered": self._answered}

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        check_arrays(state, {"answered": expected(np.int64, "starts", each=(0, FAR))})
        self._answered = state["answered"]

    def choose(self, completed: CompletedMatches) -> Choice:
        """The first match of each first event that has no match yet."""
        from cepheid.matches.modes.groups import best_of_groups, firsts

        matches, first = completed.matches, firsts(completed.matches)
        if completed.is_needed is not None:
            self._answered = self._answered[completed.is_needed(self._answered)]
        if len(self._answered):
            fresh = np.flatnonzero(~np.isin(first, self._answered))
            matches, first = matches.pick(fresh), first[fresh]
        else:
            fresh = np.arange(len(matches))
        best = best_of_groups(matches, [first], [matches.ends, matches.completion_positions])
        open_ = best[~completed.closed[fresh[best]]]
        self._answered = np.union1d(self._answered, first[open_])
        return Choice(fresh[best])


FIRST = OutputMode(
    "first",
    "for each first event, the match that completes first",
    make_chooser=First,
    definition=by_definition("first"),
    prunes=FIRST_OF_RUN,
    compares_starts=True,
)
