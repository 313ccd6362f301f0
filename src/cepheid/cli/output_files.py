"""The files that commands write: complete or not there at all."""

from __future__ import annotations

import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cepheid.errors import OptionError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_DESCRIPTOR = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/(\d+))")


@contextmanager
def open_output(file: Path | None) -> Iterator[BinaryIO]:
    """The file to write to, or stdout.

    A file is written beside its place and renamed when it is complete. After an error or an
    interrupt nothing is left of it, and an earlier file is unchanged. Pipes, devices and open
    descriptors, such as ``/dev/stdout``, are written directly.
    """
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(file))
    try:
        replaced = _regular_file(file, target)
        if replaced is None:
            beside, raw = None, _Raw(_descriptor(file), file)
        else:
            beside = target.with_name(f".cepheid-{secrets.token_hex(8)}.part")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            raw = _Raw(os.open(beside, flags, 0o666), file)
    except OSError as error:
        raise _cannot_write(file, error) from None
    try:
        sink = io.BufferedWriter(raw)
        yield sink
        sink.flush()
        raw.close()
        if beside is not None:
            if replaced:
                beside.chmod(replaced)
            beside.replace(target)
    except BaseException as error:
        with suppress(OSError):
            raw.close()  # before the buffer is: it would try to write the rest
        if beside is not None:
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None and beside is not None:
            raise _cannot_write(file, error) from None
        raise


def _regular_file(file: Path, target: Path) -> int | None:
    """The mode of the file to replace, 0 if there is none; None if it is written directly."""
    if _DESCRIPTOR.fullmatch(str(file)):
        return None
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return 0
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return None
    # A file that cannot be written is not replaced either, and a folder never.
    os.close(os.open(target, os.O_WRONLY))
    return stat.S_IMODE(mode)


def _descriptor(file: Path) -> int:
    """An open descriptor of a pipe, a device, or of what ``/dev/stdout`` and ``/dev/fd/N`` name."""
    named = _DESCRIPTOR.fullmatch(str(file))
    if named is None:
        return os.open(file, os.O_WRONLY)
    return os.dup(1 if named[1] else 2 if named[2] else int(named[3]))


class _Raw(io.FileIO):
    """An open file whose failed writes are errors that name it."""

    def __init__(self, descriptor: int, file: Path) -> None:
        super().__init__(descriptor, "wb")
        self._file = file

    def write(self, data: ReadableBuffer, /) -> int | None:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _cannot_write(self._file, error) from None


def _cannot_write(file: Path, error: OSError) -> OptionError:
    return OptionError(f"cannot write {str(file)!r}: {error.strerror}")
