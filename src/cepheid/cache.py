"""The folder that keeps compiled code between processes, and the lock for filling it.

What is in the folder is executed: numba's index files and the grammars' tables are pickles. The
folder is therefore used only if nobody but its user and root can write to it. Where there is no
such folder, a private one lasts as long as the process. What cannot be stored is made again by
the next process.

Numba notices a change of a kernel's own file, but not of a helper in another module. The folder
is therefore named after a hash of all kernel sources.

A wheel for one platform brings its own compiled code and tables, in a folder of the package. Who
can write there can also change the code of the package: the folder is trusted as that code is.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

from cepheid.errors import warn

CHECKED = os.environ.get("CEPHEID_CHECKED", "") not in ("", "0")
"""Whether kernels are compiled with tests of every index. They are then several times slower."""


SHIPPED = Path(__file__).with_name("shipped")
"""What a wheel for one platform brings along; other installations have no such folder."""


@cache
def kernel_digest() -> str:
    """A hash of all that kernels are compiled from."""
    package = Path(__file__).parent
    sources = {
        *package.glob("jit/*.py"),
        *package.rglob("kernels/*.py"),
        *package.rglob("*layout.py"),
    }
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """The folder for this version: below CEPHEID_CACHE_DIR, or below the user's cache folder."""
    versions = f"{version('numba')} {version('numpy')} {sys.version} {CHECKED}"
    digest = hashlib.sha256(f"{kernel_digest()} {versions}".encode())
    given = os.environ.get("CEPHEID_CACHE_DIR")
    try:
        root = Path(given) if given else user_cache_path("cepheid", appauthor=False)
        folder = _private(root / digest.hexdigest()[:16])
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder.
        why_not = getattr(error, "strerror", None) or error
    else:
        return folder
    warn(
        f"the cache folder cannot be used: {why_not}. Compiled code is kept for this process only; "
        "CEPHEID_CACHE_DIR names another folder"
    )
    private = Path(tempfile.mkdtemp(prefix="cepheid-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def _private(folder: Path) -> Path:
    """A folder and its parent, for their user alone, without links that others can change.

    Raises:
        OSError: others can write there.
    """
    if not folder.parent.is_absolute() and str(folder).startswith("~"):
        raise OSError("there is no home folder")
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    real = folder
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
        real = each.resolve(strict=True)
        if not _is_private(real.stat()):
            raise OSError(f"others can write to {each}")
    return real


def _is_private(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):  # Windows has no owners and modes of this kind.
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


FOLDER = cache_folder()


@cache
def warn_not_stored(reason: str) -> None:
    """Warn, once, that compiled code could not be stored."""
    warn(f"compiled code cannot be stored in {FOLDER} ({reason}); each process compiles it again")


_HAVE_RUN: set[str] = set()
"""Evaluations that this process has run."""


def has_run(evaluation: str) -> bool:
    """Whether the folder has compiled code of an evaluation."""
    return evaluation in _HAVE_RUN or (FOLDER / f"ran_{evaluation}").exists()


def is_loaded(evaluation: str) -> bool:
    """Whether this process has noted that an evaluation runs."""
    return evaluation in _HAVE_RUN


def note_run(evaluation: str) -> None:
    """Note that an evaluation runs, and leaves compiled code in the folder."""
    if evaluation not in _HAVE_RUN:
        _HAVE_RUN.add(evaluation)
        with suppress(OSError):
            (FOLDER / f"ran_{evaluation}").touch()


def store(path: Path, data: bytes) -> None:
    """Write a file that others see only when it is complete."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


_WATCHES: list[Callable[[bool], None]] = []


def watch_first_times(watch: Callable[[bool], None]) -> None:
    """Call a function with True when this process begins to fill the cache, and then with False."""
    _WATCHES.append(watch)


@contextmanager
def first_time(task: str) -> Iterator[bool]:
    """Run a task that fills the cache; of several processes that start it, one runs at a time.

    Yields whether the task has not finished before. Once it has, nobody waits any more.
    """
    done = FOLDER / f"done_{hashlib.sha256(task.encode()).hexdigest()[:24]}"
    if done.exists():
        yield False
        return
    for watch in _WATCHES:
        watch(True)
    try:
        with _alone(done) as is_first:
            yield is_first
    finally:
        for watch in _WATCHES:
            watch(False)


@contextmanager
def _alone(done: Path) -> Iterator[bool]:
    """Wait for other processes with the same task; whether none of them has done it."""
    from filelock import FileLock  # Costs some 10 ms, which a filled cache does not need.

    lock = FileLock(done.with_suffix(".lock"))
    try:
        lock.acquire()
    except OSError:  # The folder is read-only, or the disk is full.
        yield True
        return
    try:
        yield not done.exists()
        with suppress(OSError):
            done.touch()
    finally:
        lock.release()
