"""The rivals of signatures: other events that decide whether these are matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import NONE
from cepheid.codegen.steps import NegationTest
from cepheid.engines.base.kernels.conditions import Conditions
from cepheid.engines.base.registers import Registers
from cepheid.engines.imprecise.frame import Frame, FrameTests
from cepheid.engines.imprecise.kernels.rivals import decide_matches, find_next, find_violating
from cepheid.engines.imprecise.layout import NEED_OUTPUT, Batch, Gap, Int64Rows, Rivals, Signatures
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s, int64s
from cepheid.jit.drive import Drive
from cepheid.tuning import tuning


class ViolationSearch:
    """Finds the events that can violate a negated component of a match."""

    def __init__(self, negation: NegationTest, window: int, gap: int, drive: Drive) -> None:
        after = negation.after.bit_length() - 1
        before = (negation.before & -negation.before).bit_length() - 1
        self.gap = Gap(gap, after, before, 0 if negation.is_across else NONE)
        self._window = window
        self._drive = drive
        self._tests = FrameTests(negation, [negation.test])
        self._registers: Registers
        self._batch: Batch

    def look_at(self, frame: Frame, batch: Batch) -> None:
        """Find the events of a frame that can violate some match."""
        self._registers = self._tests.registers(frame, 1)
        partitions = batch.candidates.borders.shape[1] - 1
        candidates, _ = self._tests.candidates(
            frame, self._registers, batch.partition_of, partitions
        )
        self._batch = batch._replace(candidates=candidates)

    def rivals(self, signatures: Signatures) -> Int64Rows:
        """The match, the event and the gap of each."""
        conditions, bounds = self._tests.conditions(self._registers), _bounds(signatures)
        return _listed(
            self._drive,
            lambda found, at: find_violating(
                signatures, self._batch, conditions, self._window, self.gap, bounds, found, at
            ),
        )


class RivalSearch:
    """Finds the rivals of signatures: events that could be next, or that violate a negation.

    The gaps in which a rival must not lie are numbered in time order.
    """

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._signatures = signatures
        self._window = window
        by_place = sorted(negations, key=lambda test: test.after)
        self._negations = [
            ViolationSearch(test, window, gap, signatures.drive)
            for gap, test in enumerate(by_place)
        ]
        self._waits = any(test.waits for test in negations)
        self.looks_back = any(not test.after for test in negations)
        if signatures.is_next:
            count = len(signatures.automaton.steps)
            gaps = [(component - 1, component) for component in range(count)]
        else:
            gaps = [(each.gap.after, each.gap.before) for each in self._negations]
        self._none = Rivals(
            gap_after=np.array([after for after, _ in gaps], dtype=np.int64),
            gap_before=np.array([before for _, before in gaps], dtype=np.int64),
        )
        # What tests conditions across events in the frame that is looked at.
        self.conditions: Conditions
        self._registers: Registers

    def look_at(self, frame: Frame) -> None:
        """Prepare for the signatures of a frame; its search must have begun."""
        # Its own registers: the search continues while signatures are scored.
        tests = self._signatures.tests
        self._registers = tests.registers(frame, 1)
        self.conditions = tests.conditions(self._registers)
        for negation in self._negations:
            negation.look_at(frame, self._signatures.batch)

    def decided(self, frame: Frame, signatures: Signatures) -> npt.NDArray[np.bool_]:
        """Which signatures are decided by the events so far, and were not before."""
        decided = int64s(signatures.size)
        bounds = _bounds(signatures)
        decide_matches(signatures, frame.intervals, self._window, self._waits, bounds, decided)
        return np.asarray(
            (decided >= frame.decided - frame.base) & (decided < frame.settled - frame.base)
        )

    def found(self, signatures: Signatures, alive: Int64s) -> Rivals:
        """The rivals of each signature.

        ``alive`` becomes 0 if a rival is certain to be in a gap.
        """
        count = signatures.size
        if self._signatures.is_next:
            found = self._could_be_next(signatures, alive)
        else:
            found = np.concatenate([each.rivals(signatures) for each in self._negations], axis=1)
        if not found.shape[1]:
            return self._none._replace(offsets=int64s(count + 1))
        match, event, gap = found
        order = np.lexsort((event, match))
        match, event, gap = match[order], event[order], gap[order]
        first = np.concatenate([[True], (np.diff(match) != 0) | (np.diff(event) != 0)])
        begins = np.flatnonzero(first)
        return self._none._replace(
            events=np.ascontiguousarray(event[begins]),
            bits=np.bitwise_or.reduceat(np.int64(1) << gap, begins),
            offsets=np.searchsorted(match[begins], np.arange(count + 1)).astype(np.int64),
        )

    def _could_be_next(self, signatures: Signatures, alive: Int64s) -> Int64Rows:
        batch, bounds = self._signatures.batch, _bounds(signatures)
        return _listed(
            self._signatures.drive,
            lambda found, at: find_next(
                signatures, batch, self.conditions, self._window, bounds, alive, found, at
            ),
        )


def _listed(drive: Drive, find: Callable[[Int64Rows, Int64s], int]) -> Int64Rows:
    """What a kernel writes into three rows, with its second number of positions as the length."""
    found, at = np.zeros((3, tuning().rivals), dtype=np.int64), int64s(2)

    def more_room() -> None:
        nonlocal found
        found = np.concatenate([found, np.zeros_like(found)], axis=1)

    drive.run(lambda: find(found, at), {NEED_OUTPUT: more_room})
    return found[:, : at[1]]


def _bounds(signatures: Signatures) -> Int64Rows:
    return np.zeros((2, signatures.most_events), dtype=np.int64)
