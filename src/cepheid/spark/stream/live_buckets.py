"""Buckets that stay in the memory of a Python worker between two micro-batches.

To restore the sessions of hundreds of rules takes much longer than to run them over a few events.
Spark uses a Python worker again, and often gives it the same buckets. As with copies in files
(:mod:`cepheid.spark.stream.bucket_copies`), a bucket is used only if the state names its token.
"""

from __future__ import annotations

from cepheid.spark.stream.bucket import Bucket

_MOST = 16
"""The number of buckets that a worker keeps."""


class LiveBuckets:
    """The buckets of this process, by stream and label, each with the token of its last step."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[str, Bucket]] = {}

    def keep(self, stream: str, label: int, token: str, bucket: Bucket) -> None:
        """Keep a bucket after a step; one that was not used for longest may go."""
        self._kept.pop((stream, label), None)
        self._kept[stream, label] = (token, bucket)
        if len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def taken(self, stream: str, label: int, token: str | None) -> Bucket | None:
        """The bucket with that token, if it is here. It is not kept while a step changes it."""
        known, bucket = self._kept.pop((stream, label), (None, None))
        return bucket if known is not None and known == token else None


LIVE = LiveBuckets()
