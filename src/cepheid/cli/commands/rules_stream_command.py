"""The commands that run a set of rules as a stream: ``cepheid rules stream`` and ``top``."""

from __future__ import annotations

import sys
import time as clock
from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.commands.rules_command import rule_command
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.inputs import split_columns
from cepheid.cli.piped import results
from cepheid.cli.reporting import EXIT_FAULT, busy, say, took
from cepheid.cli.request import OutputFile, OutputFormat, Request, result_option
from cepheid.cli.results import write_rows
from cepheid.cli.running.rules import (
    Strict,
    quietly,
    read_rules,
    report_faults,
    run_keywords,
    write_rule_matches,
)
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
from cepheid.errors import RuleSetError, plural
from cepheid.events.read_options import ReadOptions
from cepheid.files.output import open_output


@rule_command(
    """\
  tail -f events.jsonl | cepheid rules stream rules/ -
  cepheid rules stream rules/ incoming/ --columns 'ts timestamp, type string, tag_id long' \\
      --changes changes/ --key tag_id --lateness '10 minutes' --checkpoint state/ -o alerts/
"""
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
        report_faults(known)
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

    tables = TextStream(sys.stdin.buffer, sep, {}, None, set()).tables()
    with quietly():
        for each in results(session, tables):
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


@rule_command(
    """\
  cepheid rules top rules/ events.parquet
  cepheid rules top rules/ events.csv --format csv --batch 10000
"""
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
    with busy("Matching"), quietly():
        events = read.order(request.source()).table
        session = known.session(**{name: keywords[name] for name in keywords if name != "sep"})
        for start in range(0, max(len(events), 1), batch):
            session.feed(events.slice(start, batch))
        session.advance()
    metrics = session.metrics
    table = metrics_table(metrics.values())
    way = Output(choose_format(format, file), limit, file=file)
    with open_output(file) as sink:
        write_rows(table if limit is None else table.slice(0, limit), way, sink)
    silent = [name for name, each in metrics.items() if not (each.matches or each.suspended)]
    if silent:
        say(f"no matches: {', '.join(silent)}")
    report_faults(known, list(session.suspended.values()))
