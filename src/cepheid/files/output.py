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
    beside = target.parent / f".cepheid-{secrets.token_hex(8)}.part"
    try:
        mode = _replaced_mode(file)
        raw = _Raw(_special(file), "wb", file) if mode is None else _Raw(beside, "xb", file)
    except OSError as error:
        raise _cannot_write(file, error) from None
    try:
        sink = io.BufferedWriter(raw)
        yield sink
        sink.flush()
        try:
            raw.close()
            if mode is not None:
                beside.chmod(mode or beside.stat().st_mode)
                beside.replace(target)
        except OSError as error:
            raise _cannot_write(file, error) from None
    except BaseException:
        with suppress(OSError):
            raw.close()  # before the buffer is: it would try to write the rest
        if mode is not None:
            beside.unlink(missing_ok=True)
        raise


def _replaced_mode(file: Path) -> int | None:
    """The mode of the file to replace, 0 if there is none; None if it is written directly."""
    if _DESCRIPTOR.fullmatch(str(file)):
        return None
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return 0
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return None
    # A file that cannot be written is not replaced either, and a folder never.
    os.close(os.open(file, os.O_WRONLY))
    return stat.S_IMODE(mode)


def _special(file: Path) -> Path | int:
    """A pipe or a device, or a copy of the descriptor of ``/dev/stdout`` or ``/dev/fd/N``."""
    named = _DESCRIPTOR.fullmatch(str(file))
    if named is None:
        return file
    return os.dup(1 if named[1] else 2 if named[2] else int(named[3]))


class _Raw(io.FileIO):
    """An open file; a write that fails is an error that names the output file."""

    def __init__(self, opened: Path | int, mode: str, file: Path) -> None:
        super().__init__(opened, mode)
        self._file = file

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _cannot_write(self._file, error) from None


def _cannot_write(file: Path, error: OSError) -> OptionError:
    return OptionError(f"cannot write {str(file)!r}: {error.strerror}")
