"""Matches as columns: for each variable the positions of the events that it is bound to.

This is what every evaluation gives, and what results, projections and sinks are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, PositionArray
from cepheid.language import syntax as ast

ABSENT = -1
"""The position of a variable that a match does not have (another branch of OR, an empty star)."""


@dataclass(frozen=True, slots=True, eq=False)
class SinglePositions:
    """One position per match, or ABSENT."""

    positions: PositionArray

    def __getitem__(self, match_ix: int) -> int | None:
        position = int(self.positions[match_ix])
        return None if position == ABSENT else position

    @property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Which matches do not have the variable."""
        return np.equal(self.positions, ABSENT)


@dataclass(frozen=True, slots=True, eq=False)
class ListPositions:
    """A list of positions per match: ``positions[offsets[m]:offsets[m + 1]]``; empty if absent."""

    offsets: Int64s
    positions: PositionArray

    def __getitem__(self, match_ix: int) -> list[int] | None:
        low, high = self.offsets[match_ix], self.offsets[match_ix + 1]
        return self.positions[low:high].tolist() or None

    @property
    def lengths(self) -> Int64s:
        """How many events the variable has in each match."""
        return np.diff(self.offsets)

    @property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Which matches do not have the variable."""
        return np.equal(self.lengths, 0)


@dataclass(frozen=True, eq=False)
class MatchTimes:
    """When each match starts and ends, looked up when somebody asks for it.

    Where it is known, all of this is from the first to the second time of ``span``.

    >>> times = MatchTimes(1, lambda: np.array([3]), lambda: np.array([5]))
    >>> times.ends.tolist()
    [5]
    """

    count: int
    look_up_starts: Callable[[], Int64s]
    look_up_ends: Callable[[], Int64s]
    span: tuple[int, int] | None = None

    def start_in(self, low: float, high: float) -> npt.NDArray[np.bool_] | None:
        """Which start from ``low`` on and before ``high``; None: all do.

        >>> MatchTimes.of(np.array([3, 8]), np.array([9, 9])).start_in(5, 9).tolist()
        [False, True]
        """
        if self.span is not None and low <= self.span[0] and self.span[1] < high:
            return None
        are_in: npt.NDArray[np.bool_] = (self.starts >= low) & (self.starts < high)
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
        """Times that are known."""
        return cls(len(starts), lambda: starts, lambda: ends)


@dataclass(frozen=True, slots=True, eq=False)
class Bindings:
    """The matches of a query over a stream; times are ticks of its time axis.

    ``confidences`` are there where the times of events are uncertain.
    """

    variables: Mapping[str, SinglePositions | ListPositions]
    times: MatchTimes
    confidences: npt.NDArray[np.float64] | None = None

    @property
    def starts(self) -> Int64s:
        """When each match starts."""
        return self.times.starts

    @property
    def ends(self) -> Int64s:
        """When each match ends."""
        return self.times.ends

    def __len__(self) -> int:
        return self.times.count

    def slice(self, low: int, high: int) -> Bindings:
        """The matches from ``low`` to ``high``."""
        variables: dict[str, SinglePositions | ListPositions] = {}
        for name, column in self.variables.items():
            if isinstance(column, SinglePositions):
                variables[name] = SinglePositions(column.positions[low:high])
            else:
                offsets = column.offsets[low : high + 1]
                flat = column.positions[offsets[0] : offsets[-1]]
                variables[name] = ListPositions(offsets - offsets[0], flat)
        sure = self.confidences
        confidences = None if sure is None else sure[low:high]
        count = max(min(high, len(self)) - low, 0)
        times = MatchTimes(
            count,
            lambda: self.starts[low:high],
            lambda: self.ends[low:high],
            self.times.span,
        )
        return Bindings(variables, times, confidences)

    def pick(self, chosen: Int64s) -> Bindings:
        """These matches, in this order."""
        variables: dict[str, SinglePositions | ListPositions] = {}
        for name, column in self.variables.items():
            if isinstance(column, SinglePositions):
                variables[name] = SinglePositions(column.positions[chosen])
            else:
                offsets, places = picked_places(column.offsets, chosen)
                variables[name] = ListPositions(offsets, column.positions[places])
        sure = self.confidences
        confidences = None if sure is None else sure[chosen]
        times = MatchTimes.of(self.starts[chosen], self.ends[chosen])
        return Bindings(variables, times, confidences)

    def one(self, match_ix: int) -> dict[str, int | list[int]]:
        """The binding of one match, without the variables that it does not have."""
        found = {name: column[match_ix] for name, column in self.variables.items()}
        return {name: bound for name, bound in found.items() if bound is not None}

    def __iter__(self) -> Iterator[dict[str, int | list[int]]]:
        return map(self.one, range(len(self)))


def picked_places(offsets: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """The offsets of these lists one after the other, and the places of their elements.

    >>> offsets, places = picked_places(np.array([0, 2, 3]), np.array([1, 0]))
    >>> offsets.tolist(), places.tolist()
    ([0, 1, 3], [2, 0, 1])
    """
    lengths = np.diff(offsets)[chosen]
    after = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    starts = np.repeat(offsets[:-1][chosen] - after[:-1], lengths)
    return after, np.arange(after[-1], dtype=np.int64) + starts


def joined_bindings(parts: Sequence[Bindings]) -> Bindings:
    """The matches of all parts, which are of one query, as one."""
    if len(parts) == 1:
        return parts[0]
    variables: dict[str, SinglePositions | ListPositions] = {}
    for name, first in parts[0].variables.items():
        columns = [part.variables[name] for part in parts]
        positions = np.concatenate([column.positions for column in columns])
        if isinstance(first, SinglePositions):
            variables[name] = SinglePositions(positions)
        else:
            lengths = [c.lengths for c in columns if isinstance(c, ListPositions)]
            offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
            variables[name] = ListPositions(offsets, positions)
    starts = np.concatenate([part.starts for part in parts])
    ends = np.concatenate([part.ends for part in parts])
    return Bindings(variables, MatchTimes.of(starts, ends))


def bindings_from_rows(
    pattern: ast.Pattern,
    rows: Sequence[Mapping[str, Any]],
    starts: Sequence[int],
    ends: Sequence[int],
) -> Bindings:
    """Bindings from one mapping of variable to position or positions per match."""
    variables: dict[str, SinglePositions | ListPositions] = {}
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
    return Bindings(variables, MatchTimes.of(times[0], times[1]))
