"""The options of commands that run a stream with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.reporting import usage
from cepheid.cli.request import check_master

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMNS",
        help="The columns of the events, as in SQL: 'ts timestamp, type string, id long'. "
        "Not needed for a folder with Parquet files.",
    ),
]
Lateness = Annotated[
    str, typer.Option("--lateness", metavar="TIME", help="How late an event may arrive.")
]
InOrder = Annotated[
    bool,
    typer.Option("--in-order", help="Events arrive in time order, so that none waits for another."),
]
IdleTimeout = Annotated[
    str | None,
    typer.Option(
        "--idle-timeout",
        metavar="TIME",
        help="If no event arrives for this long, time follows the wall clock.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        show_default=False,
        help="The folder that keeps the state.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "-o",
        metavar="TARGET",
        help="A folder for Parquet files, or kafka://HOST:PORT/TOPIC; by default JSON Lines on "
        "stdout.",
    ),
]
Configuration = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="NAME=VALUE",
        help="A Spark setting, such as spark.jars.packages=...; repeatable.",
    ),
]
Once = Annotated[
    bool, typer.Option("--once", help="Stop when all events available now have been read.")
]
Master = Annotated[
    str,
    typer.Option(
        "--spark", metavar="MASTER", callback=usage(check_master), help="The Spark master."
    ),
]


def check_stream_options(checkpoint: Path | None, once: bool, idle_timeout: str | None) -> Path:
    """The folder for the state; rejects options that do not fit together."""
    if checkpoint is None:
        raise typer.BadParameter("name a folder for the state", param_hint="--checkpoint")
    if once and idle_timeout is not None:
        raise typer.BadParameter("cannot be used with --once", param_hint="--idle-timeout")
    return checkpoint
