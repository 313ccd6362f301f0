"""``MATCH_RECOGNIZE`` on the command line."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping

import typer

from cepheid import RowPatternQuery
from cepheid.cli.formats import Format, Output
from cepheid.cli.inputs import Source
from cepheid.cli.named_options import Groups, named_values, reading_values
from cepheid.cli.output_files import open_output
from cepheid.cli.reporting import busy, plural, say, took
from cepheid.cli.request import Request
from cepheid.cli.results import MOST_TABLE_ROWS, counts_text, found, write_rows, write_text
from cepheid.row_patterns.printer import print_pattern

_UNUSED = {
    "time": "--time", "type": "--type", "tie_break": "--tie-break", "schema": "--schema",
    "evaluation": "--evaluation",
}  # fmt: skip


def refuse_sase_options(request: Request, flags: Mapping[str, object], groups: Groups) -> None:
    """Refuse options that say nothing about MATCH_RECOGNIZE, which names its columns itself."""
    usual = Request()
    given = [flag for flag, value in flags.items() if value]
    given += [
        flag for name, flag in _UNUSED.items() if getattr(request, name) != getattr(usual, name)
    ]
    given += [
        f"--{name.replace('_', '-')}"
        for name in named_values(request.option or (), groups)
        if name != "sep"
    ]
    if given:
        raise typer.BadParameter(f"{given[0]} is for SASE+ queries, not for MATCH_RECOGNIZE")


def match_rows(
    query: RowPatternQuery, request: Request, source: Source, output: Output, count: bool
) -> None:
    """Write the rows that a clause gives, or the number of its matches."""
    sep = reading_values(request.option or ()).get("sep")
    started = clock.perf_counter()
    with busy("Matching"):
        if count:
            number = query.count(source, time_unit=request.time_unit, sep=sep)
            write_text(counts_text(number), output.file)
            return
        result = query.match(source, time_unit=request.time_unit, sep=sep)
    limit = output.limit
    if limit is None and output.format is Format.TABLE:
        limit = MOST_TABLE_ROWS
    table = result.to_arrow()
    with open_output(output.file) as sink:
        write_rows(table if limit is None else table.slice(0, limit), output, sink)
    shown = len(result) if limit is None else min(limit, len(result))
    written = found(result.count, result.count)
    if len(result) != result.count or shown < len(result):
        hidden = len(result) - shown
        written += f", {plural(len(result), 'row')}" + (
            f", {hidden:,} not shown," if hidden else ""
        )
    say(f"{written} in {took(clock.perf_counter() - started)}")


def rows_summary(query: RowPatternQuery) -> str:
    """A clause in one line.

    >>> import cepheid as cep
    >>> rows_summary(cep.query("match_recognize (measures a.x as x pattern (a b+))"))
    'MATCH_RECOGNIZE, pattern A B+, one row per match, 1 measure'
    """
    clause = query.tree
    rows = clause.rows.value.lower()
    measures = plural(len(clause.measures), "measure")
    return f"MATCH_RECOGNIZE, pattern {print_pattern(clause.pattern)}, {rows}, {measures}"
