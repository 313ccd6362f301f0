"""Events in the order of their earliest times, as the kernels of this evaluation read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.codegen.steps import EventTest
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.registers import Registers
from cepheid.engines.imprecise.layout import Candidates, Intervals
from cepheid.events.arrays import Int64s
from cepheid.events.partition_numbers import PartitionNumbers


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


def partitions_of(frame: Frame, attributes: tuple[str, ...]) -> tuple[Int64s, int]:
    """The partition of each event of a frame, and how many there are."""
    numbers = PartitionNumbers()
    keys = [frame.batch.column(name) for name in attributes]
    found = numbers.number(keys, len(frame.batch))
    return found, max(numbers.count, 1)


def find_candidates(
    frame: Frame,
    tests: list[EventTest],
    registers: Registers,
    columns: tuple[str, ...],
    predicate: int,
    partition_of: Int64s,
    partitions: int,
) -> tuple[Candidates, Int64s]:
    """The events that pass each test, and for each event the tests that it passes, as bits."""
    batch = frame.batch
    registers.point_at([batch.column(name) for name in columns], batch.strings, batch.lists)
    mask = batch.mask(tests, predicate, registers.context)
    if len(partition_of) and partition_of.min() < 0:
        mask[partition_of < 0] = 0
    borders = np.zeros((len(tests), partitions + 1), dtype=np.int64)
    reach = np.zeros(len(tests), dtype=np.int64)
    lists = []
    begun = 0
    for bit, test in enumerate(tests):
        places = np.flatnonzero(mask & (1 << bit)) if test.types else np.zeros(0, np.int64)
        if partitions > 1:
            own = partition_of[places]
            places = places[np.argsort(own, kind="stable")]
            borders[bit, 1:] = np.cumsum(np.bincount(own, minlength=partitions))
        else:
            borders[bit, 1] = len(places)
        borders[bit] += begun
        begun += len(places)
        if len(places):
            reach[bit] = (frame.intervals.upper[places] - frame.intervals.lower[places]).max()
        lists.append(places)
    return Candidates(np.concatenate(lists).astype(np.int64), borders, reach), mask
