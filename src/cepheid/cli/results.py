"""Writes the matches of a query, and summarises queries and results."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from cepheid.cli.formats import Format, open_binary, write_matches
from cepheid.cli.reporting import plural
from cepheid.errors import list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names, print_window

if TYPE_CHECKING:
    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Match, Matches

MOST_TABLE_ROWS = 50
"""The number of matches in a table without a limit."""
FILE_TABLE_WIDTH = 160
"""The width of a table in a file."""


def write_results(
    matches: Matches | MatchStream,
    query: ast.Query,
    chosen: Format,
    file: Path | None,
    limit: int | None,
    hidden: Sequence[str],
) -> int:
    """Write the matches, and return how many were written.

    ``hidden`` are the attributes that a table does not show.
    """
    from cepheid.matches.matches import Matches

    if chosen is Format.TABLE and limit is None:
        limit = MOST_TABLE_ROWS
    with open_binary(file) as sink:
        if chosen is Format.TABLE:
            head = list(islice(matches, limit))
            write_table(head, query, file, sink, len(head), hidden)
        else:
            write_matches(matches, query, chosen, sink, limit)
    count = len(matches) if isinstance(matches, Matches) else matches.exhaust()
    return count if limit is None else min(limit, count)


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to stdout."""
    if file is None:
        typer.echo(text, nl=False)
        return
    with open_binary(file) as sink:
        sink.write(text.encode())


def found(count: int, shown: int) -> str:
    """The number of matches, and how many of them are not shown.

    >>> found(1, 1), found(1200, 50)
    ('1 match', '1,200 matches, 1,150 of them not shown,')
    """
    hidden = f", {count - shown:,} of them not shown," if shown < count else ""
    return plural(count, "match", "matches") + hidden


def summary(query: ast.Query) -> str:
    """A query in one line: its components, selection strategy, window and results.

    >>> from cepheid.language.parser import parse
    >>> summary(parse("PATTERN SEQ(Shelf a, ~(Register b), Exit c) WITHIN 12 hours"))
    '2 components and 1 negated, skip_till_any_match, within 12 hours, returns a and c'
    """
    parts = list(ast.components(query.pattern))
    negated = [component for component, is_negated in parts if is_negated]
    components = plural(len(parts) - len(negated), "component")
    names = item_names(query) or ast.positive_variables(query.pattern)
    return ", ".join(
        [
            components + (f" and {len(negated)} negated" if negated else ""),
            query.strategy.value,
            f"within {print_window(query.window)}" if query.window else "no window",
            f"returns {list_words(names)}",
        ]
    )


def write_table(
    matches: Iterable[Match],
    query: ast.Query,
    file: Path | None,
    sink: BinaryIO,
    shown: int,
    hidden: Sequence[str],
) -> None:
    """Write the first matches as a table; nothing if there are none."""
    from cepheid.cli.tables import PipedConsole, matches_table

    if not shown:
        return
    console = PipedConsole()
    if file is not None:
        console = PipedConsole(file=io.StringIO(), width=FILE_TABLE_WIDTH)
    console.print(matches_table(matches, query, limit=shown, width=console.width, hidden=hidden))
    if isinstance(console.file, io.StringIO):
        sink.write(console.file.getvalue().encode())
