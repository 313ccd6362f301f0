"""The command that writes a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.named_options import Grouped
from cepheid.cli.options import (
    Declaration,
    EvaluationName,
    Events,
    GroupBy,
    QueryText,
    Settings,
    TieBreak,
    TimeColumn,
    TimeUnit,
    TypeColumn,
)
from cepheid.cli.reporting import busy, plural, reporting, say
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO


@app.command(
    cls=Grouped,
    epilog="""\b
Examples:
  cepheid report theft.sase events.parquet -o thefts.html
  cepheid report thefts.parquet -o thefts.html
""",
)
def report(
    query_file: Annotated[
        str | None, typer.Argument(metavar="QUERYFILE|MATCHES", hidden=True)
    ] = None,
    events: Events = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    tie_break: TieBreak = None,
    time_unit: TimeUnit = None,
    settings: Settings = None,
    group_by: GroupBy = None,
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The heading of the page.")
    ] = None,
    file: Annotated[
        Path, typer.Option("-o", metavar="FILE", help="Where to write the page.")
    ] = Path("report.html"),
) -> None:
    """Write a page that shows matches on a timeline, and how they were found.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match
    MATCHES    instead of both, a file that match has written; best as Parquet

    The page is one file that needs nothing but a browser.
    """
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        looks_like_events,
        name_of,
        read_query,
        split_columns,
        split_query,
    )
    from cepheid.cli.results import write_text
    from cepheid.report import report_file, report_query

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        if query_file is not None and not paths and looks_like_events(query_file):
            page = report_file(query_file, time=time, type=type)
            page = page if title is None else replace(page, title=title)
        else:
            source = events_source(paths)
            query = read_query(query_file, query_text, settings or (), group_by or ())
            with busy("Matching"):
                page = report_query(
                    query,
                    source,
                    title=title or Path(name_of(query_file)).stem,
                    time=time,
                    type=type,
                    tie_break=split_columns(tie_break),
                    time_unit=time_unit,
                    schema=declared_schema(schema),
                    evaluation=evaluation,
                )
        write_text(page.to_html(), file)
        say(f"{plural(page.timeline.total, 'match', 'matches')} in {file}")
