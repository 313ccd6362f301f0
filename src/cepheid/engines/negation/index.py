"""The events that can violate a negated component, indexed by time and partition [Wu06 §3.3].

The index is a list of *spans*: parts of the stream that follow each other. A span is sorted by
partition and then in stream order, so that a binary search finds the events at a place of the
pattern; it is dropped as a whole when all of it has left the window. New events become a span of
their own, and spans of similar size are merged, so that an event is moved a logarithmic number of
times however small the batches are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheid.engines.base.engine import Restored
from cepheid.engines.negation.layout import SpanArrays
from cepheid.events.arrays import Int64s
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.snapshot_checks import check_arrays, expected, require
from cepheid.snapshots import Arrays

_SPANS = 8
"""The least number of spans of a window."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Some events with their partitions and places on the axis of the window.

    ``columns`` are the attributes that conditions compare with those of a match.
    """

    arrays: SpanArrays
    columns: tuple[EncodedColumn, ...]
    from_axis: int
    to_axis: int
    from_event: int
    to_event: int

    @classmethod
    def of(cls, arrays: SpanArrays, columns: Sequence[EncodedColumn]) -> Span:
        """The span of some events, at least one, in any order."""
        if (np.diff(arrays.partitions) < 0).any():
            order = np.lexsort((arrays.events, arrays.partitions))
            arrays = SpanArrays(*(array[order] for array in arrays))
            columns = [taken(column, order) for column in columns]
        numbers = arrays.axis, arrays.events
        ends = (int(end) for each in numbers for end in (each.min(), each.max()))
        return cls(arrays, tuple(columns), *ends)

    def __len__(self) -> int:
        return len(self.arrays.events)

    def followed_by(self, other: Span) -> Span:
        """One span of both."""
        return Span.of(
            SpanArrays(*map(np.concatenate, zip(self.arrays, other.arrays, strict=True))),
            [_joined(pair) for pair in zip(self.columns, other.columns, strict=True)],
        )

    def pick(self, places: Int64s) -> Span:
        """The span of some of its events, at least one."""
        arrays = SpanArrays(*(array[places] for array in self.arrays))
        return Span.of(arrays, [taken(column, places) for column in self.columns])


class NegationIndex:
    """The spans of one negated component, the oldest first.

    An event is needed for ``reach`` on the axis of the window.
    """

    def __init__(self, reach: int, by_partition: bool) -> None:
        self._reach = reach
        self._by_partition = by_partition
        self._swept = 0
        self.spans: list[Span] = []

    def add(self, span: Span) -> None:
        """Add events that follow all others."""
        self.spans.append(span)
        while len(self.spans) > 1 and len(self.spans[-2]) <= 2 * len(self.spans[-1]):
            older, newer = self.spans[-2:]
            if newer.to_axis - older.from_axis > self._reach // _SPANS:
                break
            self.spans[-2:] = [older.followed_by(newer)]

    def between(self, events: tuple[int, int], axis: tuple[int, int]) -> list[Span]:
        """The spans with events between these two, on the axis too."""
        return [
            span
            for span in self.spans
            if span.to_event > events[0]
            and span.from_event < events[1]
            and span.to_axis > axis[0]
            and span.from_axis < axis[1]
        ]

    def evict(self, following: Int64s) -> None:
        """Drop the events that no later match can meet.

        ``following`` is the latest place of each partition on the axis of the window.
        """
        if self._by_partition:
            self._sweep(following)
            return
        kept = 0
        while kept < len(self.spans) and following[0] - self.spans[kept].to_axis >= self._reach:
            kept += 1
        del self.spans[:kept]

    def _sweep(self, following: Int64s) -> None:
        """If the window counts the events of a partition: drop event by event, but not often."""
        held = sum(map(len, self.spans))
        if held < 2 * self._swept:
            return
        for number, span in reversed(list(enumerate(self.spans))):
            needed = np.flatnonzero(
                following[span.arrays.partitions] - span.arrays.axis < self._reach
            )
            if not len(needed):
                del self.spans[number]
            elif 2 * len(needed) < len(span):
                self.spans[number] = span.pick(needed)
        self._swept = sum(map(len, self.spans))

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give each partition p the number ``numbers[p]``; their order stays the same."""
        for number, span in enumerate(self.spans):
            partitions = np.ascontiguousarray(numbers[span.arrays.partitions])
            self.spans[number] = replace(span, arrays=span.arrays._replace(partitions=partitions))

    def state(self) -> Arrays:
        """All events as one span, for a snapshot."""
        if not self.spans:
            return {}
        whole = self.spans[0]
        for span in self.spans[1:]:
            whole = whole.followed_by(span)
        arrays: Arrays = whole.arrays._asdict()
        for number, column in enumerate(whole.columns):
            arrays[f"values{number}"] = column.values
            if column.valid is not None:
                arrays[f"valid{number}"] = column.valid
        return arrays

    def load(self, state: Arrays, columns: int, restored: Restored) -> None:
        """Take the state of a snapshot."""
        self.spans = []
        if state:
            described = {
                "events": expected(np.int64, "events", each=(0, "next")),
                "partitions": expected(np.int64, "events", each=(0, "partitions")),
                "axis": expected(np.int64, "events"),
            }
            for number in range(columns):
                described[f"values{number}"] = expected(np.number, "events")
                if f"valid{number}" in state:
                    described[f"valid{number}"] = expected(np.bool_, "events")
            partitions = restored.partitions
            check_arrays(state, described, next=restored.events.stop, partitions=partitions)
            require(len(state["events"]) > 0, "a negation has no events")
            kept = [
                EncodedColumn(state[f"values{number}"], state.get(f"valid{number}"))
                for number in range(columns)
            ]
            arrays = SpanArrays(*(state[name] for name in SpanArrays._fields))
            self.spans.append(Span.of(arrays, kept))


def taken(column: EncodedColumn, places: Int64s) -> EncodedColumn:
    """The values of some events."""
    valid = None if column.valid is None else column.valid[places]
    return EncodedColumn(column.values[places], valid)


def _joined(pair: tuple[EncodedColumn, EncodedColumn]) -> EncodedColumn:
    values = np.concatenate([column.values for column in pair])
    if all(column.valid is None for column in pair):
        return EncodedColumn(values, None)
    known = [
        np.ones(len(column.values), dtype=np.bool_) if column.valid is None else column.valid
        for column in pair
    ]
    return EncodedColumn(values, np.concatenate(known))
