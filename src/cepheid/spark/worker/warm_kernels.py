"""A query prepared once on a machine: of several workers that start at once one does, others wait.

Its conditions are compiled then, and kept in a folder that all processes of a user share.
Without this every worker that finds them missing would compile by itself, all of them at the
same time. Kernels see to it by themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compiled_once(task: str) -> Iterator[None]:
    """Alone on this machine, if this task is done for the first time in this version."""
    from cepheid.jit import decorators as jit
    from cepheid.jit.file_lock import locked

    name = hashlib.sha256(task.encode()).hexdigest()[:24]
    done = jit.FOLDER / f"warm_{name}"
    if done.exists():
        yield
        return
    with locked(jit.FOLDER / "warm.lock"):
        yield
        done.touch()
