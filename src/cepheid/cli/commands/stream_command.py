"""The command that runs a query over a stream, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.named_options import Grouped
from cepheid.cli.options import (
    Declaration,
    EvaluationName,
    GroupBy,
    QueryFile,
    QueryText,
    Settings,
    TieBreak,
    TimeColumn,
    TypeColumn,
    check_master,
)
from cepheid.cli.reporting import reporting, usage
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO


@app.command(
    cls=Grouped,
    epilog="""\b
Examples:
  cepheid stream theft.sase incoming/ --columns 'ts timestamp, type string, tag_id long' \\
      --lateness '10 minutes' --checkpoint state/ -o thefts/
  cepheid stream theft.sase kafka://localhost:9092/readings -o kafka://localhost:9092/thefts \\
      --columns 'ts timestamp, type string, tag_id long' --lateness '10 minutes' --checkpoint state/
""",
)
def stream(
    query_file: QueryFile = None,
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", hidden=True)] = None,
    query_text: QueryText = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="The columns of the events, as in SQL: 'ts timestamp, type string, id long'. "
            "A folder with Parquet files tells them itself.",
        ),
    ] = None,
    lateness: Annotated[
        str, typer.Option(metavar="TIME", help="How far an event may be behind the newest one.")
    ] = "0 seconds",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", show_default=False, help="Where the state is kept between two runs."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "-o",
            metavar="TARGET",
            help="A folder for Parquet files, or kafka://HOST:PORT/TOPIC; JSON lines on stdout "
            "otherwise.",
        ),
    ] = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    tie_break: TieBreak = None,
    settings: Settings = None,
    group_by: GroupBy = None,
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    master: Annotated[
        str,
        typer.Option(
            "--spark", metavar="MASTER", callback=usage(check_master), help="Where Spark runs."
        ),
    ] = "local[*]",
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="NAME=VALUE",
            help="A setting of Spark's, such as spark.jars.packages=...; repeatable.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop when all that is there now has been read.")
    ] = False,
) -> None:
    """Find the matches of a query in a stream, as its events come.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    SOURCE     a folder to which Parquet, CSV or JSON-lines files are added,
               or kafka://HOST:PORT/TOPIC with events as JSON

    After every micro-batch a line on stderr tells how many events, matches and late events there
    were, how large the state is and how far the answers are behind the newest event. Ctrl-C
    stops the stream; the same command with the same checkpoint goes on where it stopped.
    A script of several queries is one stream: a column query tells which one a match is of.
    """
    from cepheid.cli.inputs import declared_schema, read_queries, split_columns, split_query
    from cepheid.cli.spark.streaming import run_stream

    with reporting():
        query_file, sources = split_query(query_file, [source] if source else [], query_text)
        if len(sources) != 1:
            raise typer.BadParameter("name one folder or topic", param_hint="SOURCE")
        if checkpoint is None:
            raise typer.BadParameter("say where the state is kept", param_hint="--checkpoint")
        query = read_queries(query_file, query_text, settings or (), group_by or ())
        run_stream(
            query,
            sources[0],
            target,
            checkpoint,
            columns=columns,
            master=master,
            configuration=configuration or (),
            once=once,
            time=time,
            type=type,
            tie_break=split_columns(tie_break),
            schema=declared_schema(schema),
            evaluation=evaluation,
            lateness=lateness,
        )
