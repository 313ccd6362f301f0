"""The command line: ``cepheid match``, ``explain``, ``diagnose``, ``report`` and others."""

from __future__ import annotations

import io
import os
import sys

from cepheid.cli.signals import end, watch_signals


def main() -> None:
    """Run the command in ``sys.argv``, and exit with its code."""
    _prepare_streams()
    watch_signals()
    try:
        from cepheid.cli.app import app

        app(prog_name="cepheid")
    except KeyboardInterrupt as stop:  # while the command is loaded
        sys.exit(end(stop))


def _prepare_streams() -> None:
    """Write what the encoding lacks as an escape, and make a closed stream one that cannot write.

    Python has None for a stream that was closed by ``>&-``.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDONLY), mode))
        elif isinstance(stream, io.TextIOWrapper) and mode == "w":
            stream.reconfigure(errors="backslashreplace")
