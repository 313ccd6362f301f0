"""The confidences of signatures under skip_till_next_match, with what they share made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.intervals import Floats
from cepheid.engines.imprecise.kernels import next as imprecise_next
from cepheid.engines.imprecise.kernels.survival import ROWS
from cepheid.engines.imprecise.rivals import RivalSearch
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s

if TYPE_CHECKING:
    from cepheid.engines.imprecise.confidences import Weights

_LISTED = 64
_TIMES = 256
_GRID = 1 << 16
MOST_GRID = 1 << 27


class NextWeighing:
    """Weighs signatures of a sequence of two events or more."""

    def __init__(self, signatures: SignatureSearch, rivals: RivalSearch, window: int) -> None:
        self.count = len(signatures.automaton.steps)
        self._signatures = signatures
        self._rivals = rivals
        self._window = window
        self._listed = np.zeros((self.count + 2, _LISTED), dtype=np.int64)
        self._numbers = np.zeros((ROWS, max(_TIMES, self.count)), dtype=np.int64)
        self._grid = np.zeros(_GRID)
        self._inverses: Floats = np.zeros(0)

    def weigh(self, frame: Frame, ids: Int64s) -> tuple[Weights, Int64s]:
        """The confidence and the range of time of each signature, and which are left to others."""
        signatures, registers, intervals = self._signatures, self._rivals.registers, frame.intervals
        candidates = signatures.candidates
        steps, updates = signatures.tables
        order = self._alike_together(ids)
        if intervals.longest + 2 > len(self._inverses):
            self._inverses = 1.0 / np.maximum(np.arange(intervals.longest + 2), 1)
        weights = np.zeros(len(order)), int64s(len(order)), int64s(len(order))
        others, at = int64s(len(order)), int64s(3)
        while True:
            status = imprecise_next.weigh_next(
                ids,
                self.count,
                order,
                intervals.lower,
                intervals.upper,
                intervals.mass_at,
                intervals.masses,
                signatures.partition_of,
                self._window,
                candidates.places,
                candidates.index,
                candidates.reach,
                steps,
                updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                signatures.predicate,
                registers.context.ctypes.data,
                self._inverses,
                self._listed,
                self._numbers,
                self._grid,
                *weights,
                others,
                at,
            )
            if status == imprecise_next.WEIGHED:
                return weights, others[: at[1]]
            self._make_room(status, int(at[2]))

    def _alike_together(self, ids: Int64s) -> Int64s:
        """The order in which those with the same last event but one are together.

        Among these, those with the same events but the last.
        """
        events = ids.reshape(-1, self.count)
        keys = [events[:, column] for column in range(self.count - 1)]
        return np.lexsort(keys).astype(np.int64)

    def _make_room(self, status: int, needed: int) -> None:
        if status == imprecise_next.NEED_LISTS:
            self._listed = np.zeros((self.count + 2, 2 * needed), dtype=np.int64)
        elif status == imprecise_next.NEED_TIMES:
            self._numbers = np.zeros((ROWS, 2 * needed), dtype=np.int64)
        elif needed > MOST_GRID:
            raise LimitError(
                "the intervals of the events of a match have too many instants for the events "
                "between them to be weighed; a coarser granularity has fewer"
            )
        else:
            self._grid = np.zeros(2 * needed)
