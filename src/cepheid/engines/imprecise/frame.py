"""Events in the order of their earliest times, as the kernels of this evaluation read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.codegen.generated import predicate_address
from cepheid.codegen.steps import EventTest, JointTests, NegationTest, NfaB, step_tables
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.kernels.conditions import Conditions
from cepheid.engines.base.registers import Registers
from cepheid.engines.imprecise.layout import Candidates, Intervals
from cepheid.events.arrays import Int64s

LONG_AGO = -(1 << 61)
"""Before all times: nothing has been decided yet."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The events in memory; ``fresh`` is 1 for the events that no search has seen.

    Instants are counted from ``base``. A signature is *decided* when no later event can change
    its confidence. If other events have a say in confidences, the frame is searched for the
    signatures that are decided from ``decided`` on and before ``settled``; otherwise for those
    with a fresh event.
    """

    batch: EventBatch
    intervals: Intervals
    fresh: Int64s
    base: int
    decided: int
    settled: int


class FrameTests:
    """Compiled tests of the events of a frame, and conditions across them."""

    def __init__(
        self, compiled: NfaB | NegationTest | JointTests, tests: Sequence[EventTest] = ()
    ) -> None:
        self._compiled = compiled
        self._tests = tests
        self._tables = step_tables(compiled.steps, compiled.columns)
        self._predicate = predicate_address(compiled.source)
        self._registers: dict[int, Registers] = {}

    def registers(self, frame: Frame, runs: int) -> Registers:
        """Registers of this many runs or more, for conditions across the events of a frame.

        The next frame gets the same ones.
        """
        if runs not in self._registers:
            self._registers[runs] = Registers(self._compiled, runs)
        self._registers[runs].read(frame.batch)
        return self._registers[runs]

    def conditions(self, registers: Registers) -> Conditions:
        """The conditions across events, which read and fill these registers."""
        return registers.conditions(self._tables, self._predicate)

    def candidates(
        self, frame: Frame, registers: Registers, partition_of: Int64s, partitions: int
    ) -> tuple[Candidates, Int64s]:
        """The events that pass each test, and for each event the tests that it passes, as bits."""
        mask = frame.batch.mask(self._tests, self._predicate, registers.context)
        if len(partition_of) and partition_of.min() < 0:
            mask[partition_of < 0] = 0
        borders = np.zeros((len(self._tests), partitions + 1), dtype=np.int64)
        reach = np.zeros(len(self._tests), dtype=np.int64)
        lengths = frame.intervals.upper - frame.intervals.lower
        lists = [np.zeros(0, np.int64)]
        begun = 0
        for bit, test in enumerate(self._tests):
            borders[bit] = begun
            places = (mask & (1 << bit)).nonzero()[0] if test.types else lists[0]
            if not len(places):
                continue
            if partitions > 1:
                own = partition_of[places]
                places = places[np.argsort(own, kind="stable")]
                borders[bit, 1:] += np.cumsum(np.bincount(own, minlength=partitions))
            else:
                borders[bit, 1] += len(places)
            begun += len(places)
            reach[bit] = lengths[places].max()
            lists.append(places)
        return Candidates(np.concatenate(lists), borders, reach), mask

    @property
    def types(self) -> frozenset[str]:
        """The types of the events that can pass a test."""
        return frozenset(name for test in self._tests for name in test.types)
