"""The events of one variable in each match, as positions: one position per match, or a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, PositionArray
from cepheid.language import syntax as ast

ABSENT = -1
"""The position of a variable that is absent from a match (another OR branch, an empty star)."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SinglePositions:
    """One position per match, or ABSENT."""

    positions: PositionArray

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that hold the events."""
        return (self.positions,)

    def __getitem__(self, match_ix: int) -> int | None:
        position = int(self.positions[match_ix])
        return None if position == ABSENT else position

    @property
    def absent(self) -> Bools:
        """Which matches do not have the variable."""
        return np.equal(self.positions, ABSENT)

    def firsts(self) -> PositionArray:
        """The first event of the variable in each match."""
        return self.positions

    def lasts(self) -> PositionArray:
        """The last event of the variable in each match."""
        return self.positions

    def pick(self, chosen: Int64s) -> SinglePositions:
        """The chosen matches, in this order."""
        return SinglePositions(self.positions[chosen])

    def slice(self, low: int, high: int) -> SinglePositions:
        """The matches from ``low`` to ``high``."""
        return SinglePositions(self.positions[low:high])

    def moved(self, move: Callable[[PositionArray], PositionArray]) -> SinglePositions:
        """The same events under other positions."""
        absent = self.absent
        if not absent.any():
            return SinglePositions(move(self.positions))
        positions = np.full(len(self.positions), ABSENT, dtype=np.int64)
        positions[~absent] = move(self.positions[~absent])
        return SinglePositions(positions)


@dataclass(frozen=True, slots=True, eq=False)
class ListPositions:
    """A list of positions per match: ``positions[offsets[m]:offsets[m + 1]]``; empty if absent."""

    offsets: Int64s
    positions: PositionArray

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that hold the events."""
        return self.offsets, self.positions

    def __getitem__(self, match_ix: int) -> list[int] | None:
        low, high = self.offsets[match_ix], self.offsets[match_ix + 1]
        return self.positions[low:high].tolist() or None

    @property
    def lengths(self) -> Int64s:
        """The number of events that the variable has in each match."""
        return np.diff(self.offsets)

    @property
    def absent(self) -> Bools:
        """Which matches do not have the variable."""
        return np.equal(self.lengths, 0)

    def firsts(self) -> PositionArray:
        """The first event of the variable in each match, or ABSENT."""
        return self.at(self.offsets[:-1])

    def lasts(self) -> PositionArray:
        """The last event of the variable in each match, or ABSENT."""
        return self.at(self.offsets[1:] - 1)

    def at(self, places: Int64s) -> PositionArray:
        """One position of each list, by its place among all positions; ABSENT outside the list."""
        inside = (places >= self.offsets[:-1]) & (places < self.offsets[1:])
        if inside.all():
            return self.positions[places]
        found = np.full(len(places), ABSENT, dtype=self.positions.dtype)
        found[inside] = self.positions[places[inside]]
        return found

    def pick(self, chosen: Int64s) -> ListPositions:
        """The chosen matches, in this order."""
        offsets, places = picked_places(self.offsets, chosen)
        return ListPositions(offsets, self.positions[places])

    def slice(self, low: int, high: int) -> ListPositions:
        """The matches from ``low`` to ``high``."""
        offsets = self.offsets[low : high + 1]
        return ListPositions(offsets - offsets[0], self.positions[offsets[0] : offsets[-1]])

    def moved(self, move: Callable[[PositionArray], PositionArray]) -> ListPositions:
        """The same events under other positions."""
        return ListPositions(self.offsets, move(self.positions))


Column = SinglePositions | ListPositions


def absent_column(component: ast.Component, count: int) -> Column:
    """The column of a variable that no match has."""
    if component.is_kleene:
        return ListPositions(np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
    return SinglePositions(np.full(count, ABSENT, dtype=np.int64))


def offsets_of(lengths: Int64s) -> Int64s:
    """Where each of several consecutive lists begins, and where the last one ends.

    >>> offsets_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def places_in_rows(begins: Int64s, column: ListPositions) -> Int64s:
    """The place of each element of the lists, if list m begins at ``begins[m]``."""
    shifts = np.repeat(begins - column.offsets[:-1], column.lengths)
    return np.arange(len(column.positions), dtype=np.int64) + shifts


def picked_places(offsets: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """The offsets of the chosen lists one after the other, and the places of their elements.

    >>> offsets, places = picked_places(np.array([0, 2, 3]), np.array([1, 0]))
    >>> offsets.tolist(), places.tolist()
    ([0, 1, 3], [2, 0, 1])
    """
    lengths = offsets[1:][chosen] - offsets[:-1][chosen]
    after = offsets_of(lengths)
    starts = np.repeat(offsets[:-1][chosen] - after[:-1], lengths)
    return after, np.arange(after[-1], dtype=np.int64) + starts


def least(columns: Iterator[PositionArray]) -> PositionArray:
    """The least position of each match in these columns, ignoring ABSENT.

    >>> least(iter([np.array([3, ABSENT]), np.array([2, 5])])).tolist()
    [2, 5]
    """

    def lesser(left: PositionArray, right: PositionArray) -> PositionArray:
        if left.dtype != right.dtype:
            left, right = left.astype(np.int64), right.astype(np.int64)
        # As an unsigned integer, ABSENT is the greatest number.
        unsigned = np.uint32 if left.dtype == np.int32 else np.uint64
        found: PositionArray = np.minimum(left.view(unsigned), right.view(unsigned))
        return found.view(left.dtype)

    return reduce(lesser, columns)


def greatest(columns: Iterator[PositionArray]) -> PositionArray:
    """The greatest position of each match in these columns; ABSENT is less than any position."""
    return reduce(np.maximum, columns)
