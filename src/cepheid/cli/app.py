"""All commands together."""

from cepheid.cli import report_command  # noqa: F401 - adds its command
from cepheid.cli.commands import app

__all__ = ["app"]
