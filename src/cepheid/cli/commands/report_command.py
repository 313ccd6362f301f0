"""The command that writes a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cepheid import CompiledScript, RowPatternQuery
from cepheid.cli.inputs import looks_like_events, name_of
from cepheid.cli.named_options import OF_EVENTS
from cepheid.cli.progress import following
from cepheid.cli.reporting import say
from cepheid.cli.request import Request, command
from cepheid.cli.results import write_text
from cepheid.cli.running.row_patterns import refuse_sase_options, row_keywords
from cepheid.errors import plural


@command(
    """\
  cepheid report theft.sase events.parquet -o thefts.html
  cepheid report thefts.parquet -o thefts.html
"""
)
def report(
    request: Request,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The title of the page.")
    ] = None,
    file: Annotated[Path, typer.Option("-o", metavar="FILE", help="The output file.")] = Path(
        "report.html"
    ),
) -> None:
    """Write an HTML page that shows the matches on a timeline.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match
    MATCHES    instead of both, a file written by match, preferably Parquet

    The page also shows how they were found. It is a single file that opens in any browser.
    """
    from cepheid.report import report_file, report_query

    query_file, paths = request.file, request.paths
    time, type = request.time, request.type
    if query_file is not None and not paths and looks_like_events(query_file):
        page = report_file(query_file, time=time, type=type)
        page = page if title is None else replace(page, title=title)
    else:
        source = request.source()
        query = request.any_query()
        if isinstance(query, CompiledScript):
            raise typer.BadParameter("a report is of a single query, and this is a script")
        keywords = {**request.keywords(), "time": time}
        if isinstance(query, RowPatternQuery):
            refuse_sase_options(request, {}, OF_EVENTS)
            keywords = row_keywords(request, OF_EVENTS)
        title = title or Path(name_of(query_file)).stem
        with following("Matching"):
            page = report_query(query, source, title=title, **keywords)
    write_text(page.to_html(), file)
    say(f"{plural(page.timeline.total, 'match', 'matches')} in {file}")
