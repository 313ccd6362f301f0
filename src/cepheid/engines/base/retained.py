"""The events that a session still needs, because a later match can contain or be violated by them.

Events are numbered in the order in which they arrive. The retained events are a part of the stream,
in order; the *place* of an event is its index among them.

They are stored as the pieces in which they arrived, slices of the caller's tables. One table is
made of them only when their attributes are read: by a predicate over lists, a negation, or the
output of a match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepheid.errors import unfed
from cepheid.events.arrays import Int64s, PositionArray
from cepheid.events.columns.arrow_arrays import empty_table
from cepheid.events.columns.list_columns import ListColumns
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.event_view import EventView
from cepheid.events.events import Events
from cepheid.events.tail import Tail
from cepheid.events.time_axis import MAX_TICKS, TimeAxis
from cepheid.language.syntax import WindowMeasure
from cepheid.matches.bindings import Bindings, MatchTimes
from cepheid.schema import Kind, Schema, kind_of
from cepheid.snapshot_checks import FAR, check_arrays, expected, require
from cepheid.snapshots import Arrays, table_bytes, table_from
from cepheid.tuning import tuning

EVENT_ARRAYS = {
    "table": expected(np.uint8, "bytes"),
    "rows": expected(np.int64, "events"),
    "ticks": expected(np.int64, "events"),
    "type_codes": expected(np.int32, "events", each=(0, "types")),
}
"""The arrays of events in a snapshot."""
_MANY_PIECES = 64
"""If there are more pieces than this, those that arrived last are joined."""


class Retained:
    """The events in memory, with their places on the window axis and, if needed, partitions."""

    def __init__(
        self,
        measure: WindowMeasure = WindowMeasure.TIME,
        *,
        keeps_partitions: bool = True,
        in_time_order: bool = True,
    ) -> None:
        self.next_number = 0
        self._in_time_order = in_time_order
        self._measure = measure
        self.keeps_partitions = keeps_partitions
        self._pieces: deque[Events] = deque()
        self._whole = 0  # the length of the first piece when it arrived
        self._skipped = 0  # how many events of the first piece were dropped
        self._ticks, self._axis, self._partition = Tail(), Tail(), Tail()
        self._gaps: Int64s | None = None  # the numbers of the events, if some were dropped
        self.latest: Events | None = None
        """No events, with the columns, schema and time axis of the events so far."""
        self._lists: ListColumns | None = None
        self._type_names: dict[str, int] = {}
        # The session's numbers for the types of a batch; None if they are those of the batch.
        self._codes_of: dict[tuple[str, ...], npt.NDArray[np.int32] | None] = {}

    def __len__(self) -> int:
        return len(self._ticks)

    @property
    def events(self) -> Events:
        """The retained events as one batch; positions in it are places."""
        joined = self.view.events
        self._hold([joined] if len(joined) else [])
        return joined

    def _hold(self, pieces: Sequence[Events]) -> None:
        """Hold at most one piece."""
        self._pieces = deque(pieces)
        self._whole, self._skipped = sum(map(len, pieces)), 0

    @property
    def view(self) -> EventView:
        """The events as of now; they are joined into one piece only when they are read."""
        numbers = self.first_number if self._gaps is None else self._gaps
        return EventView(self._pieces, self._last_piece, numbers, self._skipped)

    @property
    def type_names(self) -> tuple[str, ...]:
        """The types seen so far; the number of a type never changes."""
        known = self.latest.type_names if self.latest is not None else ()
        return known if len(known) == len(self._type_names) else tuple(self._type_names)

    @property
    def schema(self) -> Schema:
        """The schema of the events."""
        return self._last_piece.schema

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._last_piece.time_axis

    @property
    def _last_piece(self) -> Events:
        if self.latest is None:
            raise unfed("advances")
        return self.latest

    @property
    def ticks(self) -> Int64s:
        """The time of each event."""
        return self._ticks.values

    def times_of(self, matches: Bindings) -> MatchTimes:
        """The times of the first and the last event of each match; its positions are places."""
        ticks = self._ticks.as_it_is(2 * len(matches))
        return MatchTimes(
            lambda: ticks.at(matches.first_events()),
            lambda: ticks.at(matches.last_events()),
            ticks.span,
        )

    def until(self, time: int) -> int:
        """The number of events that are not later than a time."""
        return self._ticks.up_to(time)

    @property
    def axis(self) -> Int64s:
        """The place of each event on the axis of the window."""
        if self._measure is WindowMeasure.TIME:
            return self.ticks
        if self._measure is WindowMeasure.EVENTS:
            return self.numbers
        self._join()
        return self._axis.values

    @property
    def partition(self) -> Int64s:
        """The partition of each event; 0 if events are not partitioned."""
        if self.keeps_partitions:
            self._join()
            return self._partition.values
        return np.zeros(len(self), dtype=np.int64)

    def measured_at(self, places: PositionArray) -> tuple[Int64s, Int64s]:
        """The place of some events on the axis of the window, and their partitions."""
        partition = np.zeros(len(places), dtype=np.int64)
        if self.keeps_partitions:
            partition = self._partition.at(places)
        if self._measure is WindowMeasure.TIME:
            return self._ticks.at(places), partition
        if self._measure is WindowMeasure.EVENTS:
            return self.numbers[places], partition
        # Both tails have the same pieces, and are looked up in the same way, so they stay aligned.
        return self._axis.at(places), partition

    @property
    def first_number(self) -> int:
        """The number of the first event."""
        return self.next_number - len(self) if self._gaps is None else int(self._gaps[0])

    @property
    def numbers(self) -> Int64s:
        """The number of each event."""
        if self._gaps is not None:
            return self._gaps
        return np.arange(self.first_number, self.next_number, dtype=np.int64)

    @property
    def are_consecutive(self) -> bool:
        """Whether no event between the first and the last one was dropped."""
        return self._gaps is None

    def append(self, batch: Events) -> Events:
        """Add a batch; its events are numbered from ``next_number``. The batch as it is retained.

        :meth:`measured` must then add their places on the window axis and their partitions.
        """
        if self._gaps is not None:
            added = np.arange(self.next_number, self.next_number + len(batch), dtype=np.int64)
            self._gaps = np.concatenate([self._gaps, added])
        self.next_number += len(batch)
        self._lists = None
        batch = self._with_known_types(batch)
        if self.latest is None or not _have_same_schema(batch, self.latest):
            self.latest = _empty_like(batch)
        if not len(batch):
            return batch
        self._ticks.append(batch.ticks)
        if not self._pieces:
            self._whole = len(batch)
        self._pieces.append(batch)
        if len(self._pieces) > _MANY_PIECES:
            self._join_last(self.latest)
        return batch

    def _join_last(self, latest: Events) -> None:
        """Join the last pieces, until the piece before is twice as long, or long enough."""
        if self._skipped:
            first = self._pieces[0]
            self._pieces[0], self._skipped = first.slice(self._skipped, len(first)), 0
        last = deque([self._pieces.pop()])
        size, most = len(last[0]), tuning().chunk_events
        while self._pieces and len(self._pieces[-1]) <= min(2 * size, most - size):
            last.appendleft(self._pieces.pop())
            size += len(last[0])
        self._pieces.append(EventView(last, latest).events if len(last) > 1 else last[0])
        self._whole = len(self._pieces[0]) if len(self._pieces) == 1 else self._whole

    def measured(self, axis: Int64s, partition: Int64s) -> None:
        """Add the places on the window axis and the partitions of the next appended events."""
        if self._measure is WindowMeasure.EVENTS_PER_PARTITION:
            self._axis.append(axis)
        if self.keeps_partitions:
            self._partition.append(partition)

    def drop_first(self, count: int) -> None:
        """Evict the first events."""
        if not count:
            return
        self._lists = None
        self._each_tail(lambda tail: tail.drop_first(count))
        if self._gaps is not None:
            self._gaps = self._without_gaps(self._gaps[count:])
        count += self._skipped
        while count and count >= len(self._pieces[0]):
            count -= len(self._pieces.popleft())
            self._whole = len(self._pieces[0]) if self._pieces else 0
        self._skipped = count
        if count:
            first = self._pieces[0]
            # Dropped events are in memory as long as their piece. What is left of the latest batch
            # is not copied: the next batch usually evicts all of it.
            if 2 * (len(first) - count) <= self._whole and len(self._pieces) > 1:
                self._pieces[0] = first.take(np.arange(count, len(first)))
                self._whole, self._skipped = len(first) - count, 0

    def first_within(self, counts: Int64s, extent: int) -> int:
        """The place of the first event that is less than an extent before the end of its partition.

        Only for a window that counts the events of partitions; ``counts`` has these numbers.
        """
        from cepheid.events.kernels.partition_ids import first_of_last, first_within

        pieces = self._measured_pieces()
        last_axis, last_partition = pieces[-1]
        # No event that is less than an extent before the end has been dropped. If there are few of
        # them compared with the last batch, they are searched for from its end.
        if len(counts) * extent < len(last_axis):
            wanted = int(np.minimum(counts, extent - 1).sum())
            here: int = first_of_last(last_partition, last_axis, counts, extent, wanted)
            if here >= 0:
                return len(self) - len(last_axis) + here
        first = 0
        for axis, partition in pieces:
            here = first_within(partition, axis, counts, extent)
            first += here
            if here < len(axis):
                break
        return first

    def within(self, counts: Int64s, extent: int) -> npt.NDArray[np.bool_]:
        """Which events are less than an extent before the end of their partition; as above."""
        from cepheid.events.kernels.partition_ids import mark_within

        found, low = np.empty(len(self), dtype=np.bool_), 0
        for axis, partition in self._measured_pieces():
            mark_within(partition, axis, counts, extent, found[low : low + len(axis)])
            low += len(axis)
        return found

    def _measured_pieces(self) -> list[tuple[Int64s, Int64s]]:
        """The places on the axis and the partitions of events, in pieces that are not joined."""
        axes = list(self._axis.pieces)
        partitions = (
            list(self._partition.pieces)
            if self.keeps_partitions
            else [np.zeros(len(axis), np.int64) for axis in axes]
        )
        return list(zip(axes, partitions, strict=True))

    def keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Evict the events that are not wanted."""
        places = np.flatnonzero(wanted)
        kept = self.events.take(places)
        self._gaps = self._without_gaps(self.numbers[places])
        self._lists = None
        self._hold([kept])
        self._each_tail(lambda tail: tail.keep(places))

    def keep_partitions(self, partition: Int64s | None) -> None:
        """Keep the partition of each event from now on: these are known; None: keep none."""
        self.keeps_partitions = partition is not None
        self._partition = Tail(partition)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give each partition p the number ``numbers[p]``."""
        self._join()
        partition = self._partition.values
        self._partition.replace(np.where(partition >= 0, numbers[partition], partition))

    def _join(self) -> None:
        """Join the pieces of the two tails that are read together, so that they stay aligned."""
        _ = self._axis.values, self._partition.values

    def lists(self, strings: StringCodes) -> ListColumns:
        """The list attributes of all retained events."""
        if self._lists is None:
            numbers = None if self.are_consecutive else self.numbers
            self._lists = ListColumns(
                lambda: self.events.table, strings, self.first_number, numbers
            )
        return self._lists

    def places(self, numbers: PositionArray) -> PositionArray:
        """The places of the events with these numbers."""
        if self._gaps is None:
            return numbers - self.first_number if self.first_number else numbers
        places: Int64s = np.searchsorted(self._gaps, numbers)
        return places

    def state(self) -> Arrays:
        """The retained events as arrays, for a snapshot."""
        events = self.events
        return {
            "next_number": np.array([self.next_number]),
            "numbers": np.empty(0, dtype=np.int64) if self._gaps is None else self._gaps,
            "axis": self._axis.values,
            "partition": self._partition.values,
            **events_state(events),
        }

    def load(
        self, state: Arrays, type_names: Sequence[str], axis: TimeAxis, schema: Schema
    ) -> None:
        """Restore the state of a snapshot."""
        by_partition = self._measure is WindowMeasure.EVENTS_PER_PARTITION
        described = {
            "next_number": expected(np.int64, 1, each=(0, FAR)),
            "numbers": expected(np.int64, "numbers"),
            "axis": expected(np.int64, "events" if by_partition else 0),
            "partition": expected(np.int64, "events" if self.keeps_partitions else 0),
        }
        known = {name: state[name] for name in state if name not in EVENT_ARRAYS}
        events = events_from(
            {name: state[name] for name in state if name in EVENT_ARRAYS}, type_names, axis, schema
        )
        check_arrays(known, described, events=len(events))
        ticks = state["ticks"]
        if self._in_time_order:
            require((ticks[1:] >= ticks[:-1]).all(), "retained events are not in time order")
        span = int(ticks.max(initial=0)) - int(ticks.min(initial=0))
        require(span <= MAX_TICKS, "times of retained events are too far apart")
        self.next_number = int(state["next_number"][0])
        gaps = state["numbers"]
        require(len(gaps) in (0, len(events)), "not all retained events have numbers")
        numbers = gaps if len(gaps) else np.array([self.next_number - len(events)])
        are_numbers = numbers[0] >= 0 and (np.diff(numbers) > 0).all()
        require(are_numbers and numbers[-1] <= self.next_number, "retained events have no numbers")
        self._type_names = {name: code for code, name in enumerate(type_names)}
        self._codes_of = {}
        self.latest = _empty_like(events)
        self._hold([events] if len(events) else [])
        self._ticks = Tail(ticks)
        self._axis, self._partition = Tail(state["axis"]), Tail(state["partition"])
        self._gaps = self._without_gaps(state["numbers"])

    def _without_gaps(self, numbers: Int64s) -> Int64s | None:
        """The numbers, or None if they are those of the last events of the stream."""
        are_last = not len(numbers) or numbers[0] == self.next_number - len(numbers)
        return None if are_last else numbers

    def _each_tail(self, change: Callable[[Tail], None]) -> None:
        change(self._ticks)
        for tail in (self._axis, self._partition):
            if len(tail):
                change(tail)

    def _with_known_types(self, batch: Events) -> Events:
        """The batch with the session's numbers for types, which never change."""
        if self.latest is not None and batch.type_names == self.latest.type_names:
            return batch
        names = batch.type_names
        if names not in self._codes_of:
            for name in names:
                self._type_names.setdefault(name, len(self._type_names))
            found = [self._type_names[name] for name in names]
            if len(self._codes_of) >= _MANY_PIECES:
                self._codes_of.clear()
            are_same = found == list(range(len(found)))
            self._codes_of[names] = None if are_same else np.array(found, dtype=np.int32)
        codes = self._codes_of[names]
        return Events(
            batch.table,
            batch.row_numbers,
            batch.ticks,
            batch.time_axis,
            batch.type_codes if codes is None else codes[batch.type_codes],
            self.type_names,
            batch.schema,
            batch.numbers,
        )


