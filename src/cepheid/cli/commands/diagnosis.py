"""The command that diagnoses a query: tables on a terminal, plain text elsewhere, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid import CompiledScript, RowPatternQuery
from cepheid.cli.named_options import OF_MATCH
from cepheid.cli.reporting import busy, one_of
from cepheid.cli.request import Request, command
from cepheid.cli.running.row_patterns import refuse_sase_options, row_keywords

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.explain.diagnosis.report import BranchDiagnosis, Stop


class DiagnosisFormat(StrEnum):
    """The format of a diagnosis."""

    TEXT = "text"
    JSON = "json"


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
    source, query, keywords = request.source(), request.any_query(), request.keywords()
    if isinstance(query, RowPatternQuery):
        refuse_sase_options(request, {"--only": only}, OF_MATCH)
        with busy("Diagnosing"):
            found = query.diagnose(source, **row_keywords(request, OF_MATCH))
        if format is DiagnosisFormat.JSON:
            typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
        else:
            typer.echo(str(found))
        return
    with busy("Diagnosing"):
        if isinstance(query, CompiledScript):
            name = only or list(query.queries)[-1]
            diagnosis = query.diagnose(source, name, **keywords)
        elif only is not None:
            raise typer.BadParameter("this is a single query, not a script", param_hint="--only")
        else:
            diagnosis = query.diagnose(source, **keywords)
    if format is DiagnosisFormat.JSON:
        typer.echo(json.dumps(diagnosis.to_dict(), ensure_ascii=False, indent=2))
    elif sys.stdout.isatty():
        from cepheid.cli.tables import PipedConsole

        show(diagnosis, PipedConsole(highlight=False))
    else:
        typer.echo(str(diagnosis))


def show(diagnosis: Diagnosis, console: Console) -> None:
    """Print a diagnosis as tables."""
    from cepheid.cli.tables import visible_text
    from cepheid.explain.diagnosis.layout import alternative_title, headline

    console.print(visible_text(diagnosis.query, style="dim"))
    console.print()
    console.print(
        visible_text(headline(diagnosis), style="bold" if diagnosis.matches.number else "bold red")
    )
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            console.print()
            console.print(visible_text(alternative_title(number, branch), style="bold"))
        console.print()
        console.print(_funnel(branch))
        for stop in branch.stops:
            _show_stop(stop, console)
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            console.print()
            console.print(visible_text(title, style="bold"))
            console.print(
                _table([(visible_text("•", style="yellow"), visible_text(text)) for text in texts])
            )


def _show_stop(stop: Stop, console: Console) -> None:
    from cepheid.cli.tables import visible_text
    from cepheid.explain.diagnosis.layout import EXAMPLES, reason_count, stop_title

    console.print()
    console.print(visible_text(stop_title(stop), style="bold"))
    reasons = [
        (visible_text(reason_count(stop, r), style="red"), visible_text(r.text))
        for r in stop.reasons
    ]
    console.print(_table(reasons, right=(0,)))
    if stop.examples:
        console.print()
        console.print(visible_text(EXAMPLES))
        examples = [
            (visible_text(each.place, style="cyan"), visible_text(each.explanation))
            for each in stop.examples
        ]
        console.print(_table(examples))


def _funnel(branch: BranchDiagnosis) -> Table:
    from cepheid.cli.tables import visible_text
    from cepheid.explain.diagnosis.layout import funnel_header, funnel_rows

    header = funnel_header(branch)
    rows: list[tuple[Text, ...]] = []
    for row in funnel_rows(branch):
        if len(row) == 1:
            rows.append(
                (visible_text(row[0], style="dim"), *([visible_text("")] * (len(header) - 1)))
            )
        else:
            reached = visible_text(row[-1], style="bold red" if row[-1] == "0" else "")
            rows.append((*map(visible_text, row[:-1]), reached))
    return _table(rows, header, right=range(1, len(header)))


def _table(
    rows: Iterable[Sequence[RenderableType]],
    header: Sequence[str] | None = None,
    right: Iterable[int] = (),
) -> Table:
    from rich import box
    from rich.table import Table

    rows = list(rows)
    table = Table(
        box=box.SIMPLE_HEAD if header is not None else None,
        show_header=header is not None,
        show_edge=False,
        padding=(0, 1),
    )
    for place in range(len(rows[0])):
        is_number = place in right
        # Numbers are never wrapped.
        table.add_column(
            header[place] if header is not None else "",
            justify="right" if is_number else "left",
            no_wrap=is_number,
        )
    for row in rows:
        table.add_row(*row)
    return table
