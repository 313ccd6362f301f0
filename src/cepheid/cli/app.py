"""All commands together."""

from cepheid.cli import report_command, stream_command  # noqa: F401 - they add their commands
from cepheid.cli.commands import app

__all__ = ["app"]
