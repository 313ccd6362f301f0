"""The stateful operator of a stream: it takes a bucket from the state store and advances it.

If a micro-batch fails, Spark runs it again from the state after the previous one. The answer of a
bucket depends only on that state and the events, so it is the same the second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from time import monotonic
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from cepheid.spark.stream.bucket import Bucket, BucketSettings, Step
from cepheid.spark.stream.bucket_copies import BucketCopies, local_folder
from cepheid.spark.stream.bucket_store import BucketStore, Head
from cepheid.spark.stream.packing import GUARD, Arrived, to_blobs
from cepheid.spark.stream.timing import NO_TIME, TICKS, Timing, ticks_of
from cepheid.spark.worker.own_errors import own_errors
from cepheid.spark.worker.warm import freeze_loaded

COUNTS = ("matches", "late", "waiting", "oldest_us", "runs", "state_bytes", "milliseconds")
"""What is counted in each step of a bucket."""
ANSWERS = (
    f"data binary, is_late boolean, {', '.join(f'{name} long' for name in COUNTS)}, rules string"
)
"""The columns that the operator returns: blobs of matches or of late events, or counts.

``rules`` is what each rule of a set has cost in a step, as JSON.
"""
_Answer = Row("data", "is_late", *COUNTS, "rules")


@dataclass(eq=False)
class BucketOperator(StatefulProcessor):
    """Advances the buckets of a stream.

    ``made_by`` names all settings that the state depends on. ``stream`` is a unique name. Buckets
    of at least ``large`` bytes are logged and copied.
    """

    settings: BucketSettings
    made_by: Mapping[str, Any]
    stream: str
    large: int
    timing: Timing
    emits_late: bool

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before anything else."""
        self._handle = handle
        copies = BucketCopies(self.stream, local_folder())
        self._store = BucketStore(
            handle, self.settings, self.timing, self.made_by, copies, self.large
        )
        # The time of the last micro-batch with events, by the clock of the offset log.
        self._clock = None
        if self.timing.idle_ms is not None:
            self._clock = handle.getValueState("clock", "ms long")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket: all know the newest time, and some have new events."""
        came = sorted(rows, key=attrgetter("part"))
        with own_errors():
            if key[0] == GUARD:
                self._store.guard()
                return
            begun = monotonic()
            blobs = [bytes(row.data) for row in came if row.data is not None]
            before = ticks_of(timerValues.getCurrentWatermarkInMs())
            after = self.timing.frontier(row.newest_us for row in came)
            head = self._store.head()
            if not blobs and (head is None or not self._has_work(head, after)):
                return
            bucket = self._store.bucket(key[0], head)
            step = bucket.step(arrived := Arrived(blobs, before, after))
            timer = self._next_timer(bucket, timerValues, least=self.timing.idle_ms or 0)
            old_timer = None if head is None else head.timer
            if self.timing.mode != "None" and timer != old_timer:
                if old_timer is not None:
                    self._handle.deleteTimer(old_timer)
                self._register(timer)
            size = self._store.keep(key[0], bucket, timer, head, arrived)
            yield from self._answers(step, bucket, size, begun)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """Called by Spark for each bucket when the watermark, or the clock, reaches its timer."""
        with own_errors():
            begun = monotonic()
            head = self._store.head()
            if head is None or head.timer != expiredTimerInfo.getExpiryTimeInMs():
                return
            bucket = self._store.bucket(key[0], head)
            now = ticks_of(timerValues.getCurrentWatermarkInMs())
            if self._clock is not None:
                then = self._clock.get()
                assert then is not None  # stored with every timer
                passed = timerValues.getCurrentProcessingTimeInMs() - then[0]
                now = max(now, bucket.reached + passed * TICKS)
            step = bucket.step(arrived := Arrived([], now, now))
            timer = self._next_timer(bucket, timerValues)
            self._register(timer)
            size = self._store.keep(key[0], bucket, timer, head, arrived)
            yield from self._answers(step, bucket, size, begun)

    def close(self) -> None:
        """Called by Spark at the end of a task."""
        if TaskContext.get() is not None:  # and not in the driver, which only asks for schemas
            freeze_loaded()

    def _has_work(self, head: Head, frontier: int) -> bool:
        """Whether a bucket without new events has something to do."""
        if self._clock is not None:
            return True  # Time is measured from the newest event of the stream.
        return head.timer is not None and head.timer * TICKS <= frontier

    def _next_timer(self, bucket: Bucket, values: TimerValues, least: int = 0) -> int | None:
        """When a bucket has something to do: a watermark, or a time by the clock.

        Spark deletes a timer after it expires, so the next one must differ. It does: a bucket is
        due only after the frontier that it has reached.
        """
        if self._clock is None:
            return bucket.due
        now = values.getCurrentProcessingTimeInMs()
        self._clock.update((now,))
        due_us = bucket.due_us
        if due_us is None or bucket.reached == NO_TIME:
            return None
        return now + max(-(-(due_us - bucket.reached) // TICKS), least, 1)

    def _register(self, timer: int | None) -> None:
        if timer is not None:
            self._handle.registerTimer(timer)

    def _answers(self, step: Step, bucket: Bucket, size: int, begun: float) -> Iterator[Row]:
        for batch in step.matches:
            yield from _rows(pa.Table.from_batches([batch]))
        if step.late is not None and self.emits_late:
            yield from _rows(step.late, is_late=True)
        yield _Answer(
            None,
            None,
            sum(batch.num_rows for batch in step.matches),
            0 if step.late is None else step.late.num_rows,
            bucket.waiting,
            bucket.oldest_us,
            step.runs,
            size,
            round((monotonic() - begun) * 1_000),
            step.rules,
        )


def _rows(table: pa.Table, is_late: bool = False) -> Iterator[Row]:
    """The blobs of a table.

    They are not compressed, because the next operator of the same task reads them immediately.
    """
    for blob in to_blobs(table, is_compressed=False):
        yield _Answer(blob, is_late, *[None] * len(COUNTS), None)
