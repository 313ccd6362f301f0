"""Messages on stderr, and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from enum import StrEnum
from typing import Any, TypeVar

import typer

from cepheid.cli.signals import end
from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    LimitError,
    OptionError,
    QueryError,
    did_you_mean,
    list_words,
)
from cepheid.visible import message_text

Choice = TypeVar("Choice", bound=StrEnum)

EXIT_FAULT = 1

EXIT_CODES = """\b
Exit codes:
  0    success
  1    an error in the query, the events or a file; stderr shows it
  2    incorrect usage of the command line
  130  interrupted by Ctrl-C (SIGINT)
  143  terminated (SIGTERM)
"""


@contextmanager
def reporting() -> Iterator[None]:
    """Run a command: show errors and warnings on stderr, and exit with the right code.

    A reader that closes the pipe early (``| head``) is not an error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", CepheidWarning)
        warnings.showwarning = _warning_shown_by(warnings.showwarning)
        try:
            yield
            if not sys.stdout.closed:  # as a server does that speaks over it
                sys.stdout.flush()
        except CepheidError as error:
            report(error)
            raise typer.Exit(EXIT_FAULT) from None
        except KeyboardInterrupt as stop:
            raise typer.Exit(end(stop)) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit from None
        except Exception as error:
            fault = _spark_fault(error) or _system_fault(error)
            if fault is None:
                raise
            report(fault)
            raise typer.Exit(EXIT_FAULT) from None


def say(message: str) -> None:
    """Write a message to stderr, if it can be written."""
    with suppress(OSError):
        typer.echo(message_text(message), err=True)


def report(error: CepheidError) -> None:
    """Show an error; the message of a query error begins with its place."""
    say(str(error) if isinstance(error, QueryError) else f"error: {error}")


def usage(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """A callback that checks the value of an option; a failed check is wrong usage."""

    def checked(value: Any) -> Any:
        try:
            if value is not None:
                check(value)
        except OptionError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    return checked


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """A parser for an option with a fixed set of values; any other value is wrong usage."""

    def chosen(value: str) -> Choice:
        known = [each.value for each in kind]
        if value in known:
            return kind(value)
        raise typer.BadParameter(
            f"{value!r} is not one of {list_words(known)}" + did_you_mean(value, known)
        )

    return chosen


def busy(message: str) -> AbstractContextManager[object]:
    """Show a spinner with the message, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def took(seconds: float) -> str:
    """A duration for reading.

    >>> took(0.00312), took(2.5)
    ('3 ms', '2.50 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _warning_shown_by(otherwise: Callable[..., None]) -> Callable[..., None]:
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, CepheidWarning):
            otherwise(message, category, *place, **more)
        elif str(message) not in shown:
            say(f"warning: {message}")
            shown.add(str(message))

    return show


def _spark_fault(error: Exception) -> CepheidError | None:
    """The error to report for an exception of Spark, which is loaded if there can be one."""
    if "pyspark" not in sys.modules:
        return None
    from cepheid.spark.faults import fault_of

    return fault_of(error)


def _system_fault(error: Exception) -> CepheidError | None:
    """The error of a file, or else of stdout: other files have their own messages."""
    if isinstance(error, MemoryError):
        return LimitError("there is not enough memory")
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if error.filename is not None:
        return OptionError(f"cannot use {error.filename!r}: {error.strerror}")
    _silence_stdout()
    return OptionError(f"cannot write to standard output: {error.strerror}")


def _silence_stdout() -> None:
    """Discard further output, or Python would fail when it flushes stdout at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
