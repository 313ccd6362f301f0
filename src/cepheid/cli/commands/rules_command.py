"""The commands of sets of rules, such as ``cepheid rules check`` and ``cepheid rules match``."""

from __future__ import annotations

import sys
import time as clock
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cepheid import RowPatternQuery, RuleSet, rules
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.inputs import split_columns
from cepheid.cli.named_options import LIMITS, READING, Groups, command_with, named_values
from cepheid.cli.output_files import open_output
from cepheid.cli.reporting import EXIT_FAULT, busy, reporting, say, took
from cepheid.cli.request import (
    FileOrFolder,
    OutputFile,
    OutputFormat,
    Request,
    SparkMaster,
    command,
    result_option,
)
from cepheid.cli.results import found, summary, write_rows, write_text
from cepheid.cli.root import app
from cepheid.cli.running.row_patterns import rows_summary
from cepheid.cli.running.rules import write_rule_matches
from cepheid.cli.stream_options import (
    Checkpoint,
    Columns,
    Configuration,
    Lateness,
    Master,
    Once,
    Target,
    check_stream_options,
)
from cepheid.errors import (
    CepheidWarning,
    OptionError,
    RuleFault,
    RuleSetError,
    fault_report,
    plural,
)
from cepheid.events.read_options import ReadOptions
from cepheid.rule_sets.reading import rule_text
from cepheid.visible import visible_lines

if TYPE_CHECKING:
    from cepheid.rule_sets.results import RuleMatches

_Found = TypeVar("_Found")

