"""The confidences of signatures, and the rivals that have a say in them.

Under skip_till_next_match, what signatures share is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.codegen.steps import NegationTest
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.kernels.next import NEED_ROOM, score_next
from cepheid.engines.imprecise.kernels.survival import ROWS
from cepheid.engines.imprecise.layout import (
    NextRoom,
    NextTask,
    Rivals,
    Scores,
    Signatures,
    SumRoom,
    WorldRoom,
)
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s
from cepheid.jit.drive import Drive
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from cepheid.engines.imprecise.rivals import RivalSearch

MOST_GRID = 1 << 27


class Scoring:
    """Computes the confidences and the ranges of time of signatures."""

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._window = window
        self.rivals: RivalSearch | None = None
        self._next: NextScoring | None = None
        if signatures.is_next or signatures.is_contiguous or negations:
            # Loaded when it is needed first, since its kernels take a while to compile.
            from cepheid.engines.imprecise.rivals import RivalSearch

            self.rivals = RivalSearch(signatures, negations, window)
            steps = signatures.automaton.steps
            has_lists = any(step.component.is_kleene for step in steps)
            if signatures.is_next and not has_lists and not negations and len(steps) > 1:
                from cepheid.engines.imprecise.confidences import NextScoring

                self._next = NextScoring(signatures, self.rivals, window)
        self._grid = np.zeros(tuning().confidence_grid)

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
        if self.rivals is not None:
            rivals = self.rivals.found(signatures, alive)
        scores = Scores.room(count)
        has_rivals = np.diff(rivals.offsets) > 0
        if not has_rivals.all():
            self._score_alone(frame, signatures, rivals, scores)
        if has_rivals.any():
            self._sum_worlds(frame, signatures, rivals, np.flatnonzero(has_rivals), scores)
        scores.confidences[alive == 0] = 0.0
        return scores

    def _score_alone(
        self, frame: Frame, signatures: Signatures, rivals: Rivals, scores: Scores
    ) -> None:
        """Score signatures without rivals: count their worlds, or sum over them."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.counts import MOST_COUNTED, count_matches

        intervals, window, most = frame.intervals, self._window, signatures.most_events
        others = int64s(signatures.size)
        numbers = np.zeros((5, max(most, MOST_COUNTED**2)), dtype=np.int64)
        left = count_matches(signatures, intervals, window, rivals.offsets, numbers, scores, others)
        if not left:
            return
        from cepheid.engines.imprecise.kernels.sums import sum_matches

        others, events = others[:left], signatures.ids >> TAG_SHIFT
        offsets = signatures.offsets
        firsts, lasts = events[offsets[others]], events[offsets[others + 1] - 1]
        is_cut = bool((intervals.upper[lasts] - intervals.lower[firsts] >= window).any())
        room = SumRoom(
            np.zeros((2, most), dtype=np.int64),
            np.zeros((most + 1, most + 1)),
            np.zeros((window if is_cut else 0, most + 1)),
        )
        # In parts, so that signals are handled in between.
        for low in range(0, len(others), tuning().scored_matches):
            some = others[low : low + tuning().scored_matches]
            sum_matches(signatures, intervals, window, some, room, scores)

    def _sum_worlds(
        self, frame: Frame, signatures: Signatures, rivals: Rivals, wanted: Int64s, scores: Scores
    ) -> None:
        """Score signatures with rivals."""
        # Loaded when it is needed first, since it takes long to compile.
        from cepheid.engines.imprecise.kernels.confidence import (
            NEED_GRID,
            NUMBER_ROWS,
            score_matches,
        )

        at = int64s(2)
        most_rivals = int(np.diff(rivals.offsets).max())
        size = max(tuning().confidence_rows, signatures.most_events, most_rivals + 1)
        numbers = np.zeros((NUMBER_ROWS, size), dtype=np.int64)
        work, products = np.zeros((3, frame.intervals.longest + 1)), np.zeros(3 + size)

        def larger_grid() -> None:
            self._grid = larger(int(at[1]))

        drive = Drive()
        drive.run(
            lambda: score_matches(
                signatures,
                frame.intervals,
                self._window,
                rivals,
                wanted,
                WorldRoom(numbers, work, self._grid, products, drive.pace),
                scores,
                at,
            ),
            {NEED_GRID: larger_grid},
        )


def larger(needed: int) -> npt.NDArray[np.float64]:
    """Room for the grids of a match; refused if they are too large."""
    if needed > MOST_GRID:
        raise LimitError(
            "the intervals of the events of a match have too many instants to compute how "
            "probable the events between them are; a coarser granularity has fewer"
        )
    return np.zeros(2 * needed)


class NextScoring:
    """Scores signatures of a sequence of two events or more."""

    def __init__(self, signatures: SignatureSearch, rivals: RivalSearch, window: int) -> None:
        self.count = len(signatures.automaton.steps)
        self._signatures = signatures
        self._rivals = rivals
        self._window = window
        self._room = NextRoom(
            np.zeros((self.count + 2, tuning().next_listed), dtype=np.int64),
            np.zeros((ROWS, max(tuning().next_times, self.count)), dtype=np.int64),
            np.zeros(tuning().next_grid),
            np.zeros(0),
        )

    def score(self, frame: Frame, ids: Int64s) -> tuple[Scores, Int64s]:
        """The scores of signatures, and the numbers of the signatures that it cannot score."""
        task = NextTask(ids, self._alike_together(ids), self._window)
        longest = frame.intervals.longest
        if longest + 2 > len(self._room.inverses):
            inverses = 1.0 / np.maximum(np.arange(longest + 2), 1)
            self._room = self._room._replace(inverses=inverses)
        scores = Scores.room(len(task.order))
        others, at = int64s(len(task.order)), int64s(5)
        batch, conditions = self._signatures.batch, self._rivals.conditions

        def more_room() -> None:
            listed, numbers, grid, inverses = self._room
            if at[2] > listed.shape[1]:
                listed = np.zeros((self.count + 2, 2 * at[2]), dtype=np.int64)
            if at[3] > numbers.shape[1]:
                numbers = np.zeros((ROWS, 2 * at[3]), dtype=np.int64)
            if at[4] > len(grid):
                grid = larger(int(at[4]))
            self._room = NextRoom(listed, numbers, grid, inverses)

        self._signatures.drive.run(
            lambda: score_next(task, batch, conditions, self._room, scores, others, at),
            {NEED_ROOM: more_room},
        )
        return scores, others[: at[1]]

    def _alike_together(self, ids: Int64s) -> Int64s:
        """The order that has signatures with the same last event but one together.

        Among these, it has those with the same events but the last together.
        """
        events = ids.reshape(-1, self.count)
        keys = [events[:, column] for column in range(self.count - 1)]
        return np.lexsort(keys).astype(np.int64)
