"""The command that compiles all kernels."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Annotated

import typer

from cepheid.cli.named_options import command_with
from cepheid.cli.progress import progress_bar
from cepheid.cli.reporting import reporting
from cepheid.cli.root import app
from cepheid.errors import plural


@app.command(
    cls=command_with({}),
    epilog="""\b
Examples:
  cepheid warm
  CEPHEID_CACHE_DIR=/opt/cepheid cepheid warm --jobs 4
""",
)
def warm(
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="How many processes compile; by default one per core."
        ),
    ] = None,
) -> None:
    """Compile all native code now, so that no query waits for it.

    The code is stored in the cache folder: that of the user, or the one that CEPHEID_CACHE_DIR
    names. It fits this version of cepheid, Python and numba, and this kind of processor.
    """
    from cepheid.cache import FOLDER, note_run
    from cepheid.engines.base.evaluation import ROW_PATTERN
    from cepheid.jit.warming import kernel_modules
    from cepheid.jit.warming import warm as compile_all
    from cepheid.planning.registry import EVALUATIONS

    with reporting():
        begun, ready, modules = perf_counter(), 0, kernel_modules()
        bar = progress_bar("modules")
        bar.disable = not sys.stderr.isatty()
        with bar:
            for count in bar.track(compile_all(modules, jobs), len(modules), description="Warming"):
                ready += count
        for name in (ROW_PATTERN, *(each.name for each in EVALUATIONS)):
            note_run(name)
        seconds = perf_counter() - begun
        typer.echo(f"{plural(ready, 'kernel')} ready in {FOLDER} after {seconds:.0f} s")
