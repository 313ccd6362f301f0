"""The progress of long work on a terminal: rows, per cent, rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from cepheid.cli.reporting import busy
from cepheid.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from cepheid.matches.match_stream import MatchStream

_SECONDS = 0.2
"""How often the progress is looked at."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far some work is; ``part`` numbers the parts that are done one after the other."""

    what: str
    done: int
    total: int
    part: int = 0


def watching(matches: MatchStream) -> AbstractContextManager[None]:
    """Show how many events have been matched while matches are read; nothing on a pipe."""
    return _shown("Matching", lambda: Reached("Matching", *matches.progress))


@contextmanager
def following(what: str, *, is_script: bool = False) -> Iterator[None]:
    """Show how many events have been matched by what runs inside; nothing on a pipe."""
    from cepheid.sessions.run import followed_runs

    with followed_runs() as runs:

        def reached() -> Reached | None:
            if not runs:  # Events are being read.
                return None
            now = runs[-1]
            name = f"{what} {visible(now.query)}" if is_script else what
            return Reached(name, now.run.events_done, now.events, len(runs))

        with _shown(what, reached):
            yield


@contextmanager
def _shown(what: str, reached: Callable[[], Reached | None]) -> Iterator[None]:
    """Show a spinner until the work has begun, and then a bar; a new one for each part."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.markup import escape

    ended = Event()

    def watch() -> None:
        if reached() is None:
            with busy(what):
                while reached() is None and not ended.wait(_SECONDS):
                    pass
        with progress_bar() as bar:
            task, part = None, None
            while True:
                now = reached()
                if now is not None and (task is None or now.part != part):
                    if task is not None:
                        bar.remove_task(task)
                    task, part = bar.add_task(escape(now.what), total=now.total), now.part
                if now is not None and task is not None:
                    bar.update(task, completed=now.done)
                if ended.wait(_SECONDS):
                    return

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def progress_bar(what: str = "rows") -> Progress:
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
            return Text(f"{task.speed or 0:,.0f} {what}/s")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} of {{task.total:,}} {what}"),
        TaskProgressColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
