"""The command that runs a query over a stream, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.inputs import split_query
from cepheid.cli.reporting import usage
from cepheid.cli.request import Request, check_master, command


@command(
    """\
  cepheid stream theft.sase incoming/ --columns 'ts timestamp, type string, tag_id long' \\
      --lateness '10 minutes' --checkpoint state/ -o thefts/
  cepheid stream theft.sase kafka://localhost:9092/readings -o kafka://localhost:9092/thefts \\
      --columns 'ts timestamp, type string, tag_id long' --lateness '10 minutes' --checkpoint state/
""",
    without=("events", "time_unit", "option"),
)
def stream(
    request: Request,
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", hidden=True)] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="The columns of the events, as in SQL: 'ts timestamp, type string, id long'. "
            "Not needed for a folder with Parquet files.",
        ),
    ] = None,
    lateness: Annotated[
        str, typer.Option(metavar="TIME", help="How late an event may arrive.")
    ] = "0 seconds",
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", show_default=False, help="The folder that keeps the state."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "-o",
            metavar="TARGET",
            help="A folder for Parquet files, or kafka://HOST:PORT/TOPIC; by default JSON Lines "
            "on stdout.",
        ),
    ] = None,
    master: Annotated[
        str,
        typer.Option(
            "--spark", metavar="MASTER", callback=usage(check_master), help="The Spark master."
        ),
    ] = "local[*]",
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="NAME=VALUE",
            help="A Spark setting, such as spark.jars.packages=...; repeatable.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop when all events available now have been read.")
    ] = False,
) -> None:
    """Run a query over a stream as its events arrive.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    SOURCE     a folder to which Parquet, CSV or JSON Lines files are added,
               or kafka://HOST:PORT/TOPIC with events as JSON

    After every micro-batch, prints a line to stderr: the number of events, matches and late events,
    the size of the state, and how far the watermark is behind the newest event. Ctrl-C stops the
    stream. The same command with the same checkpoint resumes it. A script of several queries is one
    stream; the column query names the query of a match.
    """
    from cepheid.cli.spark.streaming import run_stream

    sources = split_query(request.query_file, [source] if source else [], request.query_text)[1]
    if len(sources) != 1:
        raise typer.BadParameter("name one folder or topic", param_hint="SOURCE")
    if checkpoint is None:
        raise typer.BadParameter("name a folder for the state", param_hint="--checkpoint")
    run_stream(
        request.query(),
        sources[0],
        target,
        checkpoint,
        columns=columns,
        master=master,
        configuration=configuration or (),
        once=once,
        lateness=lateness,
        **{**request.keywords(), "time": request.time},
    )
