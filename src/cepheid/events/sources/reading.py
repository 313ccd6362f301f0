"""What readers share: signals are handled while a library reads, and its errors are quoted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TypeVar

import pyarrow as pa

from cepheid.errors import EventError, list_words

Each = TypeVar("Each")
_MOST_SECONDS = 0.5
"""How long a library may take to stop."""


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse duplicate column names."""
    if len(set(names)) == len(names):
        return
    repeated = sorted({name for name in names if names.count(name) > 1})
    raise EventError(
        f"there is more than one column {list_words([repr(name) for name in repeated])}; "
        "give each column a name of its own"
    )


def interruptible(read: Callable[[], Each], stop: Callable[[], None] | None = None) -> Each:
    """What a library finds in another thread, while this one waits and handles signals.

    After an interrupt, ``stop`` asks the library to stop. Arrow cannot: it reads to the end of the
    file, and the result is dropped.
    """
    done: Future[Each] = Future()

    def work() -> None:
        try:
            done.set_result(read())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        if stop is not None:
            stop()
            with suppress(TimeoutError):
                done.exception(_MOST_SECONDS)
        raise


@contextmanager
def quoting(what: str) -> Iterator[None]:
    """Turn a library's message about unreadable data into a one-line EventError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        said = ". ".join(map(str, error.args)) if isinstance(error, pa.ArrowException) else error
        raise EventError(f"{what} cannot be read: {' '.join(str(said).split())}") from error
