"""The command that formats query files."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.inputs import STDIN, name_of, text_of_file
from cepheid.cli.named_options import command_with
from cepheid.cli.reporting import EXIT_FAULT, report, reporting, say
from cepheid.cli.results import write_text
from cepheid.cli.root import app
from cepheid.errors import CepheidError, plural

_EXAMPLES = """\b
Examples:
  cepheid fmt theft.sase
  cepheid fmt --check rules/*.sase
  cepheid fmt --diff theft.sase
  cepheid fmt - < theft.sase
"""


@app.command("fmt", cls=command_with({}), epilog=_EXAMPLES)
def fmt(
    files: Annotated[list[str], typer.Argument(metavar="FILE", hidden=True)],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a file would change.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print what would change.")
    ] = False,
) -> None:
    """Format query files: one clause per line, keywords in capitals, comments kept.

    \b
    FILE  a file with a query, a script, or SQL with MATCH_RECOGNIZE,
          which is formatted in place; - formats stdin to stdout

    A file with errors stays as it is. In SQL, only the MATCH_RECOGNIZE clauses change.
    """
    from cepheid.editing.formatting import format_query

    changed = failed = 0
    with reporting():
        for file in files:
            try:
                text = text_of_file(file)
                formatted = format_query(text, name_of(file))
            except CepheidError as error:
                report(error)
                failed += 1
                continue
            differs = formatted != text
            changed += differs
            if diff and differs:
                typer.echo(_difference(text, formatted, name_of(file)), nl=False)
            elif check and differs:
                say(f"{name_of(file)} is not formatted")
            elif file == STDIN and not (check or diff):
                write_text(formatted, None)
            elif differs and not check:
                write_text(formatted, Path(file))
    if files != [STDIN] or check:
        would = "would change" if check or diff else "changed"
        counts = f"{plural(changed, 'file')} {would}, {len(files) - changed - failed} as they were"
        say(counts + (f", {failed} with errors" if failed else ""))
    if failed or (check and changed):
        raise typer.Exit(EXIT_FAULT)


def _difference(text: str, formatted: str, name: str) -> str:
    lines = difflib.unified_diff(
        text.splitlines(keepends=True), formatted.splitlines(keepends=True), name, name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
