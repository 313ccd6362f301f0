"""A match of the definition, and how matches are told apart and ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.language import syntax as ast
from cepheid.reference.conditions import equivalences_of
from cepheid.reference.interpreter import Binding, Event, all_bound


@dataclass(frozen=True, slots=True)
class Match:
    """A match: its binding, and its end time; or a partial match whose window has passed.

    A match ends with its last event, or at the deadline of its trailing negations.
    """

    binding: dict[str, Event | list[Event]]
    ended: int
    timed_out: bool = False

    @property
    def completed(self) -> tuple[int, int]:
        """The (ticks, position) at which it is complete: its end, and its last event."""
        return self.ended, self.events()[-1].position

    @property
    def waited(self) -> bool:
        """Whether the passage of time completes it, and not its last event."""
        return self.ended > self.events()[-1].ticks

    def events(self) -> list[Event]:
        """The events of the match in stream order."""
        return events_of(self.binding)


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a stream has come: the least time and the least position of a later event.

    Before the first event there is no time. At the end there is no later event.
    """

    now: int | None = None
    count: int = 0
    at_end: bool = False

    def has_passed(self, ticks: int) -> bool:
        """Whether no later event comes before a time."""
        return self.at_end or (self.now is not None and self.now >= ticks)


def events_of(binding: Binding) -> list[Event]:
    """The events of a binding in stream order."""
    return sorted(all_bound(binding), key=lambda event: event.position)


def sort_key(query: ast.Query, match: Match) -> tuple[tuple[int, ...], ...]:
    """The positions of a match in the order of the pattern; they identify the match."""
    key = []
    for name in dict.fromkeys(component.variable for component, _ in ast.components(query.pattern)):
        bound = match.binding.get(name, [])
        key.append(tuple(e.position for e in (bound if isinstance(bound, list) else [bound])))
    return tuple(key)


def partition_of(query: ast.Query, match: Match) -> tuple[Any, ...]:
    """The values of the equivalence tests, which all events of a match share."""
    events = match.events()
    return tuple(_shared_value(events, test.attribute) for test in equivalences_of(query))


def _shared_value(events: list[Event], attribute: str) -> Any:
    return next((event.values[attribute] for event in events if attribute in event.values), None)
