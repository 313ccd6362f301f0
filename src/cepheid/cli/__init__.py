"""The command line: ``cepheid match``, ``explain``, ``diagnose``, ``report`` and others."""

from __future__ import annotations


def main() -> None:
    """Run the command in ``sys.argv``, and exit with its code."""
    from cepheid.cli.app import app

    app(prog_name="cepheid")
