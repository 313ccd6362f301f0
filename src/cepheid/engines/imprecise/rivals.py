"""The rivals of signatures: other events that decide whether these are matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cepheid.codegen.generated import predicate_address
from cepheid.codegen.steps import NegationTest
from cepheid.engines.base.registers import Registers, step_tables
from cepheid.engines.imprecise.frame import Candidates, Frame, find_candidates
from cepheid.engines.imprecise.kernels.decisions import decide_matches
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s, int64s

_RIVALS = 1 << 16


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
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.violations import find_violating

        registers, candidates = self._registers, self._candidates
        found = np.zeros((3, _RIVALS), dtype=np.int64)
        bounds = np.zeros((2, _longest(offsets)), dtype=np.int64)
        at = int64s(2)
        while not find_violating(
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


class RivalSearch:
    """Finds the rivals of signatures: events that could be next, or that violate a negation.

    The gaps in which a rival must not lie are numbered in the order of time: ``gap_after`` and
    ``gap_before`` are the components around each.
    """

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._signatures = signatures
        self._window = window
        by_place = sorted(negations, key=lambda test: test.after)
        self._negations = [ViolationSearch(test, window, gap) for gap, test in enumerate(by_place)]
        self._waits = any(test.waits for test in negations)
        if signatures.is_next:
            count = len(signatures.automaton.steps)
            gaps = [(component - 1, component) for component in range(count)]
        else:
            gaps = [(each.after, each.before) for each in self._negations]
        self.gap_after = np.array([after for after, _ in gaps], dtype=np.int64)
        self.gap_before = np.array([before for _, before in gaps], dtype=np.int64)
        # What conditions across events are tested with, in the frame that is looked at.
        self.registers: Registers

    def look_at(self, frame: Frame) -> None:
        """Prepare for the signatures of a frame, whose search has begun."""
        automaton, batch = self._signatures.automaton, frame.batch
        # Registers of its own: the search goes on while signatures are weighed.
        self.registers = Registers(automaton.registers, automaton.columns, automaton.constants, 1)
        columns = [batch.column(name) for name, _ in automaton.columns]
        self.registers.point_at(columns, batch.strings, batch.lists)
        partitions = self._signatures.candidates.index.shape[1] - 1
        for negation in self._negations:
            negation.look_at(frame, self._signatures.partition_of, partitions)

    def decided(self, frame: Frame, ids: Int64s, offsets: Int64s) -> npt.NDArray[np.bool_]:
        """Which signatures are decided by what has come, and were not before."""
        decided = int64s(len(offsets) - 1)
        decide_matches(
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

    def found(
        self, frame: Frame, ids: Int64s, offsets: Int64s, alive: Int64s
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The rivals of each signature: events, their gaps as bits, and where each list begins.

        ``alive`` becomes 0 where a rival is sure to be in a gap.
        """
        count = len(offsets) - 1
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
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.rivals import find_rivals

        signatures, registers = self._signatures, self.registers
        candidates = signatures.candidates
        steps, updates = signatures.tables
        found = np.zeros((3, _RIVALS), dtype=np.int64)
        bounds = np.zeros((2, _longest(offsets)), dtype=np.int64)
        at = int64s(2)
        while not find_rivals(
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
