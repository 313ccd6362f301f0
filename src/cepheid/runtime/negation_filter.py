"""The matches of positive components that no negated component violates."""

from __future__ import annotations

import numpy as np

from cepheid.automata.generated import predicate_address
from cepheid.automata.nfa_b_tables import NegationTest
from cepheid.kernels import negation
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.event_batch import Bools, EventBatch
from cepheid.runtime.kernel_tables import Registers, int64s, step_tables


class NegationFilter:
    """Tests matches against one negated component."""

    def __init__(self, test: NegationTest, window: int) -> None:
        self.test = test
        self._window = window
        self._steps, self._updates = step_tables(test.steps, test.columns)
        self._registers = Registers(test.registers, test.columns, test.constants, 1)
        self._predicate = predicate_address(test.source)

    def violated(
        self,
        batch: EventBatch,
        partitions: Int64s,
        partition_count: int,
        axis: Int64s,
        ids: Int64s,
        offsets: Int64s,
    ) -> Bools:
        """Which of the matches an event of the batch violates."""
        columns = [batch.column(name) for name, _ in self.test.columns]
        self._registers.point_at(columns, batch.strings, batch.lists)
        events, index = self._index(batch, partitions, partition_count)
        violated = int64s(len(offsets) - 1)
        negation.find_violated(
            ids,
            offsets,
            violated,
            self._steps,
            self._updates,
            self._registers.context,
            self._registers.ints,
            self._registers.floats,
            self._registers.valid,
            events,
            index,
            partitions,
            axis,
            batch.first_event,
            self._window,
            self.test.after,
            self.test.before,
            self._predicate if self.test.is_across else 0,
            self._registers.context.ctypes.data,
        )
        return np.asarray(violated != 0, dtype=np.bool_)

    def _index(self, batch: EventBatch, partitions: Int64s, count: int) -> tuple[Int64s, Int64s]:
        """The events that can violate, by partition and in stream order."""
        mask = batch.mask([self.test.test], self._predicate, self._registers.context)
        places = np.flatnonzero((mask != 0) & (partitions >= 0))
        ordered = places[np.argsort(partitions[places], kind="stable")]
        sizes = np.bincount(partitions[places], minlength=count + 1)
        index = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return ordered + batch.first_event, index
