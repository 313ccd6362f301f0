"""The state of a session as bytes: numbers and strings only, checked when they are read.

The bytes are a magic word, a version, the CRC-32 of the rest, a JSON header, and arrays as they are
in memory, so that arrays are read without conversion. Nothing in them is executed. A snapshot that
stays on one machine, and is used only if it was written completely, needs no checksum. It has
another magic word, and consists of parts that are written one after another.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import SnapshotError

VERSION = 4
_MAGIC = b"cepheid-snapshot"
_UNCHECKED = b"cepheid-unsealed"
_START = len(_MAGIC) + 4 + 4
"""The offset where the checksum begins to apply."""
_ALIGNED = 64
"""Arrays begin at multiples of this, as compiled code requires."""

Arrays = dict[str, npt.NDArray[Any]]
Parts = Sequence[bytes | memoryview]
Each = TypeVar("Each")


def pack(header: dict[str, Any], arrays: Arrays) -> Parts:
    """The parts of a snapshot of this header and these arrays, which are not copied.

    >>> header, arrays = unpack(sealed(pack({"now": 5}, {"x": np.array([1, 2])})))
    >>> header["now"], arrays["x"].tolist()
    (5, [1, 2])
    """
    kinds = {
        name: (np.lib.format.dtype_to_descr(array.dtype), array.shape)
        for name, array in arrays.items()
    }
    text = json.dumps({"header": header, "arrays": kinds}).encode()
    parts: list[bytes | memoryview] = [
        _UNCHECKED + _word(VERSION) + _word(0),
        len(text).to_bytes(8, "little"),
        text,
    ]
    size = _START + 8 + len(text)
    for array in arrays.values():
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        parts += [bytes(-size % _ALIGNED), data.data]
        size += -size % _ALIGNED + array.nbytes
    return parts


def sealed(parts: Parts) -> bytes:
    """The snapshot as one piece, with its checksum."""
    checksum = 0
    for each in parts[1:]:
        checksum = zlib.crc32(each, checksum)
    return b"".join([_MAGIC, _word(VERSION), _word(checksum), *parts[1:]])


def check_snapshot(snapshot: object) -> None:
    """Refuse a value that is not the result of ``snapshot()``, such as None."""
    if not isinstance(snapshot, bytes | bytearray | memoryview):
        raise SnapshotError(
            f"a snapshot is bytes, not {type(snapshot).__name__}; session() begins a new session"
        )
    if bytes(memoryview(snapshot)[: len(_MAGIC)]) == _UNCHECKED:
        raise SnapshotError("the snapshot has no checksum; store the bytes of snapshot()")


def unpack(snapshot: bytes | memoryview) -> tuple[dict[str, Any], Arrays]:
    """The header and arrays of a snapshot.

    The arrays are writable. They share the memory of the snapshot if possible, and are copies
    otherwise.

    Raises:
        SnapshotError: it is not a snapshot, is damaged, or is of another version.
    """
    data = memoryview(snapshot).cast("B")
    magic = bytes(data[: len(_MAGIC)])
    if magic not in (_MAGIC, _UNCHECKED) or len(data) < _START + 8:
        raise SnapshotError("these bytes are not a snapshot of a session")
    version = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 4], "little")
    if version != VERSION:
        raise SnapshotError(
            f"the snapshot has version {version}, and this cepheid reads version {VERSION}; "
            "read the stream from its beginning, or use the cepheid that made the snapshot"
        )
    is_checked = magic == _MAGIC
    if is_checked and _word(zlib.crc32(data[_START:])) != data[len(_MAGIC) + 4 : _START]:
        raise SnapshotError("the snapshot is damaged: its checksum does not match")
    end = _START + 8 + int.from_bytes(data[_START : _START + 8], "little")
    try:
        content = json.loads(bytes(data[_START + 8 : end]))
        arrays: Arrays = {}
        for name, (descr, shape) in content["arrays"].items():
            dtype = np.lib.format.descr_to_dtype(_as_descr(descr))
            start = end + -end % _ALIGNED
            end = start + dtype.itemsize * math.prod(shape)
            array = np.frombuffer(data[start:end], dtype).reshape(shape)
            arrays[name] = array if array.flags.writeable and array.flags.aligned else array.copy()
        header = content["header"]
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from error
    if end != len(data):
        raise SnapshotError("the snapshot is damaged: its length does not match")
    return header, arrays


def _word(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _as_descr(descr: Any) -> Any:
    """The NumPy description of a dtype; JSON has turned its tuples into lists."""
    if isinstance(descr, str):
        return descr
    return [(name, _as_descr(kind), *map(tuple, shape)) for name, kind, *shape in descr]


def prefixed(name: str, arrays: Mapping[str, Each]) -> dict[str, Each]:
    """The arrays, or what is expected of them, as the part ``name`` of a larger snapshot."""
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


def table_from(stored: bytes | npt.NDArray[np.uint8]) -> pa.Table:
    """The table that :func:`table_bytes` wrote.

    Raises:
        SnapshotError: the bytes are not such a table.
    """
    try:
        table = pa.ipc.open_stream(pa.py_buffer(stored)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from error
    return table.combine_chunks()
