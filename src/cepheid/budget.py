"""The memory that a run may take for its state and for the matches that it holds.

Arrays that grow are charged to the budget in force before they are allocated, and matches before
they are kept. By default a budget is half of the memory that is available when a run first needs
much: then no query ends in the operating system's killer of processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import NamedTuple

from cepheid.visible import said

_UNMEASURED = 32 << 20
"""Up to this many bytes, a run does not look how much memory is available."""
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


class OverBudget(MemoryError):
    """A run needs more memory than it may take; its query makes a LimitError of it."""


class Budget:
    """Counts the bytes that a run holds.

    >>> budget = Budget(read_size("1 kB"))
    >>> budget.charge(800)
    >>> budget.charge(300)
    Traceback (most recent call last):
    cepheid.budget.OverBudget: more than the memory limit of 1000 bytes is needed
    """

    def __init__(self, limit: int | None = None) -> None:
        self.used = 0
        self._limit = limit
        self._is_measured = limit is not None

    def charge(self, size: int) -> None:
        """Count this many bytes more, before they are allocated.

        Raises:
            OverBudget: there would be more than the limit.
        """
        used = self.used + size
        if not self._is_measured and used > _UNMEASURED:
            self._is_measured = True
            recent = _limit_in(int(monotonic()))
            self._limit = None if recent is None else recent + self.used // 2
        if self._limit is not None and used > self._limit:
            raise OverBudget(f"more than the memory limit of {self.limit_text} is needed")
        self.used = used

    def release(self, size: int) -> None:
        """Count this many bytes less."""
        self.used -= size

    @property
    def limit_text(self) -> str:
        """The limit, for a message."""
        return size_text(self._limit or 0)

    def in_force(self) -> _InForce:
        """Charge arrays that grow, and what else is counted, to this budget."""
        return _InForce(self)


class SharedBudget(Budget):
    """A budget to which several threads charge."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self._lock = RLock()  # memory may be freed, and released, while a thread charges

    def charge(self, size: int) -> None:
        """Count this many bytes more."""
        with self._lock:
            super().charge(size)

    def release(self, size: int) -> None:
        """Count this many bytes less."""
        with self._lock:
            super().release(size)


_IN_FORCE: ContextVar[Budget | None] = ContextVar("cepheid budget", default=None)


class _InForce:
    """A budget that is in force until the block ends; a generator would take longer."""

    __slots__ = ("_budget", "_token")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __enter__(self) -> None:
        self._token = _IN_FORCE.set(self._budget)

    def __exit__(self, *_: object) -> None:
        _IN_FORCE.reset(self._token)


def budget_in_force() -> Budget | None:
    """The budget to which this thread charges what it allocates."""
    return _IN_FORCE.get()


def charge(size: int) -> None:
    """Charge this many bytes to the budget in force, if there is one."""
    budget = _IN_FORCE.get()
    if budget is not None:
        budget.charge(size)


def read_size(value: object) -> int:
    """A number of bytes, given as a number or with a unit.

    >>> read_size("2 GiB"), read_size("1.5 MB"), read_size(4096)
    (2147483648, 1500000, 4096)
    """
    size = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (found := _SIZE.fullmatch(value)):
        number, power, binary = found.groups()
        amount = float(number) * (1024 if binary else 1000) ** _POWERS[power.lower()]
        size = int(min(amount, 2.0**62))
    if size < 1:
        raise ValueError(f"a size such as '2 GiB' or '500 MB', not {said(value)}")
    return size


def size_text(size: int) -> str:
    """A number of bytes with a unit.

    >>> size_text(1000), size_text(300 << 20), size_text(3 << 30)
    ('1000 bytes', '300 MiB', '3 GiB')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size} bytes"


@lru_cache(maxsize=1)
def _limit_in(second: int) -> int | None:  # noqa: ARG001 - what is known is valid for a second
    """The limit of a run without ``max_memory``, measured at most once a second."""
    return Available.now().limit()


class Available(NamedTuple):
    """The bytes that a process can still get, by all limits that are known.

    Those in ``shared`` are for all processes, and those in ``own`` for this one.
    """

    shared: Sequence[int]
    own: Sequence[int] = ()

    @classmethod
    def now(cls) -> Available:
        """What the operating system says."""
        free, address_space = _free(), _left_of_address_space()
        shared = [*([] if free is None else [free]), *left_in_cgroups()]
        return cls(shared, [] if address_space is None else [address_space])

    def limit(self, besides: int = 0, workers: int = 1) -> int | None:
        """Half of it: the limit of a run without ``max_memory``; None if nothing is known.

        Args:
            besides: the bytes that the run holds already.
            workers: the processes that share the memory of the machine.

        >>> Available([1000, 800]).limit(), Available([800], [500]).limit(workers=2)
        (400, 200)
        """
        available = [*(each // workers for each in self.shared), *self.own]
        return (min(available) + besides) // 2 if available else None


def _free() -> int | None:
    """The memory that the operating system can give to processes."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_of_address_space() -> int | None:
    """How far the process is from RLIMIT_AS, if it has one."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    pages = next(iter(_lines("/proc/self/statm")), "0").split()[0]
    return max(limit - int(pages) * resource.getpagesize(), 0)


def left_in_cgroups(
    proc: str = "/proc/self/cgroup", mounted: str = "/sys/fs/cgroup"
) -> Iterator[int]:
    """What each cgroup of the process, and each one above it, has left.

    Memory that only caches files is given back when it is needed.
    """
    for line in _lines(proc):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = Path(mounted), ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = Path(mounted) / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container, the path may be that outside; its own group is then the root.
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            limit, used = (_number(_lines(folder / name)) for name in names[:2])
            if limit is not None and used is not None:
                stat = [each.split()[1:] for each in _lines(folder / "memory.stat", names[2])]
                cached = int(stat[0][0]) if stat else 0
                yield max(limit - max(used - cached, 0), 0)
            if folder == root:
                break


def _number(lines: Iterable[str]) -> int | None:
    """The number that a file has, unless it says ``max``."""
    text = next(iter(lines), "").strip()
    return int(text) if text.isdecimal() else None


def _lines(path: str | Path, begin: str = "") -> list[str]:
    """The lines of a small file that begin so; none if it cannot be read."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.startswith(begin)]
