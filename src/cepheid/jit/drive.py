"""The one loop around a kernel: call it, provide what it lacks, call it again.

Kernels are resumable. Before each event, a kernel needs room for the most that the event can add.
Otherwise it saves in its state where it stopped, and returns a status that says what it lacks.

A kernel also returns when it has worked for a while, with the status PAUSE. Python then handles
signals, such as Ctrl-C, and the kernel is called again. How much work is left before the next
pause is a number in memory, :attr:`Drive.pace`, from which a kernel subtracts one for each run,
instance or candidate that it has looked at. A kernel pauses only after it has made progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from threading import Event
from time import perf_counter
from typing import TypeVar

import numpy as np

from cepheid.tuning import tuning

DONE = 0
"""The status of a kernel that has read all events."""
PAUSE = -1
"""The status of a kernel that lacks nothing: it is called again after signals were handled."""

Block = TypeVar("Block")

STOPPING: ContextVar[Event | None] = ContextVar("cepheid stopping", default=None)
"""Set by a thread that waits for this one, so that its kernels are not called again."""


class Stopped(Exception):
    """Another thread has asked this one to stop."""


class Drive:
    """Runs kernels to completion, and measures the time that they take."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pace = np.zeros(1, dtype=np.int64)

    def __call__(
        self,
        kernel: Callable[[], int],
        provide: Mapping[int, Callable[[], Iterable[Block] | None]],
    ) -> Iterator[Block]:
        """Call the kernel until it is done, and yield the blocks drained in between.

        ``provide`` maps each status that the kernel can return to the function that grows or
        drains the memory it asks for.

        >>> lacks = iter([1, PAUSE, 1, 0])
        >>> list(Drive()(lambda: next(lacks), {1: lambda: ["a block"]}))
        ['a block', 'a block']
        """
        work = tuning().pause_work
        stopping = STOPPING.get()
        while True:
            if stopping is not None and stopping.is_set():
                raise Stopped
            self.pace[0] = work
            begun = perf_counter()
            status = kernel()
            self.seconds += perf_counter() - begun
            if status == DONE:
                return
            if status != PAUSE:
                yield from provide[status]() or ()

    def run(self, kernel: Callable[[], int], provide: Mapping[int, Callable[[], None]]) -> None:
        """Call a kernel that drains nothing until it is done."""
        for _ in self(kernel, provide):
            pass
