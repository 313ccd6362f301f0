"""Matches as tags, the form in which kernels write them, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.events.arrays import Int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import ABSENT, Bindings, ListPositions, MatchTimes, SinglePositions
from cepheid.matches.kernels import match_lists
from cepheid.snapshots import Arrays

WINDOW_END = -1
"""The position at which a match is complete that waits for its window to end."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchList:
    """Matches: the tags of their events, and the (ticks, position) at which they are complete."""

    ids: Int64s
    offsets: Int64s
    starts: Int64s
    ends: Int64s
    end_positions: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    def copy(self) -> MatchList:
        """The same matches in arrays of their own."""
        return MatchList(
            self.ids.copy(), self.offsets.copy(), self.starts, self.ends, self.end_positions
        )

    def state(self) -> Arrays:
        """The matches as arrays, for a snapshot."""
        return {name: getattr(self, name) for name in self.__slots__}

    def first_events(self) -> Int64s:
        """The number of the first event of each match."""
        return self.ids[self.offsets[:-1]] >> TAG_SHIFT

    def hashes(self) -> tuple[Int64s, Int64s]:
        """Two hashes of each match, by which equal matches are found."""
        high, low = np.empty(len(self), np.int64), np.empty(len(self), np.int64)
        match_lists.hash_matches(self.ids, self.offsets, high, low)
        return high, low

    def keys(self) -> list[tuple[int, int]]:
        """The same, as Python values."""
        high, low = self.hashes()
        return list(zip(high.tolist(), low.tolist(), strict=True))

    def pick(self, chosen: Int64s) -> MatchList:
        """These matches, in this order."""
        lengths = np.diff(self.offsets)[chosen]
        ids = np.empty(int(lengths.sum()), dtype=np.int64)
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        match_lists.pick_matches(self.ids, self.offsets, chosen, ids, offsets)
        return MatchList(
            ids, offsets, self.starts[chosen], self.ends[chosen], self.end_positions[chosen]
        )


def empty_list() -> MatchList:
    """No matches."""
    nothing = np.empty(0, dtype=np.int64)
    return MatchList(nothing, np.zeros(1, dtype=np.int64), nothing, nothing, nothing)


def joined(lists: Sequence[MatchList]) -> MatchList:
    """One list of all matches."""
    if len(lists) == 1:
        return lists[0]
    shifts = np.cumsum([0, *(len(part.ids) for part in lists)])
    offsets = [part.offsets[1:] + shift for part, shift in zip(lists, shifts, strict=False)]
    return MatchList(
        np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in lists)]),
        np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
        np.concatenate([np.empty(0, dtype=np.int64), *(part.starts for part in lists)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(part.ends for part in lists)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(part.end_positions for part in lists)]),
    )


def without_duplicates(matches: MatchList) -> MatchList:
    """Each match once, as completed first; in the order of completion."""
    high, low = matches.hashes()
    order = np.lexsort((matches.end_positions, matches.ends, low, high))
    same = (np.diff(high[order]) == 0) & (np.diff(low[order]) == 0)
    first = order[np.concatenate([[True], ~same])] if len(order) else order
    by_end = np.lexsort((matches.end_positions[first], matches.ends[first]))
    return matches.pick(np.ascontiguousarray(first[by_end]))


class NonOverlapping:
    """Chooses matches such that each starts after the previous one of its partition ended."""

    def __init__(self) -> None:
        self.last_ticks: Int64s = np.empty(0, dtype=np.int64)
        self.last_positions: Int64s = np.empty(0, dtype=np.int64)

    def state(self) -> Arrays:
        """The ends so far as arrays, for a snapshot."""
        return {"ticks": self.last_ticks, "positions": self.last_positions}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self.last_ticks, self.last_positions = state["ticks"], state["positions"]

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the end of partition p to partition ``numbers[p]``; forget those of -1."""
        kept = numbers[: len(self.last_ticks)] >= 0
        self.last_ticks = self.last_ticks[: len(kept)][kept]
        self.last_positions = self.last_positions[: len(kept)][kept]

    def choose(self, matches: MatchList, partition: Int64s, partitions: int) -> MatchList:
        """Some of the matches, which come in no particular order; calls follow in time."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.matches.kernels.non_overlapping import choose_non_overlapping

        added = max(partitions - len(self.last_ticks), 0)
        never = np.full(added, np.iinfo(np.int64).min, dtype=np.int64)
        self.last_ticks = np.concatenate([self.last_ticks, never])
        self.last_positions = np.concatenate([self.last_positions, never])
        order = np.lexsort((partition, matches.end_positions, matches.ends))
        chosen = np.empty(len(matches), dtype=np.int64)
        count = choose_non_overlapping(
            matches.ids,
            matches.offsets,
            np.ascontiguousarray(order),
            np.ascontiguousarray(partition),
            matches.starts,
            matches.ends,
            matches.end_positions,
            self.last_ticks,
            self.last_positions,
            chosen,
        )
        return matches.pick(chosen[:count])


def to_bindings(
    matches: MatchList, variables: Mapping[str, ast.Component], base: int = 0
) -> Bindings:
    """The positions of each variable, counted from ``base``.

    ``variables`` are in the order of their numbers.
    """
    singles = all(not component.is_kleene for component in variables.values())
    if singles and len(matches.ids) == len(variables) * len(matches):
        each = np.empty((len(variables), len(matches)), dtype=np.int64)
        match_lists.split_single_variables(matches.ids, base, each)
        bound = {name: SinglePositions(row) for name, row in zip(variables, each, strict=True)}
        return Bindings(bound, MatchTimes.of(matches.starts, matches.ends))
    counts = np.zeros((len(variables), len(matches)), dtype=np.int64)
    # Room for all events in each variable: what is not written costs no memory.
    positions = np.empty((len(variables), len(matches.ids)), dtype=np.int64)
    totals = np.zeros(len(variables), dtype=np.int64)
    match_lists.split_variables(matches.ids, matches.offsets, base, positions, counts, totals)
    columns: dict[str, SinglePositions | ListPositions] = {}
    for number, (name, component) in enumerate(variables.items()):
        flat = positions[number, : totals[number]]
        if component.is_kleene:
            offsets = np.concatenate([[0], np.cumsum(counts[number])]).astype(np.int64)
            columns[name] = ListPositions(offsets, flat)
        elif len(flat) == len(matches):
            columns[name] = SinglePositions(flat)
        else:
            single = np.full(len(matches), ABSENT, dtype=np.int64)
            single[counts[number] > 0] = flat
            columns[name] = SinglePositions(single)
    return Bindings(columns, MatchTimes.of(matches.starts, matches.ends))
