"""All commands together, in the order in which the help lists them."""

# ruff: noqa: F401, I001 - each module adds its commands
from cepheid.cli.commands import match_command
from cepheid.cli.commands import commands
from cepheid.cli.commands import report_command
from cepheid.cli.commands import stream_command
from cepheid.cli.root import app

__all__ = ["app"]
