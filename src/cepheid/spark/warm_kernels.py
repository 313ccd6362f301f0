"""Compiled once on a machine: of several workers that start at once one compiles, others wait.

Compiled code is kept in a folder that all processes of a user share. Without this every worker
that finds the folder empty would compile by itself, for some fifteen seconds, all of them at the
same time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def compiled_once(task: str) -> Iterator[None]:
    """Alone on this machine, if this task is done for the first time in this version.

    A lock of the operating system ends with its process, however that ends.
    """
    from cepheid.kernels import jit

    name = hashlib.sha256(task.encode()).hexdigest()[:24]
    done = jit.FOLDER / f"warm_{name}"
    if done.exists():
        yield
        return
    with _locked(jit.FOLDER / "warm.lock"):
        yield
        done.touch()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Not on Windows: there each worker compiles.
        yield
        return
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
