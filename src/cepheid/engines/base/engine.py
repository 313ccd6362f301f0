"""What every engine offers: fed with batches, it finds the matches of positive components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from cepheid.engines.base.event_batch import EventBatch
from cepheid.events.arrays import Int64s
from cepheid.matches.match_columns import MatchColumns
from cepheid.matches.metrics import EngineMetrics
from cepheid.snapshots import Arrays


class Engine(Protocol):
    """One alternative of a query over a stream, without its negations.

    ``partition_attributes`` are those in which all events of a match agree.
    ``reads_partitions`` says that the engine keeps them apart; else all events are of
    partition 0.
    """

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """Attributes in which all events of a match agree."""

    @property
    def reads_partitions(self) -> bool:
        """Whether the engine needs to know the partition of an event."""

    def feed(
        self, batch: EventBatch, partition_of: Int64s, partitions: int, axis: Int64s
    ) -> Iterator[tuple[Int64s, Int64s]]:
        """Read a batch; the matches that it completes, in blocks of tags and offsets.

        A match is ``tags[offsets[m]:offsets[m + 1]]``, its events in stream order; a tag is the
        event's number times 32 plus that of its component. A block is valid until the next.
        """

    def state(self) -> Arrays:
        """What the engine keeps between batches, for a snapshot."""

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""

    @property
    def metrics(self) -> EngineMetrics:
        """What the engine has done so far."""


@runtime_checkable
class ColumnEngine(Protocol):
    """An engine that also gives matches as columns, which is faster.

    A session asks for them where what the engine finds is the answer: one alternative, no
    negation, all output.
    """

    def feed_columns(
        self,
        batch: EventBatch,
        partition_of: Int64s,
        partitions: int,
        axis: Int64s,
        first_event: int,
    ) -> Iterator[MatchColumns]:
        """Read a batch; the events of each component, as numbers from ``first_event`` on."""


@runtime_checkable
class CountingEngine(Protocol):
    """An engine that can count matches without making them."""

    @property
    def counted(self) -> float:
        """How many matches there are, where it was told to count them."""


@runtime_checkable
class RenumberingEngine(Protocol):
    """An engine that can be told that partitions have other numbers from now on.

    Without it the numbers of partitions are not taken back, and a stream of ever new keys
    needs ever more memory.
    """

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if the engine still keeps something for it, at least.

        ``now`` is the least that an event to come can measure on the axis of the window.
        """

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give what is kept for partition p to partition ``numbers[p]``; unused ones have -1."""
