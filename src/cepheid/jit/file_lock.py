"""One at a time on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with this file. A lock of the operating system ends with its process, in any case."""
    try:
        import fcntl
    except ImportError:  # Not on Windows: there all go on at once.
        yield
        return
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
