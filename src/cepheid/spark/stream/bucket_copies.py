"""Copies of large buckets in files of the executor, so that their state need not be read.

Spark gives a bucket to any of the Python workers of an executor, so that a copy in the memory of
one would be of little use. A copy is used only where the state names its token, which is a new one
in every attempt at a step: whatever became of the attempt that made the copy, and on whatever
machine others ran, a copy that is used is the state itself. Without one the state is read.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from time import time

from cepheid.spark.stream.bucket import LeftBucket, StoredBucket

_PREFIX = "cepheid-bucket-"
_FORGOTTEN_SECONDS = 3_600
_ALIGNED = 64


def local_folder() -> Path | None:
    """A folder of Spark's own on this machine, which it removes when the executor ends."""
    first, *_ = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return Path(first) if first else None


class BucketCopies:
    """The copies that the workers of an executor have made of the buckets of a stream.

    ``stream`` is a name that no other stream has. A copy that was not touched for an hour is of a
    stream that was stopped, or of a bucket that has moved, and is removed with the next that is
    written. Without a folder there are no copies.
    """

    def __init__(self, stream: str, folder: Path | None) -> None:
        self._stream = stream
        self._folder = folder

    def read(self, bucket: int, token: str) -> StoredBucket | None:
        """The copy with that token, if it is here."""
        path = self._path(bucket)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                octets = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except (OSError, ValueError):
            return None
        words = bytes(octets[:_ALIGNED]).split()
        if words[0] != token.encode():
            return None
        reached, end = int(words[1]), _ALIGNED + int(words[2])
        return StoredBucket(octets[_ALIGNED:end] or None, bytes(octets[end:]) or None, reached)

    def write(self, bucket: int, token: str, left: LeftBucket) -> None:
        """Keep a copy in the stead of the last one; none where the disk has no room."""
        path = self._path(bucket)
        if path is None:
            return
        beside = path.with_suffix(f".{os.getpid()}")
        try:
            with beside.open("wb") as file:
                head = f"{token} {left.reached} {left.session_size}".encode().ljust(_ALIGNED)
                for part in (head, *left.session, left.waiting or b""):
                    file.write(part)
            beside.replace(path)
            self._remove_forgotten(path.parent)
        except OSError:
            with suppress(OSError):
                beside.unlink()

    def remove(self, bucket: int) -> None:
        """Remove the copy of a bucket."""
        path = self._path(bucket)
        if path is not None:
            with suppress(OSError):
                path.unlink()

    def _path(self, bucket: int) -> Path | None:
        return self._folder and self._folder / f"{_PREFIX}{self._stream}-{bucket}"

    def _remove_forgotten(self, folder: Path) -> None:
        for path in folder.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if path.stat().st_mtime < time() - _FORGOTTEN_SECONDS:
                    path.unlink()
