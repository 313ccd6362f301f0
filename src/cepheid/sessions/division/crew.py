"""Threads that work on parts of a run; compiled code runs in them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import TypeVar

from cepheid.jit.drive import STOPPING, Stopped

Found = TypeVar("Found")


class Crew:
    """A number of threads. An exception in one of them stops the others."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="cepheid worker")

    def each(self, works: Sequence[Callable[[], Found]]) -> list[Found]:
        """What each piece of work returns.

        >>> Crew(2).each([lambda: 1, lambda: 2])
        [1, 2]
        """
        stopping = Event()

        def begin(work: Callable[[], Found]) -> Found:
            STOPPING.set(stopping)
            return work()

        # A context can be entered by one thread only.
        running = [self._pool.submit(copy_context().run, begin, work) for work in works]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:  # also after Ctrl-C, which interrupts this thread
            stopping.set()
            wait(running)
        failed = [error for each in running if (error := each.exception()) is not None]
        for error in failed:
            if not isinstance(error, Stopped):
                raise error
        return [each.result() for each in running]
