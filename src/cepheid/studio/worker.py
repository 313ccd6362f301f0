"""A process that runs trials, and is ended when one takes too long."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from cepheid.errors import LimitError

SECONDS = 10.0


class Worker:
    """Runs one task at a time; after ``seconds`` its process is ended, and a new one starts."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Connection | None = None

    def run(self, task: str, *arguments: Any) -> tuple[str, Any]:
        """The reply to a task.

        Raises:
            LimitError: it took too long, or its process ended.
        """
        with self._lock:
            try:
                connection = self._connection or self._start()
                connection.send((task, arguments))
                if connection.poll(self.seconds):
                    answered: tuple[str, Any] = connection.recv()
                    return answered
                said = f"stopped after {self.seconds:g} seconds: try a smaller sample or a window"
            except (EOFError, OSError):
                said = "the process that ran the query ended, perhaps for lack of memory"
            self._end()
            raise LimitError(said)

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
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


def _serve(connection: Connection) -> None:
    """Answer tasks until the other side closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server.
    from cepheid.studio.trials import answer, prepare

    prepare()
    connection.send("ready")
    while True:
        try:
            task, arguments = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answer(task, arguments))