def events_state(events: Events) -> Arrays:
    """The events as arrays, for a snapshot; it has their types, time axis and schema elsewhere."""
    return {
        "table": table_bytes(events.table),
        "rows": events.rows,
        "ticks": events.ticks,
        "type_codes": events.type_codes,
    }


def events_from(state: Arrays, type_names: Sequence[str], axis: TimeAxis, schema: Schema) -> Events:
    """The events of a snapshot."""
    check_arrays(state, EVENT_ARRAYS, types=len(type_names))
    table = table_from(state["table"])
    require(len(table) == len(state["ticks"]), "retained events have no times")
    require(len({*type_names}) == len(type_names), "two types have the same name")
    names = {*table.column_names}
    require(len(names) == table.num_columns, "two columns have the same name")
    for field in table.schema:
        kinds = {kind_of(field.type), schema.kind(field.name), Kind.UNKNOWN}
        require(len(kinds) < 3, f"column {field.name!r} is {field.type}")
    return Events(
        table,
        state["rows"],
        state["ticks"],
        axis,
        state["type_codes"],
        tuple(type_names),
        schema,
    )


def _have_same_schema(batch: Events, other: Events) -> bool:
    """Whether both have the same columns, types and schema, regardless of their events."""
    return (
        (batch.time_axis is other.time_axis or batch.time_axis == other.time_axis)
        and batch.type_names == other.type_names
        and (batch.schema is other.schema or batch.schema == other.schema)
        and batch.table.schema.equals(other.table.schema)
    )


def _empty_like(events: Events) -> Events:
    """No events, with the columns and schema of these; a slice would keep them in memory."""
    none = np.empty(0, dtype=np.int64)
    return replace(
        events,
        table=empty_table(events.table.schema),
        row_numbers=none,
        ticks=none,
        type_codes=np.empty(0, dtype=np.int32),
    )
