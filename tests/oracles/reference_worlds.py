"""What a query means where times are uncertain: every possible world, one after another.

An event has one of several times, independently of the others. Each choice of a time for every
event is a possible world; in it the query has the matches that the reference finds.
A signature, the events of a match in the order of the pattern, is reported with the tightest
range of time that covers its matches, and its confidence: the probability of the worlds in
which it is a match [Zhang10 §3.3]. There are exponentially many worlds: this is for tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise, product
from math import prod
from typing import Any

from cepheid.language import syntax as ast
from cepheid.reference.definition import Evaluation, find
from cepheid.reference.interpreter import Binding, Event, list_of


@dataclass(frozen=True, slots=True)
class UncertainEvent:
    """An event and the probability of each time that it can have."""

    type: str
    times: Mapping[int, Fraction]
    values: Mapping[str, Any]

    @classmethod
    def uniform(
        cls, type: str, lower: int, upper: int, values: Mapping[str, Any] | None = None
    ) -> UncertainEvent:
        """An event at any instant from ``lower`` to ``upper``, all of them equally likely."""
        share = Fraction(1, upper - lower + 1)
        return cls(type, dict.fromkeys(range(lower, upper + 1), share), values or {})


Signature = tuple[tuple[str, tuple[int, ...]], ...]
"""The events of each variable, as positions among the uncertain events."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The first and the last time of a signature in any world, and its confidence."""

    start: int
    end: int
    confidence: Fraction


def evaluate_worlds(
    query: ast.Query, events: Sequence[UncertainEvent], window: int | None = None
) -> dict[Signature, Answer]:
    """The answer for every signature that is a match in some world.

    >>> from cepheid.language.parser import parse
    >>> events = [
    ...     UncertainEvent.uniform("A", 1, 5),
    ...     UncertainEvent.uniform("C", 3, 5),
    ...     UncertainEvent.uniform("B", 3, 7),
    ...     UncertainEvent.uniform("C", 4, 6),
    ... ]
    >>> answers = evaluate_worlds(parse("PATTERN SEQ(A a, B b, C c) WITHIN 4"), events, 4)
    >>> for signature, answer in answers.items():
    ...     print(signature, answer.start, answer.end, answer.confidence * 225)
    (('a', (0,)), ('b', (2,)), ('c', (1,))) 1 5 15
    (('a', (0,)), ('b', (2,)), ('c', (3,))) 1 6 24
    """
    answers: dict[Signature, Answer] = {}
    for times, probability in _worlds(events):
        for signature, start, end in _matches(query, events, times, window):
            known = answers.get(signature)
            answers[signature] = Answer(
                min(known.start, start) if known else start,
                max(known.end, end) if known else end,
                (known.confidence if known else 0) + probability,
            )
    return dict(sorted(answers.items()))


def _worlds(events: Sequence[UncertainEvent]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """The times of all events in each world that is possible, and its probability."""
    choices = [[pair for pair in event.times.items() if pair[1]] for event in events]
    for world in product(*choices):
        yield (
            tuple(time for time, _ in world),
            prod((share for _, share in world), start=Fraction(1)),
        )


def _matches(
    query: ast.Query, events: Sequence[UncertainEvent], times: Sequence[int], window: int | None
) -> set[tuple[Signature, int, int]]:
    """The signatures that are matches in one world, with the first and the last time of each."""
    order = sorted(range(len(events)), key=lambda number: times[number])
    place_of_time: dict[int, int] = {}
    for place, number in enumerate(order):
        place_of_time.setdefault(times[number], place)
    # Events of one instant share the first place of it, so that none is before another.
    world = [
        Event(place_of_time[times[n]], times[n], events[n].type, events[n].values) for n in order
    ]
    number_of = {id(event): number for event, number in zip(world, order, strict=True)}
    found = set()
    for match in find(query, world, window, _World):
        ticks = [event.ticks for event in match.events()]
        signature = tuple(
            (name, tuple(number_of[id(event)] for event in _listed(bound)))
            for name, bound in sorted(match.binding.items())
        )
        found.add((signature, ticks[0], ticks[-1]))
    return found


class _World(Evaluation):
    """A possible world: events of the same instant do not follow one another."""

    def _within_reach(self, binding: Binding, after: int = -1) -> Sequence[Event]:
        near = super()._within_reach(binding, after)
        return [event for event in near if event.position > after]

    def _wait(self, index: int, binding: Binding, position: int) -> Iterator[Binding]:
        """Of several that can be next at the earliest instant, each is taken by a run."""
        component = self.flat.positives[index]
        earliest: int | None = None
        for event in self._within_reach(binding, position):
            if earliest is not None and event.ticks > earliest:
                return
            if self._may_take(component, {**binding, component.variable: event}, event):
                earliest = event.ticks
                yield from self._begin(index, binding, event)

    def _take(self, index: int, binding: Binding, event: Event) -> Iterator[Binding]:
        """Of several that a list can take at an instant, each is taken by a run."""
        component = self.flat.positives[index]
        if component.bounds is None:
            yield from super()._take(index, binding, event)
            return
        if not (self._may_take(component, binding, event) and self._is_near(binding)):
            return
        is_last = index + 1 == len(self.flat.positives)
        least, most = component.bounds.least, component.bounds.most
        taken = list_of(binding, component.variable)
        if is_last and len(taken) >= least and self._satisfied(binding):
            yield binding
        if len(taken) == most:
            if not is_last:
                yield from self._wait(index + 1, binding, event.position)
            return
        later = self._within_reach(binding, event.position)
        for _, together in groupby(later, key=lambda event: event.ticks):
            instant = list(together)
            if not is_last and len(taken) >= least:
                for other in instant:
                    yield from self._begin(index + 1, binding, other)
            longer = [
                ({**binding, component.variable: [*taken, other]}, other) for other in instant
            ]
            some = [each for each in longer if self._may_take(component, *each)]
            for each in some:
                yield from self._take(index, *each)
            if some:
                return

    def _contiguous(self, events: list[Event]) -> bool:
        """Nothing may be at an instant between those of two events."""
        if self.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
            return not any(self._between(a.position + 1, b.position) for a, b in pairwise(events))
        return super()._contiguous(events)


def _listed(bound: Event | list[Event]) -> list[Event]:
    return bound if isinstance(bound, list) else [bound]
