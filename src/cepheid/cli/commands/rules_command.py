"""The commands of sets of rules, such as ``cepheid rules check`` and ``cepheid rules match``."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer

from cepheid import RowPatternQuery
from cepheid.cli.formats import Output, choose_format
from cepheid.cli.named_options import OF_EVENTS, Groups, command_with
from cepheid.cli.reporting import EXIT_FAULT, busy, reporting, say, took
from cepheid.cli.request import (
    Command,
    FileOrFolder,
    OutputFormat,
    Request,
    SparkMaster,
    command,
    result_option,
)
from cepheid.cli.results import found, summary, write_text
from cepheid.cli.root import app
from cepheid.cli.running.row_patterns import rows_summary
from cepheid.cli.running.rules import (
    OF_RULES,
    Strict,
    quietly,
    read_rules,
    report_faults,
    run_keywords,
    write_rule_matches,
)
from cepheid.errors import CepheidWarning, OptionError, RuleSetError, fault_report, plural
from cepheid.files.output import open_output
from cepheid.rule_sets.reading import rule_text
from cepheid.visible import visible_lines

group = typer.Typer(
    help="Check and run all rules of a folder together.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(group, name="rules")

_NOT_OF_RULES = ("query_text", "settings", "group_by", "limits")


def rule_command(
    examples: str, *, options: Groups = OF_RULES, without: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Register a function as a command about the rules of a folder."""
    return command(
        examples,
        options=options,
        without=(*_NOT_OF_RULES, *without),
        group=group,
        arguments="FOLDER [EVENTS]...",
    )


_SIGMA_EXAMPLES = """\b
Examples:
  cepheid rules from-sigma sigma/ --out rules/
  cepheid rules from-sigma sigma/ --out rules/ --mapping mapping.yaml
"""


@rule_command(
    """\
  cepheid rules check rules/
  cepheid rules check rules/ events.parquet
""",
    options=OF_EVENTS,
    without=("tie_break", "time_unit", "evaluation"),
)
def check(request: Request) -> None:
    """Check all rules of a folder without running them.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  as for match; rules are checked against their columns

    Prints a line for each rule without errors, and all errors of the others to stderr.
    """
    known = read_rules(request)
    faults = known.check(request.known_schema())
    broken = {fault.rule for fault in faults}
    for name, each in known.compiled.items():
        if name not in broken:
            query = each.query
            shown = (
                rows_summary(query) if isinstance(query, RowPatternQuery) else summary(query.tree)
            )
            typer.echo(
                visible_lines(f"{name}: ok, {'' if each.rule.enabled else 'disabled, '}{shown}")
            )
    if faults:
        say(fault_report(faults))
        raise typer.Exit(EXIT_FAULT)


@rule_command(
    """\
  cepheid rules explain rules/
  cepheid rules explain rules/ events.parquet
""",
    options=OF_EVENTS,
    without=("tie_break", "time_unit"),
)
def explain(request: Request) -> None:
    """Show how each rule of a folder is understood and how it runs.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  as for match; rules are checked against their columns
    """
    known = read_rules(request)
    write_text(known.explain(request.known_schema(), evaluation=request.evaluation) + "\n", None)
    report_faults(known)


@rule_command(
    """\
  cepheid rules match rules/ events.parquet
  cepheid rules match rules/ events.csv -o alerts.jsonl --max-matches 100000
  cepheid rules match rules/ events/ --spark 'local[*]' -o alerts --format parquet
"""
)
def match(
    request: Request,
    spark: SparkMaster = None,
    format: OutputFormat = None,
    file: FileOrFolder = None,
    limit: Annotated[
        int | None, result_option(metavar="N", min=0, help="Write only the first N matches.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Find the matches of all rules of a folder and write them.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  Parquet, CSV or JSON Lines files, a folder or quoted glob of them,
            or TYPE=PATH for each event type; - for stdin

    A rule that cannot run does not stop the others: stderr shows it, and the exit code is 1.
    """
    known = read_rules(request, strict)
    way = Output(choose_format(format, file), limit, file=file)
    if spark is not None:
        from cepheid.cli.spark.rule_frames import match_rules_on_spark

        match_rules_on_spark(spark, known, request.source(), way, run_keywords(request))
        report_faults(known)
        return
    started = clock.perf_counter()
    with busy("Matching"), quietly():
        matches = known.match(request.source(), **run_keywords(request))
    if strict and matches.faults:
        raise RuleSetError(matches.faults)
    with open_output(file) as sink:
        shown = write_rule_matches(matches, way, sink)
    rules_run = plural(len(matches.rules), "rule")
    say(f"{found(len(matches), shown)} of {rules_run} in {took(clock.perf_counter() - started)}")
    report_faults(known, matches.faults)


@group.command("from-sigma", cls=command_with({}), epilog=_SIGMA_EXAMPLES)
def from_sigma(
    folder: Annotated[Path, typer.Argument(metavar="SIGMA", hidden=True)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a .sase file for each rule; stdout by default."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="YAML: the columns of fields, and the types of log sources."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if a rule cannot be written.")
    ] = False,
) -> None:
    """Write Sigma rules as rules that the other commands run.

    \b
    SIGMA  a folder with .yml files of Sigma rules, or one such file

    A rule that has no query does not stop the others: stderr shows the reason, and the exit code
    is 1.
    """
    with reporting():
        from cepheid import sigma

        with warnings.catch_warnings(action="ignore", category=CepheidWarning):
            if out is None:
                known = sigma.rules(folder, mapping, strict=strict)
                write_text("\n".join(map(rule_text, known.values())), None)
            else:
                known = sigma.write(folder, out, mapping, strict=strict)
        if out is not None:
            say(f"{plural(len(known), 'rule')} in {out}")
        if not known and not known.faults:
            raise OptionError(f"{str(folder)!r} has no Sigma rules: no .yml files")
        report_faults(known)
