"""The events of one hash bucket of a stream: those that wait for their turn, and their session.

Events come out of order, and a session reads them in order. So an event waits until the watermark
has passed it: until no event can come, but late ones, that would have to be read before it. The
watermark stands still during a step, and so the answer of a step depends on nothing but the state
and the step's events: a step that is run again gives the same matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.spark.packing import from_blob, to_blob
from cepheid.spark.worker_session import WorkerSession
from cepheid.spark.worker_settings import WorkerSettings

_EPOCH = datetime(1970, 1, 1)
_TICKS = 1_000
"""Watermarks are in milliseconds, times of events in microseconds."""


@dataclass(frozen=True)
class StoredBucket:
    """The state of a bucket between two steps: a snapshot of its session, and a blob of events."""

    session: bytes | None
    waiting: bytes | None


@dataclass(frozen=True)
class Step:
    """What a step gives: batches of matches, and the events that came too late."""

    matches: list[pa.RecordBatch]
    late: pa.Table | None


class Bucket:
    """The events of a bucket, which advance with the watermark."""

    def __init__(self, settings: WorkerSettings, stored: StoredBucket | None = None) -> None:
        self._settings = settings
        self._columns: list[str] | None = None
        self._waiting: pa.Table | None = None
        self._session: WorkerSession | None = None
        if stored is not None and stored.waiting is not None:
            self._waiting = from_blob(stored.waiting)
        if stored is not None and stored.session is not None:
            self._session = WorkerSession(settings, stored.session)

    def step(self, fresh: Sequence[pa.Table], watermark: int) -> Step:
        """Take events that have come, and answer up to the watermark, in milliseconds.

        An event is late that is older than the watermark. A watermark of 0 is none yet.
        """
        now = watermark * _TICKS
        late, in_time = self._without_late(fresh, now)
        known = [table for table in (self._waiting, *in_time) if table is not None]
        matches: list[pa.RecordBatch] = []
        if known:
            events = pa.concat_tables(known)
            is_ready = self._times(events) < (now if watermark else _before_all())
            ready = events if is_ready.all() else events.filter(pa.array(is_ready))
            self._waiting = None if is_ready.all() else events.filter(pa.array(~is_ready))
            if len(ready):
                matches.extend(self._running().feed(self._in_order(ready)))
        if self._session is not None and watermark:
            matches.extend(self._session.advance(_EPOCH + timedelta(milliseconds=watermark)))
            self._let_go(now)
        return Step(matches, late)

    @property
    def due(self) -> int | None:
        """The watermark at which the bucket has something to do although no event comes."""
        times = []
        if self._waiting is not None:
            times.append(int(self._times(self._waiting).min()) + 1)
        if self._session is not None:
            times.extend([self._session.next_completion, self._session.forgotten_from])
        return min((-(-time // _TICKS) for time in times if time is not None), default=None)

    def stored(self) -> StoredBucket | None:
        """The state; None where there is nothing to remember."""
        if self._waiting is None and self._session is None:
            return None
        return StoredBucket(
            None if self._session is None else self._session.snapshot(),
            None if self._waiting is None else to_blob(self._waiting),
        )

    def _let_go(self, now: int) -> None:
        assert self._session is not None
        forgotten = self._session.forgotten_from
        if forgotten is not None and forgotten <= now:
            self._session = None
        else:
            self._session.forget_the_past()

    def _running(self) -> WorkerSession:
        if self._session is None:
            self._session = WorkerSession(self._settings)
        return self._session

    def _without_late(
        self, fresh: Sequence[pa.Table], now: int
    ) -> tuple[pa.Table | None, list[pa.Table]]:
        late, in_time = [], []
        for table in fresh:
            is_late = self._times(table) < now
            if now and is_late.any():
                late.append(table.filter(pa.array(is_late)))
                table = table.filter(pa.array(~is_late))
            in_time.append(table.select(self._settings.columns))
        return (pa.concat_tables(late) if late else None), in_time

    def _times(self, events: pa.Table) -> npt.NDArray[np.int64]:
        times: npt.NDArray[np.int64] = (
            events.column(self._settings.time).cast(pa.int64()).to_numpy()
        )
        return times

    def _in_order(self, events: pa.Table) -> pa.Table:
        """The events by time; those of one time by the columns that break ties."""
        events = events.combine_chunks()
        times = self._times(events)
        order = np.argsort(times, kind="stable")
        ordered = times[order]
        same = ordered[1:] == ordered[:-1]
        if same.any():
            tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
            places = np.flatnonzero(tied)
            keys = _sortable(events.take(pa.array(order[places])), self._settings.ties)
            keys["time"] = pa.array(ordered[places])
            among = pc.sort_indices(
                pa.table(keys),
                sort_keys=[(name, "ascending") for name in ("time", *keys) if name != "time"],
            )
            order[places] = order[places][among.to_numpy()]
        return events.take(pa.array(order))
