"""The stateful operator of a stream: a bucket is taken from the state store, advanced, put back.

Spark runs a micro-batch again when it failed, from the state that the one before it left: a
bucket keeps nothing anywhere else, and so what it answers the second time is what it answered
the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from cepheid.errors import SnapshotError
from cepheid.spark.bucket import Bucket, Step, StoredBucket
from cepheid.spark.packing import GUARD, from_blob, to_blob
from cepheid.spark.worker_settings import ScriptSettings, WorkerSettings

ANSWERS = "data binary, is_late boolean, matches long, late long"
"""The columns of what the operator gives: blobs of matches or of late events, and counts."""

_STATE = "made_by string, session binary, waiting binary, reached long, timer long"


class BucketOperator(StatefulProcessor):
    """Advances the buckets of a stream.

    ``made_by`` names all that the state depends on, by what a message calls it: a stream that
    goes on from a state which another query left would give answers that are nobody's.
    ``lateness_ms`` is how far behind the newest event one may be that is not late, and None where
    Spark alone knows it, which tells its watermark a micro-batch later.
    """

    def __init__(
        self,
        settings: WorkerSettings | ScriptSettings,
        columns: Sequence[str],
        made_by: Mapping[str, Any],
        *,
        lateness_ms: int | None,
        emits_late: bool,
    ) -> None:
        self._settings = settings
        self._columns = tuple(columns)
        self._made_by = json.dumps(made_by)
        self._lateness_ms = lateness_ms
        self._emits_late = emits_late

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before anything else."""
        self._handle = handle
        self._state = handle.getValueState("bucket", _STATE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket that events have come for."""
        came = sorted(rows, key=attrgetter("part"))
        fresh = [from_blob(bytes(row.data)) for row in came if row.data is not None]
        if key[0] == GUARD:
            if self._stored() is None:
                self._state.update((self._made_by, None, None, 0, None))
        elif fresh:
            stored, timer = self._stored() or (None, None)
            if timer is not None:
                self._handle.deleteTimer(timer)
            before = timerValues.getCurrentWatermarkInMs()
            after = self._watermark_after([row.newest_us for row in came])
            yield from self._advanced(stored, fresh, before, after)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket that asked for it, when the watermark has got there."""
        stored = self._stored()
        if stored is not None:
            now = timerValues.getCurrentWatermarkInMs()
            yield from self._advanced(stored[0], [], now, now)

    def close(self) -> None:
        """Called by Spark at the end of a task."""

    def _advanced(
        self, stored: StoredBucket | None, fresh: Sequence[pa.Table], before: int, after: int
    ) -> Iterator[Row]:
        bucket = Bucket(self._settings, self._columns, stored)
        step = bucket.step(fresh, before, after)
        self._keep(bucket)
        yield from self._answers(step)

    def _watermark_after(self, newest_us: Sequence[int | None]) -> int:
        """The watermark that the events of a micro-batch make: 0 for none, or before 1970."""
        known = [time for time in newest_us if time is not None]
        if self._lateness_ms is None or not known:
            return 0
        return max(max(known) // 1_000 - self._lateness_ms, 0)

    def _answers(self, step: Step) -> Iterator[Row]:
        for batch in step.matches:
            blob = to_blob(pa.Table.from_batches([batch]))
            yield Row(data=blob, is_late=False, matches=batch.num_rows, late=0)
        if step.late is not None:
            late = to_blob(step.late) if self._emits_late else None
            yield Row(data=late, is_late=True, matches=0, late=step.late.num_rows)

    def _stored(self) -> tuple[StoredBucket, int | None] | None:
        found = self._state.get()
        if found is None:
            return None
        made_by, session, waiting, reached, timer = found
        if made_by != self._made_by:
            raise SnapshotError(_changes(json.loads(made_by), json.loads(self._made_by)))
        return StoredBucket(_bytes(session), _bytes(waiting), reached), timer

    def _keep(self, bucket: Bucket) -> None:
        # Spark deletes a timer after it went off, so that the next one must be another. It is:
        # a bucket is due only after the watermark that it has reached.
        timer = bucket.due
        if timer is not None:
            self._handle.registerTimer(timer)
        stored = bucket.stored()
        if stored is None:
            self._state.clear()
        else:
            self._state.update(
                (self._made_by, stored.session, stored.waiting, stored.reached, timer)
            )


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    changes = "\n".join(
        f"  {name}: then {then.get(name)!r}, now {now.get(name)!r}"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    )
    return (
        f"the checkpoint holds the state of another stream; different are\n{changes}\n"
        "Start with what it was made with, or start anew with another checkpointLocation"
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
