"""Finds the events that could have been the next event of a run: by type, place, window and key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from cepheid.analysis.model import Alternative, NegatedComponent
from cepheid.events.arrays import Int64s
from cepheid.explain.diagnosis.failures import Tests, wanted_value
from cepheid.explain.diagnosis.stream import Positions, Stream, all_positions, positions_of
from cepheid.language import syntax as ast
from cepheid.schema import Kind

MOST_INSIDE = 100
"""The number of events in the window that are examined for a run."""
MOST_OTHERS = 10
"""The number of events after the window, and of another key, that are examined."""
MOST_APART = 1 << 16
"""The number of events that are searched for the next event of a partition."""

_INDEXED = (Kind.INTEGER, Kind.STRING, Kind.BOOLEAN)


class Surroundings:
    """Finds the candidates for runs of one alternative of a query."""

    def __init__(self, stream: Stream, alternative: Alternative) -> None:
        self._stream = stream
        self._names = [component.variable for component in alternative.components]
        self._before = alternative.before

    def candidates(self, run: Positions, tests: Tests) -> tuple[list[int], list[int]]:
        """Events of the component's types at its place: in the window, and some outside it.

        Events with the wanted keys come first.
        """
        stream, types = self._stream, tests.component.types
        ix = self._names.index(tests.component.variable)
        first, last = self._place(
            run,
            [ix, *(i for i, j in self._before if j == ix)],
            [j for i, j in self._before if i == ix],
        )
        low, high = stream.reach(run)
        low, high = max(low, first), min(high, last)
        taken = all_positions(run)
        wanted = self._with_keys(run, tests)
        inside = _between(wanted, low, high, MOST_INSIDE, taken)
        if tests.keys:
            others = _between(stream.of_types(types), low, high, MOST_OTHERS, taken)
            inside += [position for position in others if position not in inside]
        if stream.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            here = stream.partition[taken[0]]
            far = [
                position
                for position in inside
                if stream.partition[position] == here and not stream.fits(run, position)
            ]
            return [position for position in inside if position not in far], far[:MOST_OTHERS]
        beyond = _between(wanted, max(low, high), last, MOST_OTHERS, taken)
        return inside, beyond + _between(wanted, first, low, MOST_OTHERS, taken, latest=True)

    def at_negation(self, negation: NegatedComponent, run: Positions, tests: Tests) -> list[int]:
        """Events of a negated component's types at its place, including events of the match."""
        wanted = self._with_keys(run, tests)
        if negation.is_inside:
            [around] = negation.after
            chosen = positions_of(run, self._names[around])
            return _between(wanted, chosen[0] + 1, chosen[-1], MOST_INSIDE, chosen)
        first, last = self._place(run, negation.after, negation.before)
        if negation.own_window is not None:
            low, high = self._stream.own_reach(negation.own_window, first - 1, last)
            return _between(wanted, max(low, first), min(high, last), MOST_INSIDE, ())
        low, high = self._stream.reach(run)
        found = _between(wanted, max(low, first), min(high, last), MOST_INSIDE, ())
        return [position for position in found if self._stream.fits(run, position)]

    def adjacent(self, run: Positions, strategy: ast.SelectionStrategy) -> list[int]:
        """The event that must come next under a contiguity strategy, if there is one."""
        taken = all_positions(run)
        after = taken[-1] + 1
        if strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
            return [after] if after < len(self._stream.events) else []
        partition = self._stream.partition
        same = np.flatnonzero(partition[after : after + MOST_APART] == partition[taken[0]])
        return [after + int(position) for position in same[:1]]

    def _place(
        self, run: Positions, after: Iterable[int], before: Iterable[int]
    ) -> tuple[int, int]:
        """The range of positions after all events of some components and before all of others."""
        earlier, later = (
            [position for ix in each for position in positions_of(run, self._names[ix])]
            for each in (after, before)
        )
        return max(earlier, default=-1) + 1, min(later, default=len(self._stream.events))

    def _with_keys(self, run: Positions, tests: Tests) -> Sequence[int] | Int64s:
        """The events of the component's types, with the wanted keys that are known."""
        binding = self._stream.bound(run) if tests.keys else {}
        found = [(name, wanted_value(key, binding)) for name, key in tests.keys.values()]
        types = tests.component.types
        indexed = [key for key in found if self._is_indexed(types, *key)]
        return self._stream.with_values(types, indexed)

    def _is_indexed(self, types: Sequence[str], attribute: str, value: object) -> bool:
        schema = self._stream.events.schema
        kind = schema.kind(attribute)
        return (
            value is not None
            and kind in _INDEXED
            and isinstance(value, str) is (kind is Kind.STRING)
            and attribute in schema.attributes
            and all(schema.has_attribute(name, attribute) for name in types)
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
    first, last = bisect_left(positions, low), bisect_left(positions, high)
    room = most + len(taken)
    some = positions[max(first, last - room) : last] if latest else positions[first:last][:room]
    found = [int(position) for position in some if position not in taken]
    return found[-most:] if latest else found[:most]
