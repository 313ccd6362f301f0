"""The window of a session: the place of each event on its axis, and the events that it needs.

A window measures time, or counts the events of the stream or of each partition. Partitions are
those of the equivalence tests of the query.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, PositionArray, int64s, lent_numbers
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.own_windows import extent_of
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.snapshot_checks import require
from cepheid.snapshots import Arrays, part, prefixed
from cepheid.tuning import tuning

_GAPS = 4
"""The number of events kept per needed event, so that they stay consecutive."""

_COUNTING = np.arange(tuning().chunk_events, dtype=np.int64)


class SessionWindow:
    """The window of a query over a stream, and the partitions of the stream's events.

    ``extent`` is in ticks or events. The window measures time if ``is_time``, and counts the events
    of each partition if ``is_per_partition``. If it ``is_open``, the query has no window, and every
    event is always needed. ``now`` is the time that the stream has reached; None before
    the first event.
    """

    def __init__(self, query: AnalysedQuery, extent: int | None, retained: Retained) -> None:
        self.extent = extent_of(query, extent)
        measure = query.query.measure
        self.is_time = measure is ast.WindowMeasure.TIME
        self.is_per_partition = measure is ast.WindowMeasure.EVENTS_PER_PARTITION
        self.is_open = self.extent == MAX_TICKS
        self.now: int | None = None
        self.partitions = PartitionNumbers()
        self._retained = retained
        self._counts = int64s(0)
        self._types = None if self.is_per_partition else _types_that_matter(query.query)
        self._after_sweep = 0

    def measured(self, batch: EventBatch, keys: Sequence[EncodedColumn]) -> tuple[Int64s, Int64s]:
        """The partition of each event of a batch, and its place on the axis of the window."""
        if self.is_per_partition:
            partition, axis, self._counts = self.partitions.number_and_count(
                keys, len(batch), self._counts
            )
            return partition, axis
        places = None if self._types is None else batch.places_of(self._types)
        partition = self.partitions.number(keys, len(batch), places)
        if self.is_time:
            return partition, batch.ticks
        numbers = lent_numbers(len(batch))
        np.add(_COUNTING[: len(batch)], batch.first_event, out=numbers)
        return partition, numbers

    def following(self) -> Int64s:
        """For each partition, the least place on the axis that a later event can have."""
        if self.is_per_partition:
            return self._counts
        now = self.now if self.is_time else self._retained.next_number
        return np.full(max(self.partitions.count, 1), 0 if now is None else now, dtype=np.int64)

    @property
    def place_now(self) -> int:
        """The least place on the axis that a later event of the stream can have."""
        return self.now if self.is_time and self.now is not None else self._retained.next_number

    @property
    def edge(self) -> int:
        """The greatest place on the axis of the window that an evicted event can have."""
        if self.is_open:
            return -MAX_TICKS
        if self.is_per_partition:
            return int(self._counts.max(initial=0)) - self.extent
        return self.place_now - self.extent

    def evict(self, held: PositionArray | None) -> None:
        """Evict the events that no later match can contain, and that come before all held ones."""
        first = self._first_wanted()
        if held is not None:
            first = min(first, int(self._retained.places(held).min()))
        self._retained.drop_first(first)
        if self.is_per_partition:
            self._drop_gaps(held)

    def _first_wanted(self) -> int:
        """The place of the first event that is less than the extent before any later event."""
        retained = self._retained
        if self.is_time:
            assert self.now is not None
            return retained.until(max(self.now - self.extent, -MAX_TICKS))
        if self.is_per_partition:
            return retained.first_within(self._counts, self.extent)
        return min(max(len(retained) - self.extent + 1, 0), len(retained))

    def _drop_gaps(self, held: PositionArray | None) -> None:
        """Drop unneeded events between the events of a quiet partition.

        Lookup is fastest if events are consecutive, so gaps are made only if most events can
        go. The check runs only when the number of events has doubled since the last one.
        """
        retained = self._retained
        if len(retained) <= 2 * self._after_sweep + tuning().few_events:
            return
        wanted = retained.within(self._counts, self.extent)
        if held is not None:
            wanted |= retained.numbers >= held.min()
        if _GAPS * np.count_nonzero(wanted) < len(wanted):
            retained.keep(wanted)
        self._after_sweep = len(retained)

    def used_partitions(self) -> Int64s:
        """For each partition, 1 if a retained event is in it."""
        used = int64s(self.partitions.count)
        partition = self._retained.partition
        used[partition[partition >= 0]] = 1
        return used

    def keep_partitions(self, used: Int64s) -> Int64s:
        """Free the numbers of the partitions that are not used; the new number of each, or -1."""
        numbers = self.partitions.keep(used)
        self._retained.renumber_partitions(numbers)
        gone = numbers[: len(self._counts)] < 0
        self.partitions.count_from(int(self._counts[gone].max(initial=0)) + self.extent)
        self._counts = self._counts[~gone]
        return numbers

    def state(self) -> Arrays:
        """The numbers of partitions and the counts of their events, for a snapshot."""
        return {"counts": self._counts, **prefixed("partitions", self.partitions.state())}

    def load(self, arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        self._counts = counts = arrays["counts"]
        self.partitions.load(part("partitions", arrays))
        partition, count = self._retained.partition, max(self.partitions.count, 1)
        are_numbers = (partition >= -1).all() and (partition < count).all()
        require(are_numbers, "a retained event is in an unknown partition")
        least = int(partition.max(initial=-1)) + 1 if self.is_per_partition else 0
        require(least <= len(counts) <= count, "the counts of partitions are wrong")
        if self.is_per_partition:
            axis, known = self._retained.axis, partition >= 0
            are_counted = axis[known] < counts[partition[known]]
            require(are_counted.all(), "a partition has more events than were counted")


def _types_that_matter(query: ast.Query) -> frozenset[str] | None:
    """The types of events that can be in a match or violate one; None if all events can."""
    if not query.strategy.skips:
        return None
    return frozenset(
        name for component, _ in ast.components(query.pattern) for name in component.types
    )
