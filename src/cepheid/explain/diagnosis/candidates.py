"""Finds the events that could have been the next event of a run: by type, place, window and key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.model import Alternative, NegatedComponent
from cepheid.analysis.names import variables_in
from cepheid.analysis.placement import indices_in
from cepheid.events.arrays import Int64s
from cepheid.explain.diagnosis.failures import agreed_value
from cepheid.explain.diagnosis.stream import (
    Positions,
    Stream,
    all_positions,
    bound_events,
    positions_of,
)
from cepheid.language import syntax as ast
from cepheid.reference.interpreter import Event, Interpreter
from cepheid.schema import Kind

MOST_INSIDE = 100
"""The number of events in the window that are examined for a run."""
MOST_OTHERS = 10
"""The number of events after the window, and of another key, that are examined."""
MOST_APART = 1 << 16
"""The number of events that are searched for the next event of a partition."""

_INDEXED = (Kind.INTEGER, Kind.STRING, Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Positions of events in the window of a run, and of some events after it."""

    inside: list[int]
    beyond: list[int]


@dataclass(frozen=True, slots=True)
class Key:
    """An equality that the next event must satisfy: its attribute and the wanted value."""

    attribute: str
    wanted: ast.Expression


def keys_of(component: ast.Component, tests: Sequence[ast.Expression]) -> dict[ast.Expression, Key]:
    """The tests that require one value of an attribute of the component's next event."""
    found: dict[ast.Expression, Key] = {}
    name = component.variable
    for test in tests:
        match test:
            case ast.Equivalence(attribute):
                found[test] = Key(attribute, test)
            case ast.Comparison("=", left, right) if not indices_in([test]).ranges:
                for here, there in ((left, right), (right, left)):
                    named = variables_in(there)
                    if (
                        isinstance(here, ast.Attribute)
                        and here.variable == name
                        and named
                        and name not in named
                    ):
                        found[test] = Key(here.attribute, there)
    return found


class Surroundings:
    """Finds the candidates for runs of one alternative of a query."""

    def __init__(self, stream: Stream, alternative: Alternative) -> None:
        self._stream = stream
        self._components = alternative.components
        self._before = alternative.before

    def candidates(
        self,
        component_ix: int,
        run: Positions,
        keys: Mapping[ast.Expression, Key],
        known: Mapping[int, Event],
    ) -> Candidates:
        """Events of the component's types at its place; ``known`` has the events of the run.

        Events with the wanted keys come first.
        """
        stream = self._stream
        component = self._components[component_ix]
        taken = all_positions(run)
        first, last = 0, len(stream.events)
        for ix, other in enumerate(self._components):
            if ix == component_ix or (ix, component_ix) in self._before:
                first = max(
                    [first, *(position + 1 for position in positions_of(run, other.variable))]
                )
            elif (component_ix, ix) in self._before:
                last = min([last, *positions_of(run, other.variable)])
        low, high = stream.reach(taken[0], taken[-1]) if taken else (first, last)
        low, high = max(low, first), min(high, last)
        some = self._some(component, run, keys, known)
        inside = _between(some, low, high, MOST_INSIDE, taken)
        beyond = _between(some, max(low, high), last, MOST_OTHERS, taken)
        beyond += _between(some, first, low, MOST_OTHERS, taken, latest=True)
        if keys:
            others = _between(stream.of_types(component.types), low, high, MOST_OTHERS, taken)
            inside += [position for position in others if position not in inside]
        if taken and stream.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            here = stream.partition[taken[0]]
            far = [
                position
                for position in inside
                if stream.partition[position] == here and not self._fits(run, position)
            ]
            inside = [position for position in inside if position not in far]
            beyond = far[:MOST_OTHERS]
        return Candidates(inside, beyond)

    def at_negation(
        self,
        negation: NegatedComponent,
        run: Positions,
        keys: Mapping[ast.Expression, Key],
        known: Mapping[int, Event],
    ) -> list[int]:
        """Events of a negated component's types at its place, including events of the match."""
        taken = all_positions(run)
        low, high = self._stream.reach(taken[0], taken[-1])
        for ix in negation.after:
            low = max(
                [low, *(each + 1 for each in positions_of(run, self._components[ix].variable))]
            )
        for ix in negation.before:
            high = min([high, *positions_of(run, self._components[ix].variable)])
        some = self._some(negation.component, run, keys, known)
        found = _between(some, low, high, MOST_INSIDE, ())
        return [position for position in found if self._fits(run, position)]

    def adjacent(self, run: Positions, strategy: ast.SelectionStrategy) -> int | None:
        """The event that must come next under a contiguity strategy, if there is one."""
        taken = all_positions(run)
        after = taken[-1] + 1
        if strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
            return after if after < len(self._stream.events) else None
        partition = self._stream.partition
        same = np.flatnonzero(partition[after : after + MOST_APART] == partition[taken[0]])
        return after + int(same[0]) if len(same) else None

    def _fits(self, run: Positions, position: int) -> bool:
        taken = sorted((*all_positions(run), position))
        return self._stream.fits(taken[0], taken[-1])

    def _some(
        self,
        component: ast.Component,
        run: Positions,
        keys: Mapping[ast.Expression, Key],
        known: Mapping[int, Event],
    ) -> Sequence[int] | Int64s:
        """The events of the component's types, with the wanted key if it is known."""
        same = self._of_same_key(component, run, keys, known)
        return self._stream.of_types(component.types) if same is None else same

    def _of_same_key(
        self,
        component: ast.Component,
        run: Positions,
        keys: Mapping[ast.Expression, Key],
        known: Mapping[int, Event],
    ) -> list[int] | None:
        """The events with the wanted keys, or None if no wanted value is known."""
        if not run or not keys:
            return None
        binding = bound_events(run, known)
        attributes, values = [], []
        for key in keys.values():
            if isinstance(key.wanted, ast.Equivalence):
                value = agreed_value(key.wanted, binding)
            else:
                value = Interpreter(binding, {}).returned(key.wanted)
            if value is not None and self._is_indexed(component, key.attribute, value):
                attributes.append(key.attribute)
                values.append(value)
        if not attributes:
            return None
        return self._stream.with_values(component.types, tuple(attributes), tuple(values))

    def _is_indexed(self, component: ast.Component, attribute: str, value: object) -> bool:
        schema = self._stream.events.schema
        kind = schema.kind(attribute)
        return (
            kind in _INDEXED
            and isinstance(value, str) is (kind is Kind.STRING)
            and all(schema.has_attribute(name, attribute) for name in component.types)
        )


def _between(
    positions: Sequence[int] | Int64s,
    low: int,
    high: int,
    most: int,
    taken: Sequence[int],
    latest: bool = False,
) -> list[int]:
    """The first, or the latest, positions from ``low`` to ``high`` that are not taken."""
    if isinstance(positions, np.ndarray):
        first, last = map(int, np.searchsorted(positions, [low, high]))
    else:
        first, last = bisect_left(positions, low), bisect_left(positions, high)
    room = most + len(taken)
    some = positions[max(first, last - room) : last] if latest else positions[first:last][:room]
    found = [int(position) for position in some if position not in taken]
    return found[-most:] if latest else found[:most]
