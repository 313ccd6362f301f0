"""The progress of long work on a terminal: rows, per cent, rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from cepheid.matches.match_stream import MatchStream

_SECONDS = 0.2
"""How often the progress is looked at."""


@contextmanager
def watching(matches: MatchStream) -> Iterator[None]:
    """Show how many events have been matched while matches are read; nothing on a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    bar = progress_bar()
    done, total = matches.progress
    task, ended = bar.add_task("Matching", completed=done, total=total), Event()

    def watch() -> None:
        while not ended.wait(_SECONDS):
            bar.update(task, completed=matches.progress[0])

    thread = Thread(target=watch, daemon=True)
    with bar:
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def progress_bar() -> Progress:
    """A bar on stderr that vanishes when the work is done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} rows/s")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} rows"),
        TaskProgressColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
