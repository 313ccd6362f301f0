"""The command line: ``cepheid match``, ``explain``, ``diagnose``, ``check`` and ``demo``."""

from __future__ import annotations


def main() -> None:
    """Run the command that ``sys.argv`` asks for, and exit with its code."""
    from cepheid.cli.commands import app

    app(prog_name="cepheid")
