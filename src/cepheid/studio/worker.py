"""A process that runs trials, and is ended when one takes too long."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from threading import Lock
from time import monotonic
from typing import Any

from cepheid.errors import LimitError

SECONDS = 10.0
_STEP = 0.2


class Worker:
    """Runs one task at a time; after ``seconds`` its process is ended, and a new one starts."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Connection | None = None
        self._is_compiling = self._context.Value("b", False, lock=False)

    def run(self, task: str, *arguments: Any) -> tuple[str, Any]:
        """The reply to a task.

        Raises:
            LimitError: it took too long, or its process ended.
        """
        with self._lock:
            try:
                connection = self._connection or self._start()
                connection.send((task, arguments))
                if self._has_reply(connection):
                    answered: tuple[str, Any] = connection.recv()
                    return answered
                said = f"stopped after {self.seconds:g} seconds: try a smaller sample or a window"
            except (EOFError, OSError):
                said = "the process that ran the query ended, perhaps for lack of memory"
            self._end()
            raise LimitError(said)

    def _has_reply(self, connection: Connection) -> bool:
        """Whether the reply arrives in time, without the time in which code is compiled."""
        left = self.seconds
        while left > 0:
            begun = monotonic()
            if connection.poll(min(left, _STEP)):
                return True
            if not self._is_compiling.value:
                left -= monotonic() - begun
        return False

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        self._is_compiling.value = False
        given = theirs, self._is_compiling
        self._process = self._context.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        theirs.close()
        # The process loads the engines first, and may have to compile them, which does not count.
        ours.recv()
        self._connection = ours
        return ours

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

    def prepare(self) -> None:
        """Start the process, so that the first task need not wait for it."""
        with self._lock, suppress(EOFError, OSError):
            if self._connection is None:
                self._start()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()


def _serve(connection: Connection, is_compiling: Any) -> None:
    """Answer tasks until the other side closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server.
    from cepheid.cache import watch_first_times
    from cepheid.studio.trials import answer, prepare

    watch_first_times(partial(setattr, is_compiling, "value"))
    prepare()
    connection.send("ready")
    while True:
        try:
            task, arguments = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answer(task, arguments))
