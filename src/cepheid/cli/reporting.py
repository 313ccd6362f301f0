"""What a command tells the person and the shell: messages on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Any, TextIO, TypeVar

import typer

from cepheid.cli.spark.spark_faults import spark_fault
from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    OptionError,
    QueryError,
    closest,
    list_words,
)

Choice = TypeVar("Choice", bound=StrEnum)

EXIT_FAULT = 1
EXIT_INTERRUPTED = 130

EXIT_CODES = """\b
Exit codes:
  0    the command did what it was asked to do
  1    a fault of the query or of the events; stderr says which
  2    wrong usage of the command line
  130  interrupted
"""


@contextmanager
def reporting() -> Iterator[None]:
    """Run a command: its faults and warnings are shown on stderr, its outcome is an exit code.

    A reader of stdout that has seen enough (``| head``) is no fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", CepheidWarning)
        warnings.showwarning = _warning_shown_by(warnings.showwarning)
        try:
            yield
            sys.stdout.flush()
        except CepheidError as error:
            report(error)
            raise typer.Exit(EXIT_FAULT) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit from None
        except Exception as error:
            fault = spark_fault(error)
            if fault is None:
                raise
            report(fault)
            raise typer.Exit(EXIT_FAULT) from None


def say(message: str) -> None:
    """Tell the person something that is not an answer."""
    typer.echo(message, err=True)


def report(error: CepheidError) -> None:
    """Show a fault; one of a query says by itself where it is."""
    say(str(error) if isinstance(error, QueryError) else f"error: {error}")


def usage(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """The value of an option, if it passes the check; otherwise the command is used wrongly."""

    def checked(value: Any) -> Any:
        try:
            if value is not None:
                check(value)
        except OptionError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    return checked


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """The value of an option that has one of a few; any other is wrong usage."""

    def chosen(value: str) -> Choice:
        known = [each.value for each in kind]
        if value in known:
            return kind(value)
        near = closest(value, known)
        raise typer.BadParameter(
            f"{value!r} is not one of {list_words(known)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )

    return chosen


def busy(message: str) -> AbstractContextManager[object]:
    """Shows that something goes on, where stderr is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "match", "matches"), plural(1200, "event")
    ('1 match', '1,200 events')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def took(seconds: float) -> str:
    """How long something took.

    >>> took(0.00312), took(2.5)
    ('3 ms', '2.50 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _warning_shown_by(otherwise: Callable[..., None]) -> Callable[..., None]:
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, CepheidWarning):
            if str(message) not in shown:
                say(f"warning: {message}")
            shown.add(str(message))
        else:
            otherwise(message, category, filename, lineno, file, line)

    return show


def _silence_stdout() -> None:
    """Let nothing more be written, or Python would complain when it flushes stdout at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
