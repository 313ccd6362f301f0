"""How signals end a command: a line on stderr, and 128 plus the number of the signal as exit code.

Python handles a signal between two steps of the main thread. A library can keep that thread for
longer, for example to sort, to compile or to close a Spark session. Then another thread ends the
process.
"""

from __future__ import annotations

import os
import signal
import sys
from threading import Event, Thread
from time import sleep
from typing import NoReturn

GRACE_SECONDS = 0.7
_MESSAGE = "interrupted"
_is_ending = Event()


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; it ends a command the same way as Ctrl-C."""


def end(stop: KeyboardInterrupt) -> int:
    """Say that a signal has ended the command; the exit code."""
    _is_ending.set()
    print(_MESSAGE, file=sys.stderr)
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def watch_signals() -> None:
    """Let SIGTERM end the command, and end the process if a signal has not ended it soon."""
    signal.signal(signal.SIGTERM, _terminate)
    received, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    Thread(target=_end_late, args=(received,), daemon=True).start()


def leave_signals_to_handlers() -> None:
    """Let handlers of signals take as long as they need."""
    signal.set_wakeup_fd(-1)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def _end_late(received: int) -> None:
    number = 0
    while number not in (signal.SIGINT, signal.SIGTERM):
        number = os.read(received, 1)[0]
    sleep(GRACE_SECONDS)
    if not _is_ending.is_set():
        os.write(sys.stderr.fileno(), f"{_MESSAGE}\n".encode())
    os._exit(128 + number)
