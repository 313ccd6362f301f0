"""The one loop around a kernel: call it, provide what it lacks, call it again.

Kernels are resumable. Before each event there must be room for the most that it can add;
otherwise the kernel returns what it lacks, having noted in its state where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import TypeVar

DONE = 0
"""What a kernel returns when it has read all events."""

Block = TypeVar("Block")


class Drive:
    """Runs kernels to their end, and measures the time that they take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(
        self,
        kernel: Callable[[], int],
        provide: Mapping[int, Callable[[], Iterable[Block] | None]],
    ) -> Iterator[Block]:
        """Call the kernel until it is done; what is drained in between, in blocks.

        ``provide`` has, for each status that the kernel can return, what grows or drains what it
        asks for.

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
