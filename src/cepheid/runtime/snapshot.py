"""The state of a session as bytes: numbers and texts only, checked when they are read.

The bytes are a magic word, a version, the SHA-256 of the rest, and then a JSON header and
NumPy arrays. Nothing in them is executed when they are read.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import SnapshotError

VERSION = 1
_MAGIC = b"cepheid-snapshot"
_DIGEST = hashlib.sha256().digest_size

Arrays = dict[str, npt.NDArray[Any]]


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """A snapshot of this header and these arrays.

    >>> header, arrays = unpack(pack({"now": 5}, {"x": np.array([1, 2])}))
    >>> header["now"], arrays["x"].tolist()
    (5, [1, 2])
    """
    text = json.dumps(header).encode()
    body = io.BytesIO()
    body.write(len(text).to_bytes(8, "little"))
    body.write(text)
    np.savez(body, allow_pickle=False, **arrays)
    content = body.getvalue()
    digest = hashlib.sha256(content).digest()
    return _MAGIC + VERSION.to_bytes(4, "little") + digest + content


def unpack(snapshot: bytes) -> tuple[dict[str, Any], Arrays]:
    """The header and arrays of a snapshot.

    Raises:
        SnapshotError: it is not a snapshot, is damaged, or is of another version.
    """
    start = len(_MAGIC) + 4 + _DIGEST
    if not snapshot.startswith(_MAGIC) or len(snapshot) < start + 8:
        raise SnapshotError("these bytes are not a snapshot of a session")
    version = int.from_bytes(snapshot[len(_MAGIC) : len(_MAGIC) + 4], "little")
    if version != VERSION:
        raise SnapshotError(
            f"the snapshot has version {version}, and this cepheid reads version {VERSION}; "
            "read the stream from its beginning, or use the cepheid that made the snapshot"
        )
    content = snapshot[start:]
    if hashlib.sha256(content).digest() != snapshot[len(_MAGIC) + 4 : start]:
        raise SnapshotError("the snapshot is damaged: its checksum does not match")
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    with np.load(io.BytesIO(content[8 + size :]), allow_pickle=False) as stored:
        return header, {name: stored[name] for name in stored.files}


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """The arrays, as a part called ``name`` of a larger snapshot."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def part(name: str, arrays: Arrays) -> Arrays:
    """The arrays of that part."""
    start = f"{name}."
    return {
        key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)
    }


def table_bytes(table: pa.Table) -> npt.NDArray[np.uint8]:
    """An Arrow table as an array."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def table_from(stored: npt.NDArray[np.uint8]) -> pa.Table:
    """The table that :func:`table_bytes` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(stored.tobytes())).read_all().combine_chunks()
