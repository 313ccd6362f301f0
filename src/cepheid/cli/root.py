"""The command ``cepheid``: its help and its version."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cepheid.cli.reporting import EXIT_CODES

COMMANDS = {
    "Run queries": ("match", "sql", "stream", "report"),
    "Understand queries": ("check", "explain", "diagnose"),
    "Run many rules": ("rules", "test"),
    "Write queries": ("studio", "fmt", "lsp"),
    "Begin": ("demo", "warm"),
}


class Commands(TyperGroup):
    """The commands, in the groups of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        width = max(len(name) for names in COMMANDS.values() for name in names)
        for title, names in COMMANDS.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(width), each.get_short_help_str(formatter.width))
                        for name, each in found
                        if each is not None
                    ]
                )


app = typer.Typer(
    name="cepheid",
    cls=Commands,
    help="Find patterns in event streams with SASE+ queries or SQL's MATCH_RECOGNIZE.",
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
