"""The command that checks queries."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid import CompiledScript, RowPatternQuery
from cepheid.analysis.needs import unbounded_lines
from cepheid.cli.inputs import find_schema, looks_like_events, name_of, read_any, split_query
from cepheid.cli.named_options import reading_values
from cepheid.cli.reporting import EXIT_FAULT, report
from cepheid.cli.request import Request, command
from cepheid.cli.results import summary
from cepheid.cli.running.row_patterns import rows_summary
from cepheid.cli.running.scripts import script_summary
from cepheid.errors import CepheidError, warn
from cepheid.planning.silent_zeros import warn_of_constants
from cepheid.visible import visible_lines


@command(
    """\
  cepheid check theft.sase
  cepheid check theft.sase trend.sase events.parquet
""",
    without=("events", "tie_break", "time_unit", "group_by", "evaluation"),
)
def check(
    request: Request,
    rest: Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)] = None,
) -> None:
    """Check queries for errors without running them.

    \b
    QUERYFILE  a file with a query, or - to read it from stdin
    FILE       more queries, or events as for match; queries are checked
               against the columns of the events

    Prints a line with ok for each query without errors. Prints all errors of the others to stderr.
    """
    first, others = split_query(request.query_file, rest, request.query_text)
    files = [first, *(each for each in others if not looks_like_events(each))]
    events = [each for each in others if looks_like_events(each)]
    known = find_schema(events, request.schema, reading_values(request.option or ()))
    faulty = False
    for file in files:
        text = request.query_text if file is None else None
        try:
            query = read_any(file, text, request.settings or (), limits=request.limits or ())
            if isinstance(query, RowPatternQuery):
                query.explain(known)
                typer.echo(visible_lines(f"{name_of(file)}: ok, {rows_summary(query)}"))
                continue
            if isinstance(query, CompiledScript):
                query.explain(known, time=request.time, type=request.type)
                shown = script_summary(query)
            else:
                query.explain(known)
                shown = summary(query.tree)
            typer.echo(visible_lines(f"{name_of(file)}: ok, {shown}"))
            for each in query.script.queries:
                for line in unbounded_lines(each.query):
                    warn(line)
                warn_of_constants(each.query, query.script.text)
        except CepheidError as error:
            report(error)
            faulty = True
    if faulty:
        raise typer.Exit(EXIT_FAULT)
