"""Writes the matches of a query, and summarises queries and results."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from cepheid.cli.formats import Format, Output, write_matches, write_tables
from cepheid.cli.progress import watching
from cepheid.errors import list_words, plural
from cepheid.files.output import open_output
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names, print_window
from cepheid.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Match, Matches

MOST_TABLE_ROWS = 50
"""The number of matches in a table without a limit."""
FILE_TABLE_WIDTH = 160
"""The width of a table in a file."""


def write_results(
    matches: Matches | MatchStream,
    query: ast.Query,
    output: Output,
    sink: BinaryIO,
    name: str | None = None,
) -> str:
    """Write the matches to an open file, and return their number, in words.

    ``name`` is the name of the query, if the matches of several go to the same place.
    """
    from cepheid.matches.matches import Matches

    def watched() -> AbstractContextManager[None]:
        return nullcontext() if isinstance(matches, Matches) else watching(matches)

    limit = output.limit
    if output.format is Format.TABLE:
        limit = MOST_TABLE_ROWS if limit is None else limit
        with watched():
            first = list(islice(matches, limit))
        write_table(first, query, output.file, sink, output.hidden)
    elif output.file is None and sys.stdout.isatty():  # The lines show the progress.
        write_matches(matches, query, output, sink, name)
    else:
        with watched():
            write_matches(matches, query, output, sink, name)
    if isinstance(matches, Matches):
        return found(len(matches), len(matches) if limit is None else limit)
    if output.limit is not None and matches.found >= output.limit:
        return f"stopped after {plural(output.limit, 'match', 'matches')} (--limit)"
    with watched():
        count = matches.exhaust()
    return found(count, count if limit is None else limit)


def write_counts(
    matches: MatchStream, columns: Sequence[str], output: Output, sink: BinaryIO
) -> str:
    """Write the number of matches for each combination of values, the largest first."""
    import pyarrow as pa

    from cepheid.matches.shapes.groups import count_groups

    with watching(matches):
        table = count_groups(matches, columns)
    write_rows(table if output.limit is None else table.slice(0, output.limit), output, sink)
    total = pa.compute.sum(table["count"]).as_py() or 0
    return f"{plural(total, 'match', 'matches')} in {plural(table.num_rows, 'group')}"


def write_rows(table: pa.Table, output: Output, sink: BinaryIO) -> None:
    """Write a table as it is."""
    from cepheid.cli.tables import PipedConsole, plain_table
    from cepheid.matches.shapes.flat import dicts

    if output.format is Format.TABLE:
        console = PipedConsole(file=io.StringIO(), width=FILE_TABLE_WIDTH)
        console.print(plain_table(dicts(table)))
        sink.write(console.file.getvalue().encode("utf-8", "backslashreplace"))  # type: ignore[attr-defined]
    else:
        write_tables(iter([table.schema.empty_table(), table]), output, sink)


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to stdout."""
    if file is None:
        typer.echo(text, nl=False)
        return
    with open_output(file) as sink:
        sink.write(text.encode("utf-8", "backslashreplace"))


def counts_text(counts: int | Mapping[str, int]) -> str:
    """The number of matches, or a line for each query of a script.

    >>> print(counts_text({"Theft": 12, "query_2": 3}), end="")
    Theft: 12
    query_2: 3
    """
    if isinstance(counts, int):
        return f"{counts}\n"
    return "".join(f"{visible(name)}: {count}\n" for name, count in counts.items())


def aggregate_text(found: Any, by_partition: bool, by_window: bool = False) -> str:
    """An aggregate as JSON, or a line for each partition, window, or both.

    >>> print(aggregate_text({"p": 2.5, "q": None}, by_partition=True), end="")
    {"partition": "p", "value": 2.5}
    {"partition": "q", "value": null}
    >>> print(aggregate_text({"p": {0: 7}}, by_partition=True, by_window=True), end="")
    {"partition": "p", "window": 0, "value": 7}
    """
    rows = [{"value": found}]
    for name, is_split in (("partition", by_partition), ("window", by_window)):
        if is_split:
            rows = [
                {**row, name: key, "value": value}
                for row in rows
                for key, value in row["value"].items()
            ]
    if not (by_partition or by_window):
        return f"{json.dumps(found, default=str)}\n"
    ordered = ({**{k: row[k] for k in row if k != "value"}, "value": row["value"]} for row in rows)
    return "".join(f"{json.dumps(row, default=str)}\n" for row in ordered)


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
    matches: Sequence[Match],
    query: ast.Query,
    file: Path | None,
    sink: BinaryIO,
    hidden: Sequence[str] = (),
) -> None:
    """Write matches as a table; nothing if there are none."""
    from cepheid.cli.tables import PipedConsole, matches_table

    if not matches:
        return
    console = PipedConsole()
    if file is not None:
        console = PipedConsole(file=io.StringIO(), width=FILE_TABLE_WIDTH)
    shown = matches_table(matches, query, limit=len(matches), width=console.width, hidden=hidden)
    console.print(shown)
    if isinstance(console.file, io.StringIO):
        sink.write(console.file.getvalue().encode("utf-8", "backslashreplace"))
    else:
        console.file.flush()
