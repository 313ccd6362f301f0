"""The command that explains a query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cepheid import CompiledScript, RowPatternQuery
from cepheid.cli.inputs import time_columns
from cepheid.cli.named_options import OF_EXPLAIN, named_values, reading_values
from cepheid.cli.request import Request, command
from cepheid.cli.results import write_text


@command(
    """\
  cepheid explain theft.sase
  cepheid explain theft.sase --svg -o theft.svg
  cepheid explain -q 'PATTERN SEQ(Shelf a, Exit c)' few.csv --stacks -o stacks.svg
  cepheid explain -q 'PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > a.x'
""",
    options=OF_EXPLAIN,
)
def explain(
    request: Request,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds",
            help="Also show how many runs or instances there can be, and where runs branch.",
        ),
    ] = False,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Draw the automaton instead, as a Mermaid flowchart.")
    ] = False,
    svg: Annotated[
        bool, typer.Option("--svg", help="Draw the automaton instead, as an SVG picture.")
    ] = False,
    basic: Annotated[
        bool,
        typer.Option(
            "--basic", help="Draw the automaton with the formulas before they are optimised."
        ),
    ] = False,
    stacks: Annotated[
        bool,
        typer.Option(
            "--stacks", help="Draw the instance stacks after the events instead, as an SVG picture."
        ),
    ] = False,
    buffer: Annotated[
        bool,
        typer.Option(
            "--buffer",
            help="Draw the versioned buffer of nfa_b after the events instead, as an SVG picture.",
        ),
    ] = False,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="The output file; stdout by default.")
    ] = None,
) -> None:
    """Show how a query is understood and how it runs.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match; the query is checked against their columns,
               and nothing is matched except with --stacks and --buffer
    """
    if mermaid + svg + stacks + buffer > 1:
        raise typer.BadParameter("--mermaid, --svg, --stacks and --buffer are drawings; choose one")
    query, known = request.any_query(), request.known_schema()
    evaluation, time = request.evaluation, time_columns(request.time)
    is_drawn = mermaid or svg or stacks or buffer
    if bounds and (is_drawn or isinstance(query, RowPatternQuery | CompiledScript)):
        raise typer.BadParameter("--bounds is for the text about a single SASE+ query")
    if basic and (not (mermaid or svg) or isinstance(query, RowPatternQuery)):
        raise typer.BadParameter("--basic is for --mermaid and --svg of a SASE+ query")
    if isinstance(query, RowPatternQuery):
        if stacks or buffer:
            drawn = "--stacks" if stacks else "--buffer"
            raise typer.BadParameter(f"{drawn} is for SASE+ queries, not for MATCH_RECOGNIZE")
        drawing = "svg" if svg else "mermaid"
        text = query.automaton(drawing) if is_drawn else query.explain(known) + "\n"
    elif isinstance(query, CompiledScript):
        if is_drawn:
            raise typer.BadParameter("only a single query can be drawn, and this is a script")
        text = query.explain(known, evaluation=evaluation, time=time, type=request.type) + "\n"
    elif stacks:
        text = query.stacks(request.source(), **request.reading())
    elif buffer:
        text = query.buffer(request.source(), **request.reading())
    elif mermaid or svg:
        drawing = "svg" if svg else "mermaid"
        text = query.automaton(drawing, schema=known, evaluation=evaluation, basic=basic)
    else:
        named = named_values(request.option or (), OF_EXPLAIN)
        named = {name: named[name] for name in named.keys() - reading_values(request.option or ())}
        text = query.explain(known, time=time, evaluation=evaluation, bounds=bounds, **named) + "\n"
    write_text(text, file)
