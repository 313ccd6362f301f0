"""The state of a bucket as Spark stores it: a snapshot, and a log of the steps since then.

Writing a whole large bucket in every micro-batch would cost more than matching. So a step is
logged as it arrived, its events still packed, until the log is several times as large as the
snapshot. Then a new snapshot is written, and the log is empty. Reading the state runs the steps of
the log again. That happens when a stream starts or after a failure: otherwise the executor has a
copy (:mod:`cepheid.spark.stream.bucket_copies`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from cepheid.errors import SnapshotError
from cepheid.snapshot_checks import damage, damage_reported
from cepheid.snapshots import sealed, table_from
from cepheid.spark.stream.bucket import Bucket, BucketSettings, BucketState
from cepheid.spark.stream.bucket_copies import BucketCopies
from cepheid.spark.stream.live_buckets import LIVE
from cepheid.spark.stream.made_by import UNIT, refuse_changes
from cepheid.spark.stream.packing import Arrived, compressed, decompressed
from cepheid.spark.stream.timing import NO_TIME, TICKS, Timing

# Spark compares these schemas with those of a checkpoint before ``made_by`` is read, and refuses
# others with its own message. So they never change: their contents have a version.
HEAD = "made_by string, token string, timer long, steps long, stored long, logged long"
ENTRY = "session binary, waiting binary, reached long, blobs array<binary>, before long, after long"
"""The first entry is the snapshot. Each of the others has a blob of a step, and the last entry of
a step has its frontiers."""
_PARTS = 1 << 20
"""More than the blobs of a step; the entries of step n are numbered from n times this."""

_LOG_TO_SNAPSHOT = 4
_MOST_STEPS = 32


@dataclass(frozen=True)
class Head:
    """The part of a bucket's state that is read in every micro-batch.

    ``token`` identifies its copy, and ``timer`` is the watermark that wakes it, or the clock. The
    snapshot has ``stored`` bytes, and the log has ``steps`` of ``logged`` bytes. ``is_older`` is
    true if its times are in milliseconds.
    """

    token: str | None
    timer: int | None
    steps: int
    stored: int
    logged: int
    is_older: bool = False


class BucketStore:
    """The state of the bucket for which Spark calls an operator.

    ``made_by`` names all settings that the state depends on, as messages call them: a stream that
    continued from the state of another query would give wrong answers. Buckets of fewer bytes than
    ``large`` are neither logged nor copied, because writing them whole is cheap.
    """

    def __init__(
        self,
        handle: StatefulProcessorHandle,
        settings: BucketSettings,
        timing: Timing,
        made_by: Mapping[str, Any],
        copies: BucketCopies,
        large: int,
    ) -> None:
        self._settings = settings
        self._timing = timing
        self._made_by = json.dumps(made_by)
        self._copies = copies
        self._large = large
        self._head = handle.getValueState("bucket", HEAD)
        self._log = handle.getMapState("log", "step long", ENTRY)

    def guard(self) -> None:
        """Store the settings with which the states of all buckets are made."""
        found = self._head.get()
        if self.head() is None or (found is not None and found[0] != self._made_by):
            self._head.update((self._made_by, None, None, 0, 0, 0))

    def head(self) -> Head | None:
        """The head of the bucket; None if it has no state.

        Raises:
            SnapshotError: the state was made by another stream.
        """
        found = self._head.get()
        if found is None:
            return None
        made_by, *known = found
        if made_by == self._made_by:
            return Head(*known)
        then = json.loads(made_by)
        refuse_changes(then, json.loads(self._made_by))
        return replace(Head(*known), is_older=UNIT not in then)

    def bucket(self, label: int, head: Head | None) -> Bucket:
        """The bucket as its last step left it.

        Raises:
            SnapshotError: the state is damaged.
        """
        if head is None:
            return Bucket(self._settings, self._timing)
        alive = LIVE.taken(self._copies.stream, label, head.token)
        if alive is not None:
            return alive
        copy = None if head.token is None else self._copies.read(label, head.token)
        if copy is not None:
            with suppress(SnapshotError), damage_reported():
                return Bucket(self._settings, self._timing, copy)
        try:
            with damage_reported():
                return self._read(head)
        except SnapshotError as error:
            raise SnapshotError(
                f"the checkpoint has no valid state of bucket {label}: {error}. Start anew with "
                "another checkpointLocation"
            ) from error

    def _read(self, head: Head) -> Bucket:
        """The bucket of the snapshot, after the steps of the log."""
        session, waiting, reached, *_ = self._entry(0)
        snapshot = () if session is None else [decompressed(bytes(session))]
        waiting = None if waiting is None else bytes(waiting)
        time = _since_milliseconds if head.is_older else int
        bucket = Bucket(self._settings, self._timing, BucketState(snapshot, waiting, time(reached)))
        for step in range(1, head.steps + 1):
            arrived = self._arrived(step)
            bucket.step(Arrived(arrived.blobs, time(arrived.before), time(arrived.after)))
        return bucket

    def keep(
        self, label: int, bucket: Bucket, timer: int | None, head: Head | None, arrived: Arrived
    ) -> int:
        """Store the state after a step; ``head`` is the one from before it. Returns its bytes."""
        left = bucket.left()
        if left is None:
            self._head.clear()
            self._log.clear()
            self._copies.remove(label)
            return 0
        bytes_left = left.session_size + len(left.waiting or b"")
        is_large = bytes_left >= self._large
        size = sum(map(len, arrived.blobs))
        if (
            is_large
            and head is not None
            and not head.is_older
            and head.steps < _MOST_STEPS
            and head.logged + size <= _LOG_TO_SNAPSHOT * head.stored
        ):
            self._add(head.steps + 1, arrived)
            known = (head.steps + 1, head.stored, head.logged + size)
        else:
            session = compressed(sealed(left.session)) if left.session else None
            self._log.clear()
            self._log.updateValue((0,), (session, left.waiting, left.reached, None, None, None))
            known = (0, len(session or b"") + len(left.waiting or b""), 0)
        token = secrets.token_hex(16) if is_large or bucket.is_costly else None
        self._head.update((self._made_by, token, timer, *known))
        if token is not None and is_large:
            self._copies.write(label, token, left)
        if token is not None and bucket.is_costly:
            LIVE.keep(self._copies.stream, label, token, bucket)
        return bytes_left

    def _add(self, step: int, arrived: Arrived) -> None:
        """Add a step to the log, each of its blobs as a separate value."""
        pieces = [[blob] for blob in arrived.blobs] or [[]]
        last = len(pieces) - 1
        for part, blobs in enumerate(pieces):
            frontiers = (arrived.before, arrived.after) if part == last else (None, None)
            entry = (None, None, None, blobs, *frontiers)
            self._log.updateValue((step * _PARTS + part,), entry)

    def _arrived(self, step: int) -> Arrived:
        """The arguments of a step of the log."""
        found: list[bytes] = []
        for part in range(_PARTS):
            *_, blobs, before, after = self._entry(step * _PARTS + part)
            for blob in map(bytes, blobs):
                table_from(blob)  # raises an error if it is damaged
                found.append(blob)
            if before is not None:
                return Arrived(found, before, after)
        raise damage("the last entry of a step has no frontiers")

    def _entry(self, number: int) -> tuple[Any, ...]:
        entry = self._log.getValue((number,))
        if entry is None:
            raise damage("an entry is missing")
        return entry


def _since_milliseconds(watermark: int) -> int:
    """The frontier of a watermark of version 0.1.0, which answered only what was older than it."""
    return watermark * TICKS - 1 if watermark else NO_TIME
