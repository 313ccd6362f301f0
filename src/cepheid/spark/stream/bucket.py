"""One hash bucket of a stream: its session, and the events that wait to be fed.

Events arrive out of order, and a session reads them in order. So an event waits until the
watermark has passed it: until only late events could come before it. The answer of a step depends
only on the state, the step's events and its watermarks, so running a step again gives the same
matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import EventError
from cepheid.events.order import stream_order
from cepheid.snapshot_checks import require
from cepheid.snapshots import Parts, table_from
from cepheid.spark.stream.packing import Arrived, from_blob, to_blob
from cepheid.spark.worker.worker_session import WorkerSession
from cepheid.spark.worker.worker_settings import WorkerSettings

_EPOCH = datetime(1970, 1, 1)
_TICKS = 1_000
"""Watermarks are in milliseconds, times of events in microseconds."""
_NO_TIME = -(2**63)
"""Before all events."""


@dataclass(frozen=True)
class BucketState:
    """The state of a bucket between two steps.

    A snapshot of its session, a blob of the events that wait, and the watermark it has reached. The
    snapshot has no parts if there is no session, one part if it was read, and several if a step
    has left it; these must be written before the next step.
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
    """The result of a step: batches of matches, and the events that came too late."""

    matches: list[pa.RecordBatch]
    late: pa.Table | None


class Bucket:
    """The events of a bucket, which advance with the watermark.

    A late event is returned with all of its columns, also those that the queries do not need.
    """

    def __init__(self, settings: WorkerSettings, stored: BucketState | None = None) -> None:
        self._settings = settings
        self._waiting: pa.Table | None = None
        self._worker: WorkerSession | None = None
        self._reached = 0 if stored is None else stored.reached
        if stored is not None and stored.waiting is not None:
            self._waiting = table_from(stored.waiting)
            known = self._waiting.column_names == [*settings.columns]
            require(known, f"waiting events have the columns {self._waiting.column_names}")
        if stored is not None and stored.session:
            (snapshot,) = stored.session
            self._worker = WorkerSession(settings, snapshot)

    def step(self, arrived: Arrived) -> Step:
        """Take the events that arrived, and answer up to a watermark.

        An event is late if it is older than the watermark before the step, or than one that the
        bucket has reached. Events after the step that are older than the watermark after it are
        late.
        """
        reached = max(arrived.before, self._reached)
        late, in_time = self._without_late(map(from_blob, arrived.blobs), _ticks(reached))
        self._reached = max(reached, arrived.after)
        now = _ticks(self._reached)
        known = [*([] if self._waiting is None else [self._waiting]), *in_time]
        matches: list[pa.RecordBatch] = []
        if known:
            ready, self._waiting = self._in_order(pa.concat_tables(known), now)
            if ready is not None:
                self._worker = self._worker or WorkerSession(self._settings)
                matches.extend(self._worker.feed(ready))
        if self._worker is not None and self._reached:
            now_as_time = _EPOCH + timedelta(milliseconds=self._reached)
            matches.extend(self._worker.advance(now_as_time))
            evicted = self._worker.session.evicted_from
            if evicted is not None and evicted <= now:
                self._worker = None
        return Step(matches, late)

    @property
    def due(self) -> int | None:
        """The watermark at which the bucket has something to do even without events."""
        times = [] if self._waiting is None else [int(self._times(self._waiting).min()) + 1]
        if self._worker is not None:
            session = self._worker.session
            due_times = (session.next_completion, session.evicted_from)
            times.extend(time for time in due_times if time is not None)
        due = min((-(-time // _TICKS) for time in times), default=None)
        return None if due is None else max(due, self._reached + 1)

    def left(self) -> BucketState | None:
        """The state; None if there is nothing to store."""
        if self._waiting is None and self._worker is None:
            return None
        return BucketState(
            () if self._worker is None else self._worker.session.snapshot_parts(),
            None if self._waiting is None else to_blob(self._waiting),
            self._reached,
        )

    def _without_late(
        self, fresh: Iterable[pa.Table], now: int
    ) -> tuple[pa.Table | None, list[pa.Table]]:
        late, in_time = [], []
        for table in fresh:
            is_late = self._times(table) < now
            if is_late.any():
                late.append(table.filter(pa.array(is_late)))
                table = table.filter(pa.array(~is_late))
            if table.num_rows:
                in_time.append(table.select(self._settings.columns))
        return (pa.concat_tables(late) if late else None), in_time

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

    def _in_order(self, events: pa.Table, now: int) -> tuple[pa.Table | None, pa.Table | None]:
        """The events before a time in stream order, and the others."""
        events = events.combine_chunks()
        times = self._times(events)
        order = stream_order(times, [events.column(name) for name in self._settings.ties])
        if order is None:
            order = np.arange(len(times))
        count = int(np.searchsorted(times, now, sorter=order))
        if not count:
            return None, events
        waiting = None if count == len(order) else events.take(pa.array(order[count:]))
        return events.take(pa.array(order[:count])), waiting


def _ticks(watermark: int) -> int:
    return watermark * _TICKS if watermark else _NO_TIME
