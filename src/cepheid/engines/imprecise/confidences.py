"""The confidences of signatures, and the rivals that have a say in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cepheid.codegen.steps import NegationTest
from cepheid.engines.base.drive import Drive
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.layout import Rivals, Scores, Signatures, SumRoom, WorldRoom
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from cepheid.engines.imprecise.next_confidences import NextScoring
    from cepheid.engines.imprecise.rivals import RivalSearch

MOST_GRID = 1 << 27


class Scoring:
    """Computes the confidences and the ranges of time of signatures."""

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._window = window
        self._drive = Drive()
        self.looks_back = any(not test.after for test in negations)
        self.has_rivals = signatures.is_next or bool(negations)
        self._rivals: RivalSearch | None = None
        if self.has_rivals:
            # Loaded when it is needed first, since its kernels take a while to compile.
            from cepheid.engines.imprecise.rivals import RivalSearch

            self._rivals = RivalSearch(signatures, negations, window)
        self._next: NextScoring | None = None
        if self._rivals is not None and signatures.is_next and len(signatures.automaton.steps) > 1:
            from cepheid.engines.imprecise.next_confidences import NextScoring

            self._next = NextScoring(signatures, self._rivals, window)
        self._room: WorldRoom | None = None

    def look_at(self, frame: Frame) -> None:
        """Prepare for the signatures of a frame; its search must have begun."""
        if self._rivals is not None:
            self._rivals.look_at(frame)

    def decided(self, frame: Frame, signatures: Signatures) -> npt.NDArray[np.bool_]:
        """Which signatures are decided by the events so far, and were not before."""
        if self._rivals is None:
            return np.ones(signatures.size, dtype=np.bool_)
        return self._rivals.decided(frame, signatures)

    def score(self, frame: Frame, signatures: Signatures) -> Scores:
        """The confidence and the range of time of each signature; 0 if no world has it."""
        if self._next is None:
            return self._score_one_by_one(frame, signatures)
        scores, left = self._next.score(frame, signatures.ids)
        if len(left):
            count = self._next.count
            ids = np.ascontiguousarray(signatures.ids.reshape(-1, count)[left]).reshape(-1)
            others = Signatures(ids, np.arange(len(left) + 1, dtype=np.int64) * count)
            found = self._score_one_by_one(frame, others)
            for whole, part in zip(scores, found, strict=True):
                whole[left] = part
        return scores

    def _score_one_by_one(self, frame: Frame, signatures: Signatures) -> Scores:
        count = signatures.size
        alive = np.ones(count, dtype=np.int64)
        rivals = Rivals(offsets=int64s(count + 1))
        if self._rivals is not None:
            rivals = self._rivals.found(signatures, alive)
        scores = Scores.room(count)
        has_rivals = np.diff(rivals.offsets) > 0
        if not has_rivals.all():
            alone = self._count(frame, signatures, rivals, scores)
            if len(alone):
                self._sum_alone(frame, signatures, alone, scores)
        if has_rivals.any():
            self._sum_worlds(frame, signatures, rivals, np.flatnonzero(has_rivals), scores)
        scores.confidences[alive == 0] = 0.0
        return scores

    def _count(
        self, frame: Frame, signatures: Signatures, rivals: Rivals, scores: Scores
    ) -> Int64s:
        """Score signatures without rivals by counting worlds; returns those that need a sum."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.counts import MOST_COUNTED, count_matches

        others = int64s(signatures.size)
        numbers = np.zeros((5, max(signatures.most_events, MOST_COUNTED**2)), dtype=np.int64)
        left = count_matches(
            signatures, frame.intervals, self._window, rivals.offsets, numbers, scores, others
        )
        return others[:left]

    def _sum_alone(
        self, frame: Frame, signatures: Signatures, wanted: Int64s, scores: Scores
    ) -> None:
        """Score signatures without rivals whose worlds cannot be counted."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.sums import NEED_ROOM, sum_matches

        at = int64s(3)
        room = _sum_room(tuning().confidence_events, tuning().confidence_rows)

        def more_room() -> None:
            nonlocal room
            instants, events = room.front.shape
            room = _sum_room(max(events, int(at[1])), max(instants, 2 * int(at[2])))

        self._drive.run(
            lambda: sum_matches(
                signatures, frame.intervals, self._window, wanted, room, scores, at
            ),
            {NEED_ROOM: more_room},
        )

    def _sum_worlds(
        self, frame: Frame, signatures: Signatures, rivals: Rivals, wanted: Int64s, scores: Scores
    ) -> None:
        """Score signatures with rivals."""
        # Loaded when it is needed first, since it takes long to compile.
        from cepheid.engines.imprecise.kernels.confidence import (
            NEED_GRID,
            NEED_ROOM,
            score_matches,
        )

        at = int64s(2)
        room = self._room or _world_room(
            tuning().confidence_rows, tuning().confidence_rows, np.zeros(tuning().confidence_grid)
        )

        def more_room() -> None:
            nonlocal room
            size = 2 * int(at[1])
            room = _world_room(
                max(size, room.numbers.shape[1]), max(size, room.work.shape[1]), room.grid
            )

        def larger_grid() -> None:
            nonlocal room
            room = room._replace(grid=larger(int(at[1])))

        self._drive.run(
            lambda: score_matches(
                signatures, frame.intervals, self._window, rivals, wanted, room, scores, at
            ),
            {NEED_ROOM: more_room, NEED_GRID: larger_grid},
        )
        self._room = room


def larger(needed: int) -> npt.NDArray[np.float64]:
    """Room for the grids of a match; refused if they are too large."""
    if needed > MOST_GRID:
        raise LimitError(
            "the intervals of the events of a match have too many instants to compute how "
            "probable the events between them are; a coarser granularity has fewer"
        )
    return np.zeros(2 * needed)


def _sum_room(events: int, instants: int) -> SumRoom:
    bounds = np.zeros((2, events), dtype=np.int64)
    return SumRoom(bounds, np.zeros((events, events)), np.zeros((instants, events)))


def _world_room(numbers: int, instants: int, grid: npt.NDArray[np.float64]) -> WorldRoom:
    from cepheid.engines.imprecise.kernels.confidence import NUMBER_ROWS

    return WorldRoom(
        np.zeros((NUMBER_ROWS, numbers), dtype=np.int64),
        np.zeros((3, instants)),
        grid,
        np.zeros(3 + numbers),
    )
