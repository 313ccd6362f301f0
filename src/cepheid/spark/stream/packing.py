"""Events on their way to a stateful operator: an Arrow blob for every hash bucket.

A row costs ten times as much in a stateful operator of Spark as in ``mapInArrow``, and a state per
key costs ten times as much as one for many keys. So a stream is divided into *buckets* by a hash of
the partition key, and the rows of a bucket pass through the shuffle as one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.spark.worker.partition_run import gathered
from cepheid.spark.worker.warm import freeze_loaded
from cepheid.tuning import tuning

BUCKET = "bucket"
PACKED = f"{BUCKET} int, part int, newest_us long, data binary"
"""A row of packed events: the bucket, the partition they were in, the newest time there, a blob."""
GUARD = -1
"""The bucket without events: it stores the settings with which all states were made."""

CHANGE = "cepheid change"
"""The column of a blob of changes, each as a string."""
ORDER = "cepheid order"
"""The column by which the changes of a micro-batch are ordered."""
REPORTS = "cepheid reports"
"""The column that says whether a bucket reports the faults of changes: one does."""

MOST_ROWS = 1_000_000
"""The maximum rows of a partition that are packed together."""


_SEED = 42  # Spark assigns rows to the partitions of a shuffle with this seed.
_CODEC = "zstd"
_FORMAT = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class Arrived:
    """What reaches a bucket in a step: blobs of events, and the frontiers before and after it."""

    blobs: Sequence[bytes]
    before: int
    after: int


def bucket_labels(partitions: int) -> list[int]:
    """For each partition of a shuffle, an integer that Spark sends there.

    >>> bucket_labels(4)
    [12, 6, 2, 0]
    """
    count = 4 * partitions + 64
    while True:
        there = np.mod(_murmur3(np.arange(count)).astype(np.int64), partitions)
        found, labels = np.unique(there, return_index=True)
        if len(found) == partitions:
            return [int(label) for label in labels]
        count *= 2


def _murmur3(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Spark's hash of 32-bit integers."""
    mixed = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashed = _rotated(mixed ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(4)
    hashed = (hashed ^ (hashed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ (hashed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (hashed ^ (hashed >> np.uint32(16))).view(np.int32)


def _rotated(numbers: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


def packed(
    labels: Sequence[int], time: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition, which have the number of their bucket, as blobs for each bucket.

    A partition also sends every bucket the newest time of its rows, with or without a blob. A
    shuffle ends before the operator after it begins, so the operator knows the newest time of its
    micro-batch. The guard receives it too, and so checks in the first micro-batch that the
    checkpoint belongs to this stream.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    part = context.partitionId() if context else 0
    for held in gathered(batches, MOST_ROWS):
        table = held.combine_chunks()
        bucket_of = table.column(BUCKET).to_numpy().astype(np.uint16)
        order = np.argsort(bucket_of, kind="stable")
        events = table.drop_columns([BUCKET]).take(pa.array(order))
        ends = np.cumsum(np.bincount(bucket_of, minlength=len(labels))).tolist()
        # Every bucket receives the time, even without events.
        rows = [
            (label, blob)
            for label, low, high in zip(labels, [0, *ends[:-1]], ends, strict=True)
            for blob in (to_blobs(events.slice(low, high - low)) if low < high else [None])
        ]
        rows.append((GUARD, None))
        newest_us = pc.max(events.column(time).cast(pa.int64())).as_py()
        yield pa.record_batch(
            {
                BUCKET: pa.array([label for label, _ in rows], pa.int32()),
                "part": pa.array([part] * len(rows), pa.int32()),
                "newest_us": pa.array([newest_us] * len(rows), pa.int64()),
                "data": pa.array([blob for _, blob in rows], pa.binary()),
            }
        )
    freeze_loaded()


def packed_changes(
    labels: Sequence[int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The changes of a partition, as a blob for every bucket."""
    for table in gathered(batches, MOST_ROWS):
        blobs = [
            to_blob(table.append_column(REPORTS, pa.repeat(number == 0, len(table))))
            for number in range(len(labels))
        ]
        rows = [*zip(labels, blobs, strict=True), (GUARD, None)]
        yield pa.record_batch(
            {
                BUCKET: pa.array([label for label, _ in rows], pa.int32()),
                "part": pa.array([-1] * len(rows), pa.int32()),
                "newest_us": pa.nulls(len(rows), pa.int64()),
                "data": pa.array([blob for _, blob in rows], pa.binary()),
            }
        )
    freeze_loaded()


def to_blob(table: pa.Table, is_compressed: bool = True) -> bytes:
    """A table as bytes.

    >>> from_blob(to_blob(pa.table({"x": [1, 2]}))).column("x").to_pylist()
    [1, 2]
    """
    sink = pa.BufferOutputStream()
    options = _FORMAT if is_compressed else None
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def to_blobs(table: pa.Table, is_compressed: bool = True) -> Iterator[bytes]:
    """A table as bytes in pieces; none is large unless a row is.

    >>> table = pa.table({"x": range(100_000)})
    >>> pa.concat_tables(map(from_blob, to_blobs(table))).equals(table)
    True
    """
    rows = max(1, tuning().blob_bytes * len(table) // max(table.nbytes, 1))
    for low in range(0, len(table), rows):
        yield to_blob(table.slice(low, rows), is_compressed)


def from_blob(blob: bytes) -> pa.Table:
    """The table that :func:`to_blob` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def compressed(octets: bytes | memoryview) -> bytes:
    """The bytes, compressed; a snapshot shrinks to about a fifth.

    >>> len(compressed(bytes(1_000_000))) < 1_000
    True
    """
    size = len(octets).to_bytes(8, "little")
    return size + bytes(pa.compress(octets, codec=_CODEC, asbytes=True))


def decompressed(octets: bytes) -> bytes:
    """The bytes that :func:`compressed` was given.

    >>> decompressed(compressed(b"snapshot"))
    b'snapshot'
    """
    size = int.from_bytes(octets[:8], "little")
    return bytes(pa.decompress(octets[8:], size, codec=_CODEC, asbytes=True))
