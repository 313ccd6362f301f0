"""The confidences of signatures, with the rivals that have a say in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cepheid.automata.generated import predicate_address
from cepheid.automata.nfa_b_tables import NegationTest
from cepheid.errors import LimitError
from cepheid.kernels import imprecise_confidence as confidence
from cepheid.kernels import imprecise_rivals
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.imprecise.frame import Candidates, Frame, find_candidates
from cepheid.runtime.imprecise.intervals import Floats
from cepheid.runtime.imprecise.signatures import SignatureSearch
from cepheid.runtime.kernel_tables import Registers, int64s, step_tables

_RIVALS = 1 << 16
_ROOM = 256
_GRID = 1 << 14
MOST_GRID = 1 << 27

Weights = tuple[Floats, Int64s, Int64s]
"""The confidence, the start and the end of each signature."""


class ViolationSearch:
    """Finds the events that can violate a negated component of a match."""

    def __init__(self, test: NegationTest, window: int, gap: int) -> None:
        self.after = test.after.bit_length() - 1
        self.before = (test.before & -test.before).bit_length() - 1
        self._test = test
        self._window = window
        self._gap = gap
        self._steps, self._updates = step_tables(test.steps, test.columns)
        self._columns = tuple(name for name, _ in test.columns)
        self._registers = Registers(test.registers, test.columns, test.constants, 1)
        self._predicate = predicate_address(test.source)
        self._candidates: Candidates

    def look_at(self, frame: Frame, partition_of: Int64s, partitions: int) -> None:
        """Find the events of a frame that can violate some match."""
        self._candidates, _ = find_candidates(
            frame,
            [self._test.test],
            self._registers,
            self._columns,
            self._predicate,
            partition_of,
            partitions,
        )

    def rivals(
        self, frame: Frame, partition_of: Int64s, ids: Int64s, offsets: Int64s
    ) -> npt.NDArray[np.int64]:
        """The match, the event and the gap of each."""
        registers, candidates = self._registers, self._candidates
        found = np.zeros((3, _RIVALS), dtype=np.int64)
        bounds = np.zeros((2, _longest(offsets)), dtype=np.int64)
        at = int64s(2)
        while not imprecise_rivals.find_violating(
            ids,
            offsets,
            frame.intervals.lower,
            frame.intervals.upper,
            partition_of,
            self._window,
            candidates.places,
            np.ascontiguousarray(candidates.index[0]),
            candidates.reach[0],
            self._steps,
            self._updates,
            registers.context,
            registers.ints,
            registers.floats,
            registers.valid,
            self._predicate if self._test.is_across else 0,
            registers.context.ctypes.data,
            self._gap,
            self.after,
            self.before,
            bounds,
            found,
            at,
        ):
            found = np.concatenate([found, np.zeros_like(found)], axis=1)
        return found[:, : at[1]]


class Weighing:
    """Gives signatures their confidences and ranges of time."""

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._signatures = signatures
        self._window = window
        # The gaps are in the order of time.
        by_place = sorted(negations, key=lambda test: test.after)
        self._negations = [ViolationSearch(test, window, gap) for gap, test in enumerate(by_place)]
        self._waits = any(test.waits for test in negations)
        self.looks_back = any(not test.after for test in negations)
        count = len(signatures.automaton.steps)
        if signatures.is_next:
            gaps = [(component - 1, component) for component in range(count)]
        else:
            gaps = [(each.after, each.before) for each in self._negations]
        self.has_rivals = signatures.is_next or bool(self._negations)
        self._gap_after = np.array([after for after, _ in gaps], dtype=np.int64)
        self._gap_before = np.array([before for _, before in gaps], dtype=np.int64)
        self._numbers = np.zeros((14, _ROOM), dtype=np.int64)
        self._work = np.zeros((3, _ROOM))
        self._grid = np.zeros(_GRID)
        self._registers: Registers

    def look_at(self, frame: Frame) -> None:
        """Prepare for the signatures of a frame, whose search has begun."""
        automaton, batch = self._signatures.automaton, frame.batch
        # Registers of its own: the search goes on while signatures are weighed.
        self._registers = Registers(automaton.registers, automaton.columns, automaton.constants, 1)
        columns = [batch.column(name) for name, _ in automaton.columns]
        self._registers.point_at(columns, batch.strings, batch.lists)
        partitions = self._signatures.candidates.index.shape[1] - 1
        for negation in self._negations:
            negation.look_at(frame, self._signatures.partition_of, partitions)

    def decided(self, frame: Frame, ids: Int64s, offsets: Int64s) -> npt.NDArray[np.bool_]:
        """Which signatures are decided by what has come, and were not before."""
        decided = int64s(len(offsets) - 1)
        imprecise_rivals.decide_matches(
            ids,
            offsets,
            frame.intervals.lower,
            frame.intervals.upper,
            self._window,
            self._waits,
            np.zeros((2, _longest(offsets)), dtype=np.int64),
            decided,
        )
        return np.asarray(
            (decided >= frame.decided - frame.base) & (decided < frame.settled - frame.base)
        )

    def weigh(self, frame: Frame, ids: Int64s, offsets: Int64s) -> Weights:
        """The confidence and the range of time of each signature; 0 where no world has it."""
        count = len(offsets) - 1
        alive = np.ones(count, dtype=np.int64)
        rivals, bits, borders = self._rivals(frame, ids, offsets, alive)
        confidences, starts, ends = np.zeros(count), int64s(count), int64s(count)
        at = int64s(2)
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
                self._gap_after,
                self._gap_before,
                self._numbers,
                self._work,
                self._grid,
                confidences,
                starts,
                ends,
                np.zeros(3 + self._numbers.shape[1]),
                at[0],
                at,
            )
            if status == confidence.WEIGHED:
                confidences[alive == 0] = 0.0
                return confidences, starts, ends
            if status == confidence.NEED_ROOM:
                room = 2 * int(at[1])
                self._numbers = np.zeros((14, max(room, self._numbers.shape[1])), dtype=np.int64)
                self._work = np.zeros((3, max(room, self._work.shape[1])))
            elif at[1] > MOST_GRID:
                raise LimitError(
                    "the intervals of the events of a match have too many instants for the events "
                    "between them to be weighed; a coarser granularity has fewer"
                )
            else:
                self._grid = np.zeros(2 * int(at[1]))

    def _rivals(
        self, frame: Frame, ids: Int64s, offsets: Int64s, alive: Int64s
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The rivals of each signature: events, their gaps as bits, and where each list begins.

        ``alive`` becomes 0 where a rival is sure to be in a gap.
        """
        count = len(offsets) - 1
        if not self.has_rivals:
            return int64s(1), int64s(1), int64s(count + 1)
        partition_of = self._signatures.partition_of
        if self._signatures.is_next:
            found = self._could_be_next(frame, ids, offsets, alive)
        else:
            parts = [each.rivals(frame, partition_of, ids, offsets) for each in self._negations]
            found = np.concatenate(parts, axis=1)
        if not found.shape[1]:
            return int64s(1), int64s(1), int64s(count + 1)
        match, event, gap = found
        order = np.lexsort((event, match))
        match, event, gap = match[order], event[order], gap[order]
        first = np.concatenate([[True], (np.diff(match) != 0) | (np.diff(event) != 0)])
        begins = np.flatnonzero(first)
        bits = np.bitwise_or.reduceat(np.int64(1) << gap, begins)
        borders = np.searchsorted(match[begins], np.arange(count + 1))
        return np.ascontiguousarray(event[begins]), bits, borders.astype(np.int64)

    def _could_be_next(
        self, frame: Frame, ids: Int64s, offsets: Int64s, alive: Int64s
    ) -> npt.NDArray[np.int64]:
        signatures, registers = self._signatures, self._registers
        candidates = signatures.candidates
        steps, updates = signatures.tables
        found = np.zeros((3, _RIVALS), dtype=np.int64)
        bounds = np.zeros((2, _longest(offsets)), dtype=np.int64)
        at = int64s(2)
        while not imprecise_rivals.find_rivals(
            ids,
            offsets,
            frame.intervals.lower,
            frame.intervals.upper,
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
            bounds,
            alive,
            found,
            at,
        ):
            found = np.concatenate([found, np.zeros_like(found)], axis=1)
        return found[:, : at[1]]


def _longest(offsets: Int64s) -> int:
    return int(np.diff(offsets).max(initial=1))
