"""Copies of large buckets in files of the executor, to avoid reading their state from Spark.

Spark gives a bucket to any Python worker of an executor, so a copy in the memory of one worker
would be of little use. A copy is used only if the state names its token, and every attempt at a
step writes a new token. So a copy that is used equals the state, whatever happened to the attempt
that made it. Without a copy the state is read.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from time import time

from cepheid.spark.stream.bucket import BucketState

_PREFIX = "cepheid-bucket-"
_UNUSED_SECONDS = 3_600
_ALIGNED = 64


def local_folder() -> Path | None:
    """A folder of Spark on this machine, which Spark removes when the executor ends."""
    first, *_ = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return Path(first) if first else None


class BucketCopies:
    """The copies that the workers of an executor have made of the buckets of a stream.

    ``stream`` is a unique name. A copy that was not written for an hour belongs to a stopped
    stream or to a bucket that has moved; the next write removes it. Without a folder there are no
    copies.
    """

    def __init__(self, stream: str, folder: Path | None) -> None:
        self.stream = stream
        self._folder = folder

    def read(self, bucket: int, token: str) -> BucketState | None:
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
        if words[:1] != [token.encode()]:
            return None
        reached, end = int(words[1]), _ALIGNED + int(words[2])
        session = octets[_ALIGNED:end]
        return BucketState([session] if session else (), bytes(octets[end:]) or None, reached)

    def write(self, bucket: int, token: str, left: BucketState) -> None:
        """Replace the copy of a bucket; there is none if the disk is full."""
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
            self._remove_unused(path.parent)
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
        return self._folder and self._folder / f"{_PREFIX}{self.stream}-{bucket}"

    def _remove_unused(self, folder: Path) -> None:
        for path in folder.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if path.stat().st_mtime < time() - _UNUSED_SECONDS:
                    path.unlink()
