"""The command that diagnoses a query."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid import CompiledScript
from cepheid.cli.commands.diagnosis import DiagnosisFormat, write_diagnosis
from cepheid.cli.reporting import busy, one_of
from cepheid.cli.request import Request, command


@command(
    """\
  cepheid diagnose theft.sase events.parquet
  cepheid diagnose -q 'PATTERN SEQ(Shelf a, Exit c) WHERE a.zone = c.zone' events.parquet
  cepheid diagnose theft.sase events.parquet --format json
"""
)
def diagnose(
    request: Request,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The query of a script; by default the last one."),
    ] = None,
    format: Annotated[
        DiagnosisFormat,
        typer.Option(
            metavar="FORMAT", parser=one_of(DiagnosisFormat), help="text for reading, or json."
        ),
    ] = DiagnosisFormat.TEXT,
) -> None:
    """Explain why a query finds nothing, or too little.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match

    For each component, shows how many events fit and how many partial matches reached it. Then
    shows what stopped those that got furthest, with examples, and what is probably wrong.
    """
    source, query, keywords = request.source(), request.query(), request.keywords()
    with busy("Diagnosing"):
        if isinstance(query, CompiledScript):
            name = only or list(query.queries)[-1]
            diagnosis = query.diagnose(source, name, **keywords)
        elif only is not None:
            raise typer.BadParameter("this is a single query, not a script", param_hint="--only")
        else:
            diagnosis = query.diagnose(source, **keywords)
    write_diagnosis(diagnosis, format)