group = typer.Typer(
    help="Check and run all rules of a folder together.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(group, name="rules")

ARGUMENTS = "FOLDER [EVENTS]..."
OF_RULES: Groups = {"Events": READING, "Limits of each rule": LIMITS}
_NOT_OF_RULES = ("query_text", "settings", "group_by", "limits")

_SIGMA_EXAMPLES = """\b
Examples:
  cepheid rules from-sigma sigma/ --out rules/
  cepheid rules from-sigma sigma/ --out rules/ --mapping mapping.yaml
"""

Strict = Annotated[bool, typer.Option("--strict", help="Run no rule if one of them cannot run.")]


def read_rules(request: Request, strict: bool = False) -> RuleSet:
    """The rules of the folder that a command names; faults are reported by the command."""
    if request.query_file is None:
        raise typer.BadParameter("name a folder with rules", param_hint="FOLDER")
    found = _quietly(rules, request.query_file)
    if not found and not found.faults:
        raise OptionError(f"{request.query_file!r} has no rules: no .sase or .sql files")
    if strict and found.faults:
        raise RuleSetError(found.faults)
    return found


def run_keywords(request: Request) -> dict[str, Any]:
    """The keywords of ``match`` for a set of rules."""
    return {**request.keywords(), **named_values(request.option or (), OF_RULES)}


@command(
    """\
  cepheid rules check rules/
  cepheid rules check rules/ events.parquet
""",
    without=(*_NOT_OF_RULES, "tie_break", "time_unit", "evaluation"),
    group=group,
    arguments=ARGUMENTS,
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


@command(
    """\
  cepheid rules explain rules/
  cepheid rules explain rules/ events.parquet
""",
    without=(*_NOT_OF_RULES, "tie_break", "time_unit"),
    group=group,
    arguments=ARGUMENTS,
)
def explain(request: Request) -> None:
    """Show how each rule of a folder is understood and how it runs.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  as for match; rules are checked against their columns
    """
    known = read_rules(request)
    write_text(known.explain(request.known_schema(), evaluation=request.evaluation) + "\n", None)
    _report_faults(known)


@command(
    """\
  cepheid rules match rules/ events.parquet
  cepheid rules match rules/ events.csv -o alerts.jsonl --max-matches 100000
  cepheid rules match rules/ events/ --spark 'local[*]' -o alerts --format parquet
""",
    options=OF_RULES,
    without=_NOT_OF_RULES,
    group=group,
    arguments=ARGUMENTS,
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
        _report_faults(known)
        return
    started = clock.perf_counter()
    with busy("Matching"):
        matches = _quietly(known.match, request.source(), **run_keywords(request))
    if strict and matches.faults:
        raise RuleSetError(matches.faults)
    with open_output(file) as sink:
        shown = write_rule_matches(matches, way, sink)
    rules_run = plural(len(matches.rules), "rule")
    say(f"{found(len(matches), shown)} of {rules_run} in {took(clock.perf_counter() - started)}")
    _report_faults(known, matches.faults)


@command(
    """\
  tail -f events.jsonl | cepheid rules stream rules/ -
  cepheid rules stream rules/ incoming/ --columns 'ts timestamp, type string, tag_id long' \\
      --changes changes/ --key tag_id --lateness '10 minutes' --checkpoint state/ -o alerts/
""",
    options=OF_RULES,
    without=_NOT_OF_RULES,
    group=group,
    arguments=ARGUMENTS,
)
def stream(
    request: Request,
    strict: Strict = False,
    changes: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="A folder or topic with changes of the rules, each as JSON. Needs Spark.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="COLUMNS",
            help="A key by which rules may be partitioned, on Spark: columns with commas between "
            "them; '' for rules without a key; repeatable. By default those that rules need.",
        ),
    ] = None,
    columns: Columns = None,
    lateness: Lateness = "0 seconds",
    checkpoint: Checkpoint = None,
    target: Target = None,
    master: Master = "local[*]",
    configuration: Configuration = None,
    once: Once = False,
) -> None:
    """Run all rules of a folder over events as they arrive.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  - : CSV or JSON Lines from stdin, in time order; or a folder
            to which files are added, or kafka://HOST:PORT/TOPIC, which
            Spark reads as in `cepheid stream`

    From stdin, writes each match as a line of JSON as soon as it is complete.
    """
    known = read_rules(request, strict)
    if request.paths != ["-"]:
        from cepheid.cli.spark.streaming import Places, run_stream

        if not request.paths or len(request.paths) != 1:
            raise typer.BadParameter("name one folder or topic, or -", param_hint="EVENTS")
        if Path(request.paths[0]).is_file():
            raise typer.BadParameter(
                "a file does not grow; name - (stdin), a folder or a topic, or use "
                "`cepheid rules match`",
                param_hint="EVENTS",
            )
        keys = None if key is None else [split_columns([each]) for each in key]
        run_stream(
            known,
            Places(request.paths[0], target, check_stream_options(checkpoint, once, None), changes),
            columns=columns,
            master=master,
            configuration=configuration or (),
            once=once,
            lateness=lateness,
            idle_timeout=None,
            keys=keys,
            **run_keywords(request),
        )
        _report_faults(known)
        return
    from cepheid.events.sources.text_stream import TextStream

    if changes is not None or checkpoint is not None or target is not None:
        raise typer.BadParameter(
            "--changes, --checkpoint and -o are for a folder or a topic, not for stdin"
        )
    keywords = run_keywords(request)
    sep = keywords.pop("sep", None)
    session = known.session(**keywords)
    count, started = 0, clock.perf_counter()
    sink = sys.stdout.buffer
    faults = list(known.faults)
    for fault in faults:
        say(str(fault))

    def parts() -> Iterator[RuleMatches]:
        arriving = TextStream(sys.stdin.buffer, sep, {}, None, set())
        for table in arriving.tables():
            yield _quietly(session.feed, table)
        if session.has_begun:
            yield _quietly(session.advance)

    for each in parts():
        count += write_rule_matches(each, Output(Format.JSONL, None), sink)
        sink.flush()
        for fault in each.faults:
            say(str(fault))
        faults += each.faults
        if strict and each.faults:
            raise RuleSetError(each.faults)
    say(f"{plural(count, 'match', 'matches')} in {took(clock.perf_counter() - started)}")
    if faults:
        raise typer.Exit(EXIT_FAULT)


@command(
    """\
  cepheid rules top rules/ events.parquet
  cepheid rules top rules/ events.csv --format csv --batch 10000
""",
    options=OF_RULES,
    without=_NOT_OF_RULES,
    group=group,
    arguments=ARGUMENTS,
)
def top(
    request: Request,
    format: OutputFormat = None,
    file: OutputFile = None,
    limit: Annotated[
        int | None, result_option(metavar="N", min=0, help="Show only the N rules that cost most.")
    ] = None,
    batch: Annotated[
        int, typer.Option(metavar="N", min=1, help="The number of events in a batch.")
    ] = 65_536,
) -> None:
    """Show what each rule costs and finds, the most expensive ones first.

    \b
    FOLDER  a folder with .sase and .sql files, or a table of rules
    EVENTS  as for match

    The rules run over the events in batches, as in a stream.
    """
    from cepheid.rule_sets.metrics import metrics_table

    known, keywords = read_rules(request), run_keywords(request)
    read = ReadOptions.of(keywords)
    with busy("Matching"):
        events = read.order(request.source()).table
        session = known.session(**{name: keywords[name] for name in keywords if name != "sep"})
        for start in range(0, max(len(events), 1), batch):
            _quietly(session.feed, events.slice(start, batch))
        _quietly(session.advance)
    metrics = session.metrics
    table = metrics_table(metrics.values())
    way = Output(choose_format(format, file), limit, file=file)
    with open_output(file) as sink:
        write_rows(table if limit is None else table.slice(0, limit), way, sink)
    silent = [name for name, each in metrics.items() if not (each.matches or each.suspended)]
    if silent:
        say(f"no matches: {', '.join(silent)}")
    _report_faults(known, list(session.suspended.values()))


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

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CepheidWarning)
            if out is None:
                known = sigma.rules(folder, mapping, strict=strict)
                write_text("\n".join(map(rule_text, known.values())), None)
            else:
                known = sigma.write(folder, out, mapping, strict=strict)
        if out is not None:
            say(f"{plural(len(known), 'rule')} in {out}")
        if not known and not known.faults:
            raise OptionError(f"{str(folder)!r} has no Sigma rules: no .yml files")
        _report_faults(known)


def _quietly(run: Callable[..., _Found], *given: Any, **keywords: Any) -> _Found:
    """What a call finds; the faults of rules, of which it warns, are reported at the end."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\d+ rules? cannot run", CepheidWarning)
        return run(*given, **keywords)


def _report_faults(known: RuleSet, more: Sequence[RuleFault] = ()) -> None:
    faults = [*known.faults, *more]
    if faults:
        say(fault_report(faults))
        raise typer.Exit(EXIT_FAULT)
