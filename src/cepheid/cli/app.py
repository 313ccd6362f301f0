"""All commands. `root.COMMANDS` has their order in the help."""

# ruff: noqa: F401, I001 - each module registers a command
from cepheid.cli.commands import match_command
from cepheid.cli.commands import sql_command
from cepheid.cli.commands import explain_command
from cepheid.cli.commands import diagnosis
from cepheid.cli.commands import check_command
from cepheid.cli.commands import fmt_command
from cepheid.cli.commands import lsp_command
from cepheid.cli.commands import studio_command
from cepheid.cli.commands import demo_command
from cepheid.cli.commands import report_command
from cepheid.cli.commands import stream_command
from cepheid.cli.commands import warm_command
from cepheid.cli.commands import rules_command
from cepheid.cli.commands import rules_stream_command
from cepheid.cli.commands import rule_tests_command
from cepheid.cli.root import app

__all__ = ["app"]
