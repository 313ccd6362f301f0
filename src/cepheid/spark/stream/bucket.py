"""One hash bucket of a stream: its session, and the events that wait to be fed.

Events arrive out of order, and a session reads them in order. So an event waits until the frontier
has reached it: until only late events could come before it. The answer of a step depends only on
the state, the step's events and its frontiers, so running a step again gives the same matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import EventError
from cepheid.events.order import stream_order
from cepheid.snapshot_checks import require
from cepheid.snapshots import Parts, table_from
from cepheid.spark.stream.packing import CHANGE, Arrived, from_blob, to_blob
from cepheid.spark.stream.timing import NO_TIME, TICKS, Timing

_EPOCH = datetime(1970, 1, 1)


class TimedSession(Protocol):
    """The state that a bucket needs of a session; times are in microseconds."""

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event."""

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""

    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot."""


class BucketWorker(Protocol):
    """A session that answers with batches of the schema that Spark was given."""

    @property
    def session(self) -> TimedSession:
        """The session."""

    @property
    def runs(self) -> int:
        """How much the session follows: runs, instances or searches."""

    def feed(self, events: pa.Table) -> Iterator[pa.RecordBatch]:
        """The matches that these events complete."""

    def advance(self, time: datetime) -> Iterator[pa.RecordBatch]:
        """The matches that are complete because no later event has an earlier time."""


@runtime_checkable
class ChangingWorker(Protocol):
    """A session that takes changes of what it runs."""

    def apply(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        """Make changes; the matches that this releases."""

    def counted(self) -> str:
        """What has been counted of each rule since this was asked for the last time, as JSON."""


class BucketSettings(Protocol):
    """What a bucket needs of the settings of a stream."""

    @property
    def time(self) -> str:
        """The column with the time of an event."""

    @property
    def ties(self) -> Sequence[str]:
        """The columns that order events of equal time."""

    def tie_values(self, events: pa.Table) -> Sequence[pa.Array | pa.ChunkedArray]:
        """What events of equal time are ordered by, from these columns."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that are needed."""

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of matches."""

    def worker(self, snapshot: bytes | memoryview | None = None) -> BucketWorker:
        """A session in this process: a new one, or that of a snapshot."""


@dataclass(frozen=True)
class BucketState:
    """The state of a bucket between two steps.

    A snapshot of its session, a blob of the events that wait, and the frontier it has reached. The
    snapshot has no parts if there is no session, one part if it was read, and several if a step
    has left it; these must be written before the next step. If the last event that was answered is
    exactly as old as the frontier, it is in the blob, too.
    """

    session: Parts
    waiting: bytes | None
    reached: int

    @cached_property
    def session_size(self) -> int:
        """The size of the snapshot in bytes."""
        return sum(map(len, self.session))


@dataclass(frozen=True)
class Step:
    """The result of a step: batches of matches, late events, the most runs at a time.

    ``rules`` is what each rule of a set has cost, as JSON.
    """

    matches: list[pa.RecordBatch]
    late: pa.Table | None
    runs: int
    rules: str | None = None


class Bucket:
    """The events of a bucket, which advance with the frontier.

    A late event is returned with all of its columns, also those that the queries do not need.
    """

    def __init__(
        self, settings: BucketSettings, timing: Timing, stored: BucketState | None = None
    ) -> None:
        self._settings = settings
        self._timing = timing
        self._waiting: pa.Table | None = None
        self._last: pa.Table | None = None
        self._worker: BucketWorker | None = None
        self.reached = NO_TIME if stored is None else stored.reached
        if stored is not None and stored.waiting is not None:
            table = table_from(stored.waiting)
            known = table.column_names == [*settings.columns]
            require(known, f"waiting events have the columns {table.column_names}")
            is_waiting = self._times(table) > self.reached
            self._waiting = _some(table.filter(pa.array(is_waiting)))
            self._last = _some(table.filter(pa.array(~is_waiting)))
        if stored is not None and stored.session:
            (snapshot,) = stored.session
            self._worker = settings.worker(snapshot)

    def step(self, arrived: Arrived) -> Step:
        """Take the events that arrived, and answer up to a frontier.

        An event is late if it is older than the frontier before the step, or as old and before the
        last event that was answered. Changes are made before events are answered.
        """
        self._reach(arrived.before)
        tables = [from_blob(blob) for blob in arrived.blobs]
        changes = [table for table in tables if CHANGE in table.column_names]
        late, in_time = self._without_late(
            table for table in tables if CHANGE not in table.column_names
        )
        self._reach(arrived.after)
        if self._timing.in_order:
            for table in in_time:
                self._reach(int(self._times(table).max()))
        known = [*([] if self._waiting is None else [self._waiting]), *in_time]
        matches: list[pa.RecordBatch] = []
        if changes:
            self._worker = self._worker or self._settings.worker()
            assert isinstance(self._worker, ChangingWorker)
            matches.extend(self._worker.apply(pa.concat_tables(changes)))
        if known:
            ready, self._waiting = self._in_order(pa.concat_tables(known))
            if ready is not None:
                self._worker = self._worker or self._settings.worker()
                matches.extend(self._worker.feed(ready))
                self._last = ready.slice(len(ready) - 1)
        if self._last is not None and self._times(self._last)[0] < self.reached:
            self._last = None
        runs, rules = 0, None
        if self._worker is not None and self.reached > NO_TIME:
            matches.extend(self._worker.advance(_EPOCH + timedelta(microseconds=self.reached)))
            runs = self._worker.runs
            evicted = self._worker.session.evicted_from
            # Spark's watermark, which tells what is late if there is no state, has no microseconds.
            if isinstance(self._worker, ChangingWorker):
                rules = self._worker.counted()
            if evicted is not None and evicted <= self.reached // TICKS * TICKS:
                self._worker = None
        return Step(matches, late, runs, rules)

    @property
    def is_costly(self) -> bool:
        """Whether the session takes long to restore: it has many rules."""
        return isinstance(self._worker, ChangingWorker)

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return 0 if self._waiting is None else len(self._waiting)

    @property
    def oldest_us(self) -> int | None:
        """The time of the oldest event that waits."""
        return None if self._waiting is None else int(self._times(self._waiting).min())

    @property
    def due_us(self) -> int | None:
        """The frontier at which the bucket has something to do even without events."""
        times = [] if self.oldest_us is None else [self.oldest_us]
        if self._worker is not None:
            session = self._worker.session
            due_times = (session.next_completion, session.evicted_from)
            times.extend(time for time in due_times if time is not None)
        return min(times, default=None)

    @property
    def due(self) -> int | None:
        """The watermark, in milliseconds, at which the bucket has something to do."""
        due_us = self.due_us
        return None if due_us is None else max(-(-due_us // TICKS), self.reached // TICKS + 1)

    def left(self) -> BucketState | None:
        """The state; None if there is nothing to store."""
        if self._waiting is None and self._worker is None and self._timing.is_known_to_spark:
            return None
        stored = [table for table in (self._last, self._waiting) if table is not None]
        return BucketState(
            () if self._worker is None else self._worker.session.snapshot_parts(),
            to_blob(pa.concat_tables(stored)) if stored else None,
            self.reached,
        )

    def _reach(self, frontier: int) -> None:
        self.reached = max(self.reached, frontier)

    def _without_late(self, fresh: Iterable[pa.Table]) -> tuple[pa.Table | None, list[pa.Table]]:
        late, in_time = [], []
        for table in fresh:
            times = self._times(table)
            is_late = times < self.reached
            self._mark_passed(table, times, is_late)
            if is_late.any():
                late.append(table.filter(pa.array(is_late)))
                table = table.filter(pa.array(~is_late))
            if table.num_rows:
                in_time.append(table.select(self._settings.columns))
        return (pa.concat_tables(late) if late else None), in_time

    def _mark_passed(
        self, table: pa.Table, times: npt.NDArray[np.int64], is_late: npt.NDArray[np.bool_]
    ) -> None:
        """Mark the events as old as the last one that was answered that belong before it."""
        at_once = np.flatnonzero(times == self.reached)
        if self._last is None or self._times(self._last)[0] != self.reached or not len(at_once):
            return
        ties = [*self._settings.ties]
        rows = table.select(ties).take(pa.array(at_once))
        both = pa.concat_tables([self._last.select(ties).cast(rows.schema), rows])
        order = stream_order(np.zeros(len(both), np.int64), self._settings.tie_values(both))
        if order is not None:
            passed = order[: np.flatnonzero(order == 0)[0]] - 1
            is_late[at_once[passed]] = True

    def _times(self, events: pa.Table) -> npt.NDArray[np.int64]:
        column = events.column(self._settings.time)
        if column.null_count:
            raise EventError(
                f"time column {self._settings.time!r} is null in {column.null_count} of "
                f"{len(column)} events; an event needs a time: leave such rows out of the stream, "
                "or fill it in"
            )
        times: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
        return times

    def _in_order(self, events: pa.Table) -> tuple[pa.Table | None, pa.Table | None]:
        """The events up to the frontier in stream order, and the others."""
        events = events.combine_chunks()
        times = self._times(events)
        order = stream_order(times, self._settings.tie_values(events))
        if order is None:
            order = np.arange(len(times))
        count = int(np.searchsorted(times, self.reached, side="right", sorter=order))
        if not count:
            return None, events
        waiting = None if count == len(order) else events.take(pa.array(order[count:]))
        return events.take(pa.array(order[:count])), waiting


def _some(table: pa.Table) -> pa.Table | None:
    return table if table.num_rows else None
