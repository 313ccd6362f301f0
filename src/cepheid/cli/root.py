"""The command ``cepheid``: its help and its version."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.reporting import EXIT_CODES

app = typer.Typer(
    name="cepheid",
    help="Find patterns in streams of events with SASE+ queries.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from cepheid import __version__

        typer.echo(f"cepheid {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
