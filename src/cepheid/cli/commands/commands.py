"""The commands, but for those with a module of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cepheid import CompiledScript
from cepheid.cli.commands.diagnosis import DiagnosisFormat
from cepheid.cli.named_options import OF_EXPLAIN, Grouped, command_with, named_values
from cepheid.cli.options import (
    Declaration,
    EvaluationName,
    Events,
    GroupBy,
    NamedOptions,
    QueryFile,
    QueryText,
    Settings,
    SparkMaster,
    TieBreak,
    TimeColumn,
    TimeUnit,
    TypeColumn,
)
from cepheid.cli.reporting import EXIT_FAULT, busy, one_of, report, reporting, usage
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import CepheidError


def _check_scenario(name: str) -> None:
    from cepheid.samples import scenario

    scenario(name)


# Arguments are described in the docstrings: the help of a command shows those first.


@app.command(
    cls=command_with(OF_EXPLAIN),
    epilog="""\b
Examples:
  cepheid explain theft.sase
  cepheid explain theft.sase --svg -o theft.svg
  cepheid explain -q 'PATTERN SEQ(Shelf a, Exit c)' few.csv --stacks -o stacks.svg
  cepheid explain -q 'PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > a.x'
""",
)
def explain(
    query_file: QueryFile = None,
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
    option: NamedOptions = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Draw the automaton instead, as a Mermaid flowchart.")
    ] = False,
    svg: Annotated[
        bool, typer.Option("--svg", help="Draw the automaton instead, as an SVG picture.")
    ] = False,
    stacks: Annotated[
        bool,
        typer.Option(
            "--stacks", help="Draw the instance stacks after the events instead, as an SVG picture."
        ),
    ] = False,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Where to write; stdout otherwise.")
    ] = None,
) -> None:
    """Show how a query is understood and what runs it.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match; their columns are checked too, and nothing is matched
               but for --stacks
    """
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        find_schema,
        read_queries,
        split_columns,
        split_query,
        time_columns,
    )
    from cepheid.cli.results import write_text

    if mermaid + svg + stacks > 1:
        raise typer.BadParameter("--mermaid, --svg and --stacks are drawings; choose one")
    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        query = read_queries(query_file, query_text, settings or (), group_by or ())
        known = find_schema(paths, schema)
        if isinstance(query, CompiledScript):
            if mermaid or svg or stacks:
                raise typer.BadParameter(
                    "a drawing is of one query, and this is a script of several"
                )
            text = query.explain(known, evaluation=evaluation, time=time, type=type) + "\n"
        elif stacks:
            text = query.stacks(
                events_source(paths),
                time=time,
                type=type,
                tie_break=split_columns(tie_break),
                time_unit=time_unit,
                schema=declared_schema(schema),
            )
        elif mermaid or svg:
            text = query.automaton("svg" if svg else "mermaid", schema=known, evaluation=evaluation)
        else:
            explained = query.explain(
                known,
                time=time_columns(time),
                evaluation=evaluation,
                **named_values(option or (), OF_EXPLAIN),
            )
            text = explained + "\n"
        write_text(text, file)


@app.command(
    cls=Grouped,
    epilog="""\b
Examples:
  cepheid diagnose theft.sase events.parquet
  cepheid diagnose -q 'PATTERN SEQ(Shelf a, Exit c) WHERE a.zone = c.zone' events.parquet
  cepheid diagnose theft.sase events.parquet --format json
""",
)
def diagnose(
    query_file: QueryFile = None,
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
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which query of a script; the last one otherwise."),
    ] = None,
    format: Annotated[
        DiagnosisFormat,
        typer.Option(
            metavar="FORMAT", parser=one_of(DiagnosisFormat), help="text for reading, or json."
        ),
    ] = DiagnosisFormat.TEXT,
) -> None:
    """Tell why a query finds nothing, or too little.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match

    For each component: how many events could be it, and how many partial matches reached it;
    then what stopped those that got furthest, with examples, and what is probably wrong.
    """
    from cepheid.cli.commands.diagnosis import write_diagnosis
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        read_queries,
        split_columns,
        split_query,
        time_columns,
    )

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        source = events_source(paths)
        query = read_queries(query_file, query_text, settings or (), group_by or ())
        keywords: dict[str, Any] = {
            "time": time if isinstance(query, CompiledScript) else time_columns(time),
            "type": type,
            "tie_break": split_columns(tie_break),
            "time_unit": time_unit,
            "schema": declared_schema(schema),
            "evaluation": evaluation,
        }
        with busy("Looking"):
            if isinstance(query, CompiledScript):
                name = only or list(query.queries)[-1]
                diagnosis = query.diagnose(source, name, **keywords)
            elif only is not None:
                raise typer.BadParameter(
                    "this is a single query, not a script", param_hint="--only"
                )
            else:
                diagnosis = query.diagnose(source, **keywords)
        write_diagnosis(diagnosis, format)


@app.command(
    cls=Grouped,
    epilog="""\b
Examples:
  cepheid check theft.sase
  cepheid check theft.sase trend.sase events.parquet
""",
)
def check(
    query_file: QueryFile = None,
    rest: Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    settings: Settings = None,
    schema: Declaration = None,
) -> None:
    """Look for faults in queries without running them.

    \b
    QUERYFILE  a file with a query, or - to read it from stdin
    FILE       more queries; and events, as for match, whose columns the
               queries are checked against

    A query without faults gets a line that says ok. Faults are shown on stderr, all at once.
    """
    from cepheid.cli.commands.scripts import script_summary
    from cepheid.cli.inputs import (
        find_schema,
        looks_like_events,
        name_of,
        read_queries,
        split_query,
    )
    from cepheid.cli.results import summary

    with reporting():
        first, others = split_query(query_file, rest, query_text)
        files = [first, *(each for each in others if not looks_like_events(each))]
        known = find_schema([each for each in others if looks_like_events(each)], schema)
        faulty = False
        for file in files:
            try:
                query = read_queries(file, query_text if file is None else None, settings or ())
                if isinstance(query, CompiledScript):
                    query.explain(known, time=time, type=type)
                    typer.echo(f"{name_of(file)}: ok, {script_summary(query)}")
                else:
                    query.explain(known)
                    typer.echo(f"{name_of(file)}: ok, {summary(query.tree)}")
            except CepheidError as error:
                report(error)
                faulty = True
        if faulty:
            raise typer.Exit(EXIT_FAULT)


@app.command(
    cls=Grouped,
    epilog="""\b
Examples:
  cepheid demo
  cepheid demo --scenario stock_trend
""",
)
def demo(
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=usage(_check_scenario),
            help="retail_theft, contaminated_shipments or stock_trend; all three otherwise.",
        ),
    ] = None,
    spark: SparkMaster = None,
) -> None:
    """Ask three bundled streams of events a question each."""
    from cepheid.cli.commands.demo import run_demo

    with reporting():
        run_demo(scenario, spark)
