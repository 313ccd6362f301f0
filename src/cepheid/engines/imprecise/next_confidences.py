"""The confidences of signatures under skip_till_next_match; what they share is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.engines.imprecise.confidences import larger
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.kernels.next import NEED_ROOM, score_next
from cepheid.engines.imprecise.kernels.survival import ROWS
from cepheid.engines.imprecise.layout import NextRoom, NextTask, Scores
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s, int64s
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from cepheid.engines.imprecise.rivals import RivalSearch


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
