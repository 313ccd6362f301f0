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
from cepheid.engines.imprecise.kernels.rivals import (
    SINCE_START,
    UNTIL_END,
    decide_matches,
    find_between,
    find_next,
    find_violating,
)
from cepheid.engines.imprecise.layout import (
    AT_END,
    AT_START,
    NEED_OUTPUT,
    Batch,
    Gap,
    Int64Rows,
    Rivals,
    Signatures,
)
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s, int64s
from cepheid.jit.drive import Drive
from cepheid.tuning import tuning


class ViolationSearch:
    """Finds the events that can violate a negated component of a match."""

    def __init__(self, negation: NegationTest, window: int, drive: Drive) -> None:
        after = negation.after.bit_length() - 1
        before = (negation.before & -negation.before).bit_length() - 1
        self.gap = Gap(after, before, 0 if negation.is_across else NONE)
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
    """Finds the rivals of signatures.

    These are events that could be next, that violate a negation, or that are between events which
    have to be adjacent.
    """

    def __init__(
        self, signatures: SignatureSearch, negations: Sequence[NegationTest], window: int
    ) -> None:
        self._signatures = signatures
        self._window = window
        self._negations = [ViolationSearch(test, window, signatures.drive) for test in negations]
        self._waits = any(test.waits for test in negations)
        self.looks_back = any(not test.after for test in negations)
        self.types = frozenset(name for test in negations for name in test.test.types)
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
        count, some = signatures.size, [each.rivals(signatures) for each in self._negations]
        if self._signatures.is_next or self._signatures.is_contiguous:
            some.append(self._in_between(signatures, alive))
        found = np.concatenate(some, axis=1)
        if not found.shape[1]:
            return Rivals(offsets=int64s(count + 1), gap_offsets=int64s(1))
        order = np.lexsort(found[::-1])
        match, event, gap = found[:, order]
        is_first = np.append(True, (np.diff(match) != 0) | (np.diff(event) != 0))
        is_known = np.append(False, np.diff(gap) == 0) & ~is_first
        match, event, gap = match[~is_known], event[~is_known], gap[~is_known]
        begins = np.flatnonzero(is_first[~is_known])
        gap = np.where(gap == SINCE_START, AT_START, np.where(gap == UNTIL_END, AT_END, gap))
        return Rivals(
            events=np.ascontiguousarray(event[begins]),
            offsets=np.searchsorted(match[begins], np.arange(count + 1)).astype(np.int64),
            gap_offsets=np.append(begins, len(gap)),
            gaps=gap,
        )

    def _in_between(self, signatures: Signatures, alive: Int64s) -> Int64Rows:
        """The events that a run would have taken instead, or that it could not skip."""
        find, batch = find_next, self._signatures.batch
        if self._signatures.is_contiguous:
            find, batch = find_between, self._signatures.others
        bounds = _bounds(signatures)
        return _listed(
            self._signatures.drive,
            lambda found, at: find(
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
