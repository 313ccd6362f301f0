"""The command that serves the workbench."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from cepheid.api import read_text
from cepheid.cli.named_options import command_with
from cepheid.cli.reporting import reporting, say
from cepheid.cli.root import app
from cepheid.errors import OptionError

_EXAMPLES = """\b
Examples:
  cepheid studio
  cepheid studio events.parquet
  cepheid studio events.csv rules/ --time at
"""


@app.command("studio", cls=command_with({}), epilog=_EXAMPLES)
def studio(
    events: Annotated[Path | None, typer.Argument(metavar="EVENTS", hidden=True)] = None,
    rules: Annotated[Path, typer.Argument(metavar="RULES", hidden=True)] = Path("rules"),
    time: Annotated[str, typer.Option(metavar="COLUMN", help="The time column.")] = "ts",
    type: Annotated[str, typer.Option(metavar="COLUMN", help="The type column.")] = "type",
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many events queries are tried on.")
    ] = 20_000,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long a query may run.")
    ] = 10.0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 is any.")
    ] = 0,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Write queries on a page, and see their matches as you type.

    \b
    EVENTS  a file or folder of events; without it, a bundled example
    RULES   the folder in which rules and tests are saved, or one rule

    The page is served to this machine only, until Ctrl-C.
    """
    from cepheid.events.events import order_events
    from cepheid.events.read_options import ReadOptions
    from cepheid.studio.server import Studio, StudioServer
    from cepheid.studio.trials import Sample
    from cepheid.studio.worker import Worker

    with reporting(), tempfile.TemporaryDirectory(prefix="cepheid-") as folder:
        example, path = ("", events) if events is not None else _example(Path(folder))
        sample = Sample(str(path), time, type, rows)
        known = sample.read()
        order_events(known.table, ReadOptions(time, type))  # raises: a column is missing, …
        is_file = rules.is_file()
        text = read_text(rules) if is_file else example or first_query(list(known.types))
        shown = Studio(sample, rules.parent if is_file else rules, text, Worker(seconds))
        server = StudioServer(shown, port)
        Thread(target=shown.worker.prepare, daemon=True).start()
        say(f"cepheid studio: {server.url}")
        say("Ctrl-C ends it.")
        if opens:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        finally:
            server.server_close()


def _example(folder: Path) -> tuple[str, Path]:
    import pyarrow.parquet

    from cepheid.samples import scenario

    theft = scenario("retail_theft")
    path = folder / "retail_theft.parquet"
    pyarrow.parquet.write_table(theft.events(), path)
    return theft.query, path


def first_query(types: list[str]) -> str:
    """A query that finds a few matches in any events: at most one for each first event."""
    from cepheid.language.printer import print_type

    if not types:
        raise OptionError("there are no events yet: a query needs some to be tried on")
    named = zip(map(print_type, types[:2]), "ab", strict=False)
    parts = ", ".join(f"{name} {letter}" for name, letter in named)
    return f"PATTERN SEQ({parts})\nWHERE skip_till_next_match\nWITHIN 100 EVENTS\n"
