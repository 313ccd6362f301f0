"""The confidences of signatures, with the rivals that have a say in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cepheid.codegen.steps import NegationTest
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.intervals import Floats
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s

if TYPE_CHECKING:
    from cepheid.engines.imprecise.next_confidences import NextWeighing
    from cepheid.engines.imprecise.rivals import RivalSearch

_ROOM = 256
_EVENTS = 16
_GRID = 1 << 14
MOST_GRID = 1 << 27

Weights = tuple[Floats, Int64s, Int64s]
"""The confidence, the start and the end of each signature."""


class Weighing:
    """Gives signatures their confidences and ranges of time."""

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._window = window
        self.looks_back = any(not test.after for test in negations)
        self.has_rivals = signatures.is_next or bool(negations)
        self._rivals: RivalSearch | None = None
        if self.has_rivals:
            # Loaded when it is needed first, since its kernels take a while to compile.
            from cepheid.engines.imprecise.rivals import RivalSearch

            self._rivals = RivalSearch(signatures, negations, window)
        self._next: NextWeighing | None = None
        if self._rivals is not None and signatures.is_next and len(signatures.automaton.steps) > 1:
            from cepheid.engines.imprecise.next_confidences import NextWeighing

            self._next = NextWeighing(signatures, self._rivals, window)
        self._numbers = np.zeros((11, _ROOM), dtype=np.int64)
        self._work = np.zeros((3, _ROOM))
        self._grid = np.zeros(_GRID)

    def look_at(self, frame: Frame) -> None:
        """Prepare for the signatures of a frame, whose search has begun."""
        if self._rivals is not None:
            self._rivals.look_at(frame)

    def decided(self, frame: Frame, ids: Int64s, offsets: Int64s) -> npt.NDArray[np.bool_]:
        """Which signatures are decided by what has come, and were not before."""
        if self._rivals is None:
            return np.ones(len(offsets) - 1, dtype=np.bool_)
        return self._rivals.decided(frame, ids, offsets)

    def weigh(self, frame: Frame, ids: Int64s, offsets: Int64s) -> Weights:
        """The confidence and the range of time of each signature; 0 where no world has it."""
        if self._next is None:
            return self._weigh_one_by_one(frame, ids, offsets)
        weights, left = self._next.weigh(frame, ids)
        if len(left):
            count = self._next.count
            others = np.ascontiguousarray(ids.reshape(-1, count)[left]).reshape(-1)
            borders = np.arange(len(left) + 1, dtype=np.int64) * count
            found = self._weigh_one_by_one(frame, others, borders)
            for whole, part in zip(weights, found, strict=True):
                whole[left] = part
        return weights

    def _weigh_one_by_one(self, frame: Frame, ids: Int64s, offsets: Int64s) -> Weights:
        count = len(offsets) - 1
        alive = np.ones(count, dtype=np.int64)
        if self._rivals is None:
            found = int64s(1), int64s(1), int64s(count + 1)
        else:
            found = self._rivals.found(frame, ids, offsets, alive)
        weights = np.zeros(count), int64s(count), int64s(count)
        has_rivals = np.diff(found[2]) > 0
        if not has_rivals.all():
            alone = self._count(frame, ids, offsets, found[2], weights)
            if len(alone):
                self._sum_alone(frame, ids, offsets, alone, weights)
        if has_rivals.any():
            self._sum_worlds(frame, ids, offsets, found, np.flatnonzero(has_rivals), weights)
        weights[0][alive == 0] = 0.0
        return weights

    def _count(
        self, frame: Frame, ids: Int64s, offsets: Int64s, borders: Int64s, weights: Weights
    ) -> Int64s:
        """Fill in those without rivals whose worlds can be counted; returns the others of them."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels import counts as imprecise_counts

        others = int64s(len(offsets) - 1)
        room = max(int(np.diff(offsets).max(initial=1)), imprecise_counts.MOST_COUNTED**2)
        left = imprecise_counts.count_matches(
            ids,
            offsets,
            frame.intervals.lower,
            frame.intervals.upper,
            frame.intervals.mass_at,
            self._window,
            borders,
            np.zeros((5, room), dtype=np.int64),
            *weights,
            others,
        )
        return others[:left]

    def _sum_alone(
        self, frame: Frame, ids: Int64s, offsets: Int64s, wanted: Int64s, weights: Weights
    ) -> None:
        """Fill in those without rivals whose worlds cannot be counted."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels import sums

        events, instants, at = _EVENTS, _ROOM, int64s(3)
        while True:
            status = sums.sum_matches(
                ids,
                offsets,
                frame.intervals.lower,
                frame.intervals.upper,
                frame.intervals.mass_at,
                frame.intervals.masses,
                self._window,
                wanted,
                np.zeros((2, events), dtype=np.int64),
                np.zeros((events, events)),
                np.zeros((instants, events)),
                *weights,
                at,
            )
            if status == sums.SUMMED:
                return
            events, instants = max(events, int(at[1])), max(instants, 2 * int(at[2]))

    def _sum_worlds(
        self,
        frame: Frame,
        ids: Int64s,
        offsets: Int64s,
        found: tuple[Int64s, Int64s, Int64s],
        wanted: Int64s,
        weights: Weights,
    ) -> None:
        """Fill in those with rivals."""
        # Loaded when it is needed first, since it takes long to compile.
        from cepheid.engines.imprecise.kernels import confidence

        rivals, bits, borders = found
        confidences, starts, ends = weights
        at, none = int64s(2), int64s(0)
        while True:
            status = confidence.weigh_matches(
                ids,
                offsets,
                frame.intervals.lower,
                frame.intervals.upper,
                frame.intervals.mass_at,
                frame.intervals.masses,
                self._window,
                borders,
                rivals,
                bits,
                none if self._rivals is None else self._rivals.gap_after,
                none if self._rivals is None else self._rivals.gap_before,
                self._numbers,
                self._work,
                self._grid,
                confidences,
                starts,
                ends,
                np.zeros(3 + self._numbers.shape[1]),
                wanted,
                at,
            )
            if status == confidence.WEIGHED:
                return
            if status == confidence.NEED_ROOM:
                room = 2 * int(at[1])
                self._numbers = np.zeros((11, max(room, self._numbers.shape[1])), dtype=np.int64)
                self._work = np.zeros((3, max(room, self._work.shape[1])))
            elif at[1] > MOST_GRID:
                raise LimitError(
                    "the intervals of the events of a match have too many instants for the events "
                    "between them to be weighed; a coarser granularity has fewer"
                )
            else:
                self._grid = np.zeros(2 * int(at[1]))
