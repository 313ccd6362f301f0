"""The command line: ``cepheid match``, ``explain``, ``diagnose``, ``report`` and others."""

from __future__ import annotations

import sys

from cepheid.cli.signals import end, watch_signals


def main() -> None:
    """Run the command in ``sys.argv``, and exit with its code."""
    watch_signals()
    try:
        from cepheid.cli.app import app

        app(prog_name="cepheid")
    except KeyboardInterrupt as stop:  # while the command is loaded
        sys.exit(end(stop))
