"""Matches as columns: for each variable the positions of the events that it is bound to.

Engines yield matches in this form, sessions filter and order them in it, and results, projections
and sinks read it. While a session works on them, positions count from the beginning of the
stream; in a result they are places in the events that the session retains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, PositionArray
from cepheid.language import syntax as ast
from cepheid.matches.positions import (
    ABSENT,
    Bools,
    Column,
    ListPositions,
    SinglePositions,
    absent_column,
    greatest,
    least,
    offsets_of,
    places_in_rows,
)

WINDOW_END = -1
"""In place of a position: a match is complete only when its window ends."""


@dataclass(frozen=True, eq=False)
class MatchTimes:
    """When each match starts and ends, in ticks; looked up on first use.

    ``span`` is an interval that contains all of these times, if one is known.

    >>> times = MatchTimes(lambda: np.array([3]), lambda: np.array([5]))
    >>> times.ends.tolist()
    [5]
    """

    look_up_starts: Callable[[], Int64s]
    look_up_ends: Callable[[], Int64s]
    span: tuple[int, int] | None = None

    def start_in(self, low: float, high: float) -> Bools | None:
        """Which matches start at ``low`` or later and before ``high``; None if all do.

        >>> MatchTimes.of(np.array([3, 8]), np.array([9, 9])).start_in(5, 9).tolist()
        [False, True]
        """
        if self.span is not None and low <= self.span[0] and self.span[1] < high:
            return None
        are_in: Bools = (self.starts >= low) & (self.starts < high)
        return None if are_in.all() else are_in

    @cached_property
    def starts(self) -> Int64s:
        """When each match starts."""
        return self.look_up_starts()

    @cached_property
    def ends(self) -> Int64s:
        """When each match ends."""
        return self.look_up_ends()

    @classmethod
    def of(cls, starts: Int64s, ends: Int64s) -> MatchTimes:
        """Known times."""
        return cls(lambda: starts, lambda: ends)


@dataclass(frozen=True, slots=True, eq=False)
class Bindings:
    """The matches of a query, or of one of its alternatives, over a stream.

    ``known_times`` is None in the blocks that engines yield: engines do not know times.
    ``completed_at`` is the position of the last event of each match; a match completes at its end
    and this position. Only a session that has to order matches by completion sets it.
    ``confidences`` are set if the times of events are uncertain. ``timed_out`` is set if partial
    matches are reported too. ``in_order`` means that all events
    of a variable come before all events of the next one, and that no variable is absent.
    """

    variables: Mapping[str, Column]
    count: int
    known_times: MatchTimes | None = None
    completed_at: Int64s | None = None
    confidences: npt.NDArray[np.float64] | None = None
    in_order: bool = False
    timed_out: Bools | None = None

    @classmethod
    def of_columns(
        cls,
        positions: PositionArray,
        offsets: Int64s | None,
        count: int,
        components: Sequence[ast.Component],
    ) -> Bindings:
        """The matches that a kernel has written as the events of each component.

        The events of component c in match m are ``positions[c, offsets[c, m]:offsets[c, m + 1]]``,
        or ``positions[c, m]`` if there are no offsets.
        """
        columns: dict[str, Column] = {}
        for ix, component in enumerate(components):
            if offsets is None:
                columns[component.variable] = SinglePositions(positions[ix, :count])
                continue
            begins = offsets[ix, : count + 1]
            flat = positions[ix, : begins[-1]]
            columns[component.variable] = (
                ListPositions(begins, flat) if component.is_kleene else SinglePositions(flat)
            )
        return cls(columns, count)

    @classmethod
    def of_tags(
        cls, tags: Int64s, begins: Int64s, components: Sequence[ast.Component], first_event: int
    ) -> Bindings:
        """The matches that a kernel has written one after the other as the tags of their events.

        A tag is the number of an event times 32, plus the number of its component. Positions
        count from ``first_event``. A component may be absent from a match.
        """
        # Imported here because reading a result needs no compiled code.
        from cepheid.matches.kernels.match_tags import split_by_component, split_singles

        count, has_lists = len(begins) - 1, any(each.is_kleene for each in components)
        if not has_lists and len(tags) == len(components) * count:
            positions = np.empty((len(components), count), dtype=np.int64)
            split_singles(tags, first_event, positions)
            return cls.of_columns(positions, None, count, components)
        lengths = np.zeros((len(components), count), dtype=np.int64)
        # Allocate all events for each component: memory that is not written costs nothing.
        positions = np.empty((len(components), len(tags)), dtype=np.int64)
        totals = np.zeros(len(components), dtype=np.int64)
        split_by_component(tags, begins, first_event, positions, lengths, totals)
        columns: dict[str, Column] = {}
        for ix, component in enumerate(components):
            flat = positions[ix, : totals[ix]]
            if component.is_kleene:
                columns[component.variable] = ListPositions(offsets_of(lengths[ix]), flat)
                continue
            if len(flat) < count:
                bound, flat = flat, np.full(count, ABSENT, dtype=np.int64)
                flat[lengths[ix] > 0] = bound
            columns[component.variable] = SinglePositions(flat)
        return cls(columns, count)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[dict[str, int | list[int]]]:
        return map(self.one, range(self.count))

    def one(self, match_ix: int) -> dict[str, int | list[int]]:
        """The binding of one match, without the variables that it does not have."""
        found = {name: column[match_ix] for name, column in self.variables.items()}
        return {name: bound for name, bound in found.items() if bound is not None}

    @property
    def times(self) -> MatchTimes:
        """When each match starts and ends."""
        assert self.known_times is not None
        return self.known_times

    @property
    def starts(self) -> Int64s:
        """When each match starts, in ticks of the time axis."""
        return self.times.starts

    @property
    def ends(self) -> Int64s:
        """When each match ends, in ticks of the time axis."""
        return self.times.ends

    @property
    def completion_positions(self) -> Int64s:
        """The position at which each match is complete."""
        assert self.completed_at is not None
        return self.completed_at

    @property
    def events(self) -> int:
        """The total number of events in all matches."""
        return sum(len(column.positions) for column in self.variables.values())

    @property
    def nbytes(self) -> int:
        """The memory that the matches keep: all of the arrays that their columns are parts of."""
        owners: dict[int, Any] = {}
        for column in self.variables.values():
            for array in column.arrays:
                owner = array if array.base is None else array.base
                owners[id(owner)] = owner
        # Matches that know when they are complete know their times; others look them up.
        kept = 24 * self.count if self.completed_at is not None else 0
        for owner in owners.values():
            kept += getattr(owner, "nbytes", 0)
        return kept

    def timed(self, times: MatchTimes, in_order: bool) -> Bindings:
        """The block of an engine with times; faster than ``replace``, which copies every field."""
        return Bindings(self.variables, self.count, times, in_order=in_order)

    def first_events(self) -> PositionArray:
        """The position of the first event of each match."""
        columns = list(self.variables.values())
        return columns[0].firsts() if self.in_order else least(c.firsts() for c in columns)

    def last_events(self) -> PositionArray:
        """The position of the last event of each match."""
        columns = list(self.variables.values())
        return columns[-1].lasts() if self.in_order else greatest(c.lasts() for c in columns)

    def slice(self, low: int, high: int) -> Bindings:
        """The matches from ``low`` to ``high``."""
        times, sure, completed = self.known_times, self.confidences, self.completed_at
        if times is not None:
            times = MatchTimes(
                lambda: self.starts[low:high], lambda: self.ends[low:high], times.span
            )
        return Bindings(
            {name: column.slice(low, high) for name, column in self.variables.items()},
            max(min(high, self.count) - low, 0),
            times,
            None if completed is None else completed[low:high],
            None if sure is None else sure[low:high],
            self.in_order,
            None if self.timed_out is None else self.timed_out[low:high],
        )

    def pick(self, chosen: Int64s) -> Bindings:
        """The chosen matches, in this order."""
        times, sure, completed = self.known_times, self.confidences, self.completed_at
        return Bindings(
            {name: column.pick(chosen) for name, column in self.variables.items()},
            len(chosen),
            None if times is None else MatchTimes.of(times.starts[chosen], times.ends[chosen]),
            None if completed is None else completed[chosen],
            None if sure is None else sure[chosen],
            self.in_order,
            None if self.timed_out is None else self.timed_out[chosen],
        )

    def moved(self, move: Callable[[PositionArray], PositionArray]) -> Bindings:
        """The same matches, with ``move`` applied to the positions of their events."""
        columns = {name: column.moved(move) for name, column in self.variables.items()}
        return replace(self, variables=columns)

    def rows(self) -> tuple[Int64s, Int64s]:
        """All matches as rows of numbers, and where each row begins.

        A row has the events of each variable in the order of the pattern, and ABSENT for the end
        of each list and for a single variable that is absent. So equal matches have equal rows,
        and rows compare as matches do: a list comes before its continuations.

        >>> columns = {"a": SinglePositions(np.array([4, 5])),
        ...            "b": ListPositions(np.array([0, 2, 2]), np.array([6, 7]))}
        >>> offsets, numbers = Bindings(columns, 2).rows()
        >>> offsets.tolist(), numbers.tolist()
        ([0, 4, 6], [4, 6, 7, -1, 5, -1])
        """
        columns = list(self.variables.values())
        if all(isinstance(column, SinglePositions) for column in columns):
            offsets = np.arange(self.count + 1, dtype=np.int64) * len(columns)
            table = np.stack([column.positions for column in columns], axis=1)
            return offsets, np.ascontiguousarray(table, dtype=np.int64).reshape(-1)
        lengths = np.full(self.count, len(columns), dtype=np.int64)
        for column in columns:
            if isinstance(column, ListPositions):
                lengths += column.lengths
        offsets = offsets_of(lengths)
        numbers = np.full(int(offsets[-1]), ABSENT, dtype=np.int64)
        at = offsets[:-1].copy()
        for column in columns:
            if isinstance(column, ListPositions):
                numbers[places_in_rows(at, column)] = column.positions
                at += column.lengths
            else:
                numbers[at] = column.positions
            at += 1
        return offsets, numbers


def no_matches(components: Sequence[ast.Component]) -> Bindings:
    """No matches of these components."""
    nothing = np.empty(0, dtype=np.int64)
    columns = {each.variable: absent_column(each, 0) for each in components}
    return Bindings(columns, 0, MatchTimes.of(nothing, nothing), nothing)


def with_variables(matches: Bindings, components: Sequence[ast.Component]) -> Bindings:
    """The matches of an alternative with the variables of the whole pattern, in its order."""
    if [*matches.variables] == [component.variable for component in components]:
        return matches
    columns = {
        each.variable: matches.variables.get(each.variable) or absent_column(each, len(matches))
        for each in components
    }
    return replace(matches, variables=columns, in_order=False)


def joined_bindings(parts: Sequence[Bindings]) -> Bindings:
    """The matches of all parts, concatenated; the parts have the same variables."""
    if len(parts) == 1:
        return parts[0]
    variables: dict[str, Column] = {}
    for name, first in parts[0].variables.items():
        columns = [part.variables[name] for part in parts]
        positions = np.concatenate([column.positions for column in columns])
        if isinstance(first, SinglePositions):
            variables[name] = SinglePositions(positions)
        else:
            lengths = [c.lengths for c in columns if isinstance(c, ListPositions)]
            variables[name] = ListPositions(offsets_of(np.concatenate(lengths)), positions)
    return Bindings(
        variables,
        sum(map(len, parts)),
        MatchTimes.of(
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
        ),
        _joined([part.completed_at for part in parts]),
        _joined([part.confidences for part in parts]),
        all(part.in_order for part in parts),
        _joined([part.timed_out for part in parts]),
    )


def _joined(arrays: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    """The arrays concatenated, or None if one is missing."""
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if len(known) == len(arrays) else None


def bindings_from_rows(
    pattern: ast.Pattern,
    rows: Sequence[Mapping[str, Any]],
    starts: Sequence[int],
    ends: Sequence[int],
) -> Bindings:
    """Bindings from one mapping of variable to position or positions per match."""
    variables: dict[str, Column] = {}
    for component, negated in ast.components(pattern):
        name = component.variable
        if negated or name in variables:
            continue
        if component.is_kleene:
            lists = [row.get(name, ()) for row in rows]
            offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
            flat = [position for positions in lists for position in positions]
            variables[name] = ListPositions(offsets, np.array(flat, dtype=np.int64))
        else:
            positions = [row.get(name, ABSENT) for row in rows]
            variables[name] = SinglePositions(np.array(positions, dtype=np.int64))
    times = np.array([starts, ends], dtype=np.int64)
    return Bindings(variables, len(rows), MatchTimes.of(times[0], times[1]))
