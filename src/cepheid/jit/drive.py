"""The one loop around a kernel: call it, provide what it lacks, call it again.

Kernels are resumable. Before each event, a kernel needs room for the most that the event can add.
Otherwise it saves in its state where it stopped, and returns a status that says what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import TypeVar

DONE = 0
"""The status of a kernel that has read all events."""

Block = TypeVar("Block")


class Drive:
    """Runs kernels to completion, and measures the time that they take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(
        self,
        kernel: Callable[[], int],
        provide: Mapping[int, Callable[[], Iterable[Block] | None]],
    ) -> Iterator[Block]:
        """Call the kernel until it is done, and yield the blocks drained in between.

        ``provide`` maps each status that the kernel can return to the function that grows or
        drains the memory it asks for.

        >>> lacks = iter([1, 1, 0])
        >>> list(Drive()(lambda: next(lacks), {1: lambda: ["a block"]}))
        ['a block', 'a block']
        """
        while True:
            begun = perf_counter()
            status = kernel()
            self.seconds += perf_counter() - begun
            if status == DONE:
                return
            yield from provide[status]() or ()

    def run(self, kernel: Callable[[], int], provide: Mapping[int, Callable[[], None]]) -> None:
        """Call a kernel that drains nothing until it is done."""
        for _ in self(kernel, provide):
            pass
