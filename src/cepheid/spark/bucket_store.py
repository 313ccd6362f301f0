"""The state of a bucket as Spark keeps it: a snapshot, and a log of the steps since then.

To write all of a large bucket in every micro-batch would cost more than matching. So a step is
logged as it came, its events still packed, until the log is some times as large as the snapshot;
then there is a new snapshot, and the log is empty. Reading the state runs the steps of the log
again. That happens when a stream starts, or after a failure: otherwise the executor has a copy
(:mod:`cepheid.spark.bucket_copies`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from cepheid.errors import SnapshotError
from cepheid.runtime.snapshot import sealed
from cepheid.spark.bucket import Bucket, StoredBucket
from cepheid.spark.bucket_copies import BucketCopies
from cepheid.spark.packing import compressed, decompressed, from_blob
from cepheid.spark.worker_settings import ScriptSettings, WorkerSettings

_HEAD = (
    "made_by string, token string, timer long, steps long, entries long, stored long, logged long"
)
_ENTRY = "session binary, waiting binary, reached long, blob binary, before long, after long"
"""The first is the snapshot. Each of the others is a blob of a step, the last of a step has its
watermarks."""

_LOG_TO_SNAPSHOT = 4
_MOST_STEPS = 32


@dataclass(frozen=True)
class Head:
    """What is read of a bucket in every micro-batch.

    ``token`` is that of its copy and ``timer`` the watermark that wakes it. The snapshot has
    ``stored`` bytes, and the log ``steps`` of ``logged`` bytes in ``entries``.
    """

    token: str | None
    timer: int | None
    steps: int
    entries: int
    stored: int
    logged: int


@dataclass(frozen=True)
class Arrived:
    """The arguments of a step of a bucket, with the events in blobs."""

    blobs: Sequence[bytes]
    before: int
    after: int


class BucketStore:
    """The state of the bucket that Spark has called an operator for.

    ``made_by`` names all that the state depends on, by what a message calls it: a stream that
    goes on from a state which another query left would give answers that are nobody's. Buckets of
    fewer bytes than ``large`` are neither logged nor copied: to write them whole is cheap.
    """

    def __init__(
        self,
        handle: StatefulProcessorHandle,
        settings: WorkerSettings | ScriptSettings,
        columns: Sequence[str],
        made_by: Mapping[str, Any],
        copies: BucketCopies,
        large: int,
    ) -> None:
        self._settings = settings
        self._columns = tuple(columns)
        self._made_by = json.dumps(made_by)
        self._copies = copies
        self._large = large
        self._head = handle.getValueState("bucket", _HEAD)
        self._log = handle.getMapState("log", "step long", _ENTRY)

    def guard(self) -> None:
        """Remember by what the states of all buckets are made."""
        if self.head() is None:
            self._head.update((self._made_by, None, None, 0, 0, 0, 0))

    def head(self) -> Head | None:
        """What is known of the bucket; None where it has no state.

        Raises:
            SnapshotError: the state was made by another stream.
        """
        found = self._head.get()
        if found is None:
            return None
        made_by, *known = found
        if made_by != self._made_by:
            raise SnapshotError(_changes(json.loads(made_by), json.loads(self._made_by)))
        return Head(*known)

    def bucket(self, label: int, head: Head | None) -> Bucket:
        """The bucket as its last step left it."""
        if head is None:
            return self._opened(None)
        copy = None if head.token is None else self._copies.read(label, head.token)
        if copy is not None:
            return self._opened(copy)
        session, waiting, reached, *_ = self._entry(0)
        session = None if session is None else decompressed(bytes(session))
        waiting = None if waiting is None else bytes(waiting)
        bucket = self._opened(StoredBucket(session, waiting, reached))
        fresh = []
        for number in range(1, head.entries + 1):
            *_, blob, before, after = self._entry(number)
            fresh.extend([] if blob is None else [from_blob(bytes(blob))])
            if before is not None:
                bucket.step(fresh, before, after)
                fresh = []
        return bucket

    def keep(
        self, label: int, bucket: Bucket, timer: int | None, head: Head | None, arrived: Arrived
    ) -> None:
        """Keep what a step has left; ``head`` is what was known before it."""
        left = bucket.left()
        if left is None:
            self._head.clear()
            self._log.clear()
            self._copies.remove(label)
            return
        is_large = left.session_size + len(left.waiting or b"") >= self._large
        size = sum(map(len, arrived.blobs))
        if (
            is_large
            and head is not None
            and head.steps < _MOST_STEPS
            and head.logged + size <= _LOG_TO_SNAPSHOT * head.stored
        ):
            entries = self._logged(head.entries, arrived)
            known = (head.steps + 1, entries, head.stored, head.logged + size)
        else:
            session = compressed(sealed(left.session)) if left.session else None
            self._log.clear()
            self._log.updateValue((0,), (session, left.waiting, left.reached, None, None, None))
            known = (0, 0, len(session or b"") + len(left.waiting or b""), 0)
        token = secrets.token_hex(16) if is_large else None
        self._head.update((self._made_by, token, timer, *known))
        if token is not None:
            self._copies.write(label, token, left)

    def _logged(self, entries: int, arrived: Arrived) -> int:
        """Add a step to the log; how many entries that then has."""
        blobs: Sequence[bytes | None] = arrived.blobs or [None]
        for left, blob in zip(reversed(range(len(blobs))), blobs, strict=True):
            entries += 1
            watermarks = (None, None) if left else (arrived.before, arrived.after)
            self._log.updateValue((entries,), (None, None, None, blob, *watermarks))
        return entries

    def _entry(self, number: int) -> tuple[Any, ...]:
        entry = self._log.getValue((number,))
        assert entry is not None
        return entry

    def _opened(self, stored: StoredBucket | None) -> Bucket:
        return Bucket(self._settings, self._columns, stored)


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
