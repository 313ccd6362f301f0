"""The folder that keeps compiled code between processes, and the lock for filling it.

Numba notices a change of a kernel's own file, but not of a helper in another module. The folder
is therefore named after a hash of all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
from platformdirs import user_cache_path


def cache_folder() -> Path:
    """The folder for this version: below CEPHEID_CACHE_DIR, or below the user's cache folder."""
    package = Path(__file__).parents[1]
    sources = {
        *package.glob("jit/*.py"),
        *package.rglob("kernels/*.py"),
        *package.rglob("*layout.py"),
    }
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    return _cache_root() / digest.hexdigest()[:16]


def _cache_root() -> Path:
    given = os.environ.get("CEPHEID_CACHE_DIR")
    if given:
        return Path(given)
    root = user_cache_path("cepheid", appauthor=False)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:  # A user without a home folder, as in many containers.
        return Path(tempfile.gettempdir()) / f"cepheid-{os.getuid()}"
    return root


FOLDER = cache_folder()
FOLDER.mkdir(parents=True, exist_ok=True)
setattr(numba.config, "CACHE_DIR", str(FOLDER))  # noqa: B010 - not a declared name


@contextmanager
def first_time(task: str) -> Iterator[bool]:
    """Run a task that fills the cache; of several processes that start it, one runs at a time.

    Yields whether the task has not finished before. Once it has, nobody waits any more.
    """
    done = FOLDER / f"done_{hashlib.sha256(task.encode()).hexdigest()[:24]}"
    if done.exists():
        yield False
        return
    from filelock import FileLock  # Costs some 10 ms, which a filled cache does not need.

    with FileLock(done.with_suffix(".lock")):
        yield not done.exists()
        done.touch()
