"""The output mode ``longest``: for each first event, the match with the most events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.matches.layout import LAST_OF_RUN
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches, OutputMode, by_definition

if TYPE_CHECKING:
    from cepheid.events.arrays import Int64s
    from cepheid.matches.bindings import Bindings


def longest_of_starts(matches: Bindings, *groups: Int64s) -> Int64s:
    """The longest match of each first event so far, in each of these groups."""
    from cepheid.matches.modes.groups import best_of_groups, firsts, sizes

    ranks = (-sizes(matches), -matches.ends, -matches.completion_positions)
    return best_of_groups(matches, (*groups, firsts(matches)), ranks)


class Longest(Chooser):
    """Reports the longest match of a first event when no later match can have this event."""

    def choose(self, completed: CompletedMatches) -> Choice:
        """The longest matches of the first events that are closed; others wait."""
        best = longest_of_starts(completed.matches)
        closed = completed.closed[best]
        return Choice(best[closed], best[~closed])


LONGEST = OutputMode(
    "longest",
    "for each first event, the match with the most events",
    make_chooser=Longest,
    definition=by_definition("longest"),
    prunes=LAST_OF_RUN,
    compares_starts=True,
    waits=True,
)
