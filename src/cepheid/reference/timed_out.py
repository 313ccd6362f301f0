"""The definition of WITH TIMED OUT, executed: the partial matches that are reported too.

Like :mod:`cepheid.reference.definition`, it is slow and obvious.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.language import syntax as ast
from cepheid.reference.definition import OwnWindows, alternatives
from cepheid.reference.interpreter import Binding, Event
from cepheid.reference.match import Match, events_of, sort_key


class Furthest:
    """For each first event, by its position, the furthest partial match.

    It has the last component bound, then the most events, and is then the smallest in pattern
    order.
    """

    def __init__(self, query: ast.Query) -> None:
        self._query = query
        self._names = [component.variable for component, _ in ast.components(query.pattern)]
        self._ranks: dict[int, Any] = {}
        self.found: dict[int, Binding] = {}

    def add(self, binding: Binding) -> None:
        """Keep a partial match if it is the furthest so far."""
        events = events_of(binding)
        last = max(self._names.index(name) for name in binding)
        rank = (-last, -len(events), sort_key(self._query, Match(dict(binding), 0)))
        first = events[0].position
        if first not in self._ranks or rank < self._ranks[first]:
            self._ranks[first], self.found[first] = rank, binding


def timed_out(binding: Binding, window: int) -> Match:
    """A partial match, which ends with its window."""
    return Match(dict(binding), events_of(binding)[0].ticks + window, timed_out=True)


def all_timed_out(
    query: ast.Query,
    events: Sequence[Event],
    window: int,
    own_windows: OwnWindows,
    matches: Sequence[Match],
) -> list[Match]:
    """The furthest partial matches of the first events that begin none of all matches."""
    furthest = Furthest(query)
    for each in alternatives(query, events, window, own_windows=own_windows):
        each.furthest = furthest
        for _ in each.matches():
            pass
    begun = {match.events()[0].position for match in matches}
    partials = furthest.found.items()
    return [timed_out(binding, window) for first, binding in partials if first not in begun]
