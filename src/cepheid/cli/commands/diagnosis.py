"""A diagnosis as tables on a terminal, as plain text elsewhere, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.explain.diagnosis.report import BranchDiagnosis, Stop


class DiagnosisFormat(StrEnum):
    """The format of a diagnosis."""

    TEXT = "text"
    JSON = "json"


def write_diagnosis(diagnosis: Diagnosis, format: DiagnosisFormat) -> None:
    """Write a diagnosis to stdout."""
    if format is DiagnosisFormat.JSON:
        typer.echo(json.dumps(diagnosis.to_dict(), ensure_ascii=False, indent=2))
    elif sys.stdout.isatty():
        from cepheid.cli.tables import PipedConsole

        show(diagnosis, PipedConsole(highlight=False))
    else:
        typer.echo(str(diagnosis))


def show(diagnosis: Diagnosis, console: Console) -> None:
    """Print a diagnosis as tables."""
    from rich.text import Text

    from cepheid.explain.diagnosis.layout import alternative_title, headline

    console.print(Text(diagnosis.query, style="dim"))
    console.print()
    console.print(
        Text(headline(diagnosis), style="bold" if diagnosis.matches.number else "bold red")
    )
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            console.print()
            console.print(Text(alternative_title(number, branch), style="bold"))
        console.print()
        console.print(_funnel(branch))
        for stop in branch.stops:
            _show_stop(stop, console)
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            console.print()
            console.print(Text(title, style="bold"))
            console.print(_table([(Text("•", style="yellow"), Text(text)) for text in texts]))


def _show_stop(stop: Stop, console: Console) -> None:
    from rich.text import Text

    from cepheid.explain.diagnosis.layout import EXAMPLES, reason_count, stop_title

    console.print()
    console.print(Text(stop_title(stop), style="bold"))
    reasons = [(Text(reason_count(stop, r), style="red"), Text(r.text)) for r in stop.reasons]
    console.print(_table(reasons, right=(0,)))
    if stop.examples:
        console.print()
        console.print(Text(EXAMPLES))
        examples = [
            (Text(each.place, style="cyan"), Text(each.explanation)) for each in stop.examples
        ]
        console.print(_table(examples))


def _funnel(branch: BranchDiagnosis) -> Table:
    from rich.text import Text

    from cepheid.explain.diagnosis.layout import funnel_header, funnel_rows

    header = funnel_header(branch)
    rows: list[tuple[Text, ...]] = []
    for row in funnel_rows(branch):
        if len(row) == 1:
            rows.append((Text(row[0], style="dim"), *([Text()] * (len(header) - 1))))
        else:
            reached = Text(row[-1], style="bold red" if row[-1] == "0" else "")
            rows.append((*map(Text, row[:-1]), reached))
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
