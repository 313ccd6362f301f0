"""The stateful operator of a stream: it takes a bucket from the state store and advances it.

If a micro-batch fails, Spark runs it again from the state after the previous one. The answer of a
bucket depends only on that state and the events, so it is the same the second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

from cepheid.spark.stream.bucket import Step
from cepheid.spark.stream.bucket_copies import BucketCopies, local_folder
from cepheid.spark.stream.bucket_store import BucketStore, Head
from cepheid.spark.stream.packing import GUARD, Arrived, to_blobs
from cepheid.spark.worker.worker_settings import WorkerSettings

ANSWERS = "data binary, is_late boolean, matches long, late long"
"""The columns that the operator returns: blobs of matches or of late events, and counts."""


@dataclass(eq=False)
class BucketOperator(StatefulProcessor):
    """Advances the buckets of a stream.

    ``made_by`` names all settings that the state depends on. ``stream`` is a unique name. Buckets
    of at least ``large`` bytes are logged and copied. ``lateness_ms`` is how far behind the newest
    event an event may be; it is None if only Spark knows it, which reports its watermark one
    micro-batch later.
    """

    settings: WorkerSettings
    made_by: Mapping[str, Any]
    stream: str
    large: int
    lateness_ms: int | None
    emits_late: bool

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before anything else."""
        self._handle = handle
        copies = BucketCopies(self.stream, local_folder())
        self._store = BucketStore(handle, self.settings, self.made_by, copies, self.large)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket that has new events."""
        came = sorted(rows, key=attrgetter("part"))
        blobs = [bytes(row.data) for row in came if row.data is not None]
        if key[0] == GUARD:
            self._store.guard()
        elif blobs:
            head = self._store.head()
            if head is not None and head.timer is not None:
                self._handle.deleteTimer(head.timer)
            before = timerValues.getCurrentWatermarkInMs()
            after = self._watermark_after([row.newest_us for row in came])
            yield from self._advanced(key[0], head, Arrived(blobs, before, after))

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket when the watermark reaches its timer."""
        head = self._store.head()
        if head is not None:
            now = timerValues.getCurrentWatermarkInMs()
            yield from self._advanced(key[0], head, Arrived([], now, now))

    def close(self) -> None:
        """Called by Spark at the end of a task."""

    def _advanced(self, label: int, head: Head | None, arrived: Arrived) -> Iterator[Row]:
        bucket = self._store.bucket(label, head)
        step = bucket.step(arrived)
        # Spark deletes a timer after it expires, so the next one must differ. It does: a bucket is
        # due only after the watermark that it has reached.
        timer = bucket.due
        if timer is not None:
            self._handle.registerTimer(timer)
        self._store.keep(label, bucket, timer, head, arrived)
        yield from self._answers(step)

    def _watermark_after(self, newest_us: Sequence[int | None]) -> int:
        """The watermark after the events of a micro-batch; 0 if there is none, or before 1970."""
        known = [time for time in newest_us if time is not None]
        if self.lateness_ms is None or not known:
            return 0
        return max(max(known) // 1_000 - self.lateness_ms, 0)

    def _answers(self, step: Step) -> Iterator[Row]:
        for batch in step.matches:
            yield from _rows(pa.Table.from_batches([batch]))
        if step.late is not None and self.emits_late:
            yield from _rows(step.late, is_late=True)
        elif step.late is not None:
            yield Row(data=None, is_late=True, matches=0, late=step.late.num_rows)


def _rows(table: pa.Table, is_late: bool = False) -> Iterator[Row]:
    """The blobs of a table; the first one has the count of all rows.

    They are not compressed, because the next operator of the same task reads them immediately.
    """
    count = len(table)
    for blob in to_blobs(table, is_compressed=False):
        matches, late = (0, count) if is_late else (count, 0)
        yield Row(data=blob, is_late=is_late, matches=matches, late=late)
        count = 0
