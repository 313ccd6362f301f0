"""The command that runs a query over a stream, with Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.inputs import split_query
from cepheid.cli.request import Request, command
from cepheid.cli.stream_options import (
    Checkpoint,
    Columns,
    Configuration,
    IdleTimeout,
    InOrder,
    Lateness,
    Master,
    Once,
    Target,
    check_stream_options,
)


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
    columns: Columns = None,
    lateness: Lateness = "0 seconds",
    in_order: InOrder = False,
    idle_timeout: IdleTimeout = None,
    checkpoint: Checkpoint = None,
    target: Target = None,
    master: Master = "local[*]",
    configuration: Configuration = None,
    once: Once = False,
) -> None:
    """Run a query over a stream on Spark, as events arrive.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    SOURCE     a folder to which Parquet, CSV or JSON Lines files are added,
               or kafka://HOST:PORT/TOPIC with events as JSON

    After every micro-batch, prints a line to stderr: the number of events, matches and late events,
    the size of the state, and how far the watermark is behind the newest event. Ctrl-C stops the
    stream. The same command with the same checkpoint resumes it. A script of several queries is one
    stream; the column query names the query of a match.
    """
    from cepheid.cli.spark.streaming import Places, run_stream

    sources = split_query(request.query_file, [source] if source else [], request.query_text)[1]
    if len(sources) != 1:
        raise typer.BadParameter("name one folder or topic", param_hint="SOURCE")
    run_stream(
        request.query(),
        Places(sources[0], target, check_stream_options(checkpoint, once, idle_timeout)),
        columns=columns,
        master=master,
        configuration=configuration or (),
        once=once,
        lateness=lateness,
        in_order=in_order,
        idle_timeout=idle_timeout,
        **{**request.keywords(), "time": request.time},
    )
