"""The command that finds matches."""

from __future__ import annotations

import json
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid import CompiledQuery, CompiledScript, RowPatternQuery
from cepheid.cli.commands.row_patterns import match_rows, refuse_sase_options
from cepheid.cli.commands.scripts import match_script
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.inputs import STDIN, Source, stdin_as_file
from cepheid.cli.named_options import OF_MATCH, READING, UNCERTAIN_TIMES, named_values
from cepheid.cli.output_files import open_output
from cepheid.cli.piped import can_stream, match_piped, piped_events, whole_input
from cepheid.cli.reporting import busy, one_of, say, took, usage
from cepheid.cli.request import Request, SparkMaster, command, result_option
from cepheid.cli.results import aggregate_text, counts_text, write_counts, write_results, write_text
from cepheid.errors import EvaluationError, list_words
from cepheid.matches.modes.registry import check_output, listed_outputs

if TYPE_CHECKING:
    from cepheid.matches.metrics import Metrics


@command(
    """\
  cepheid match theft.sase events.parquet
  cepheid match theft.sase Shelf=shelf.csv Register=register.csv Exit=exit.csv -o thefts.csv
  cepheid match -q 'PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]' events.parquet --limit 5
""",
    options=OF_MATCH,
)
def match(
    request: Request,
    spark: SparkMaster = None,
    output: Annotated[
        str | None,
        result_option(
            metavar="MODE",
            callback=usage(check_output),
            show_default=False,
            help=f"Which matches to report: {list_words(listed_outputs(), 'or')}. By default what "
            "OUTPUT says in the query, or all.",
        ),
    ] = None,
    format: Annotated[
        Format | None,
        result_option(
            metavar="FORMAT",
            parser=one_of(Format),
            show_default=False,
            help="jsonl, csv, parquet, table, or rows: one row for each event of a match. By "
            "default the suffix of FILE decides; without FILE, table on a terminal and jsonl "
            "elsewhere.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        result_option(
            "-o",
            metavar="FILE",
            help="The output file; stdout by default. With --spark, a new folder.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        result_option(metavar="N", min=0, help="Write the first N matches and stop."),
    ] = None,
    count: Annotated[
        bool,
        result_option(
            "--count",
            help="Write only the number of matches, without building them.",
        ),
    ] = False,
    metrics: Annotated[
        bool,
        result_option(
            "--metrics",
            help="Write metrics of the evaluation to stderr, as JSON.",
        ),
    ] = False,
) -> None:
    """Find the matches of a query and write them.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     Parquet, CSV or JSON Lines files, a folder or quoted glob
               of them, or TYPE=PATH for each event type;
               - to read CSV or JSON Lines from stdin as they arrive

    A script writes the matches of each of its queries. With -o, each query has its own file: FILE
    is a folder, or has {query} in its name.
    """
    is_piped = request.paths == [STDIN]
    source: Source | None = None if is_piped else request.source()
    query = request.any_query()
    if isinstance(query, RowPatternQuery):
        refuse_sase_options(
            request, {"--spark": spark, "--output": output, "--metrics": metrics}, OF_MATCH
        )
        way = Output(choose_format(format, file), limit, file=file)
        match_rows(query, request, request.source() if source is None else source, way, count)
        return
    named = named_values(request.option or (), OF_MATCH)
    slices, in_place = named.pop("slices", None), named.pop("in_place", False)
    spreadsheet, count_by = named.pop("spreadsheet", False), named.pop("count_by", None)
    aggregate, by_partition = named.pop("aggregate", None), named.pop("by_partition", False)
    keywords = {**request.keywords(), "output": output, **named}
    is_script = isinstance(query, CompiledScript)
    uncertain = [option.flags for option in UNCERTAIN_TIMES if option.name in named]
    if uncertain and is_script:
        raise typer.BadParameter(f"{uncertain[0]} is for a single query, not for a script")
    if slices is not None and (spark is None or is_script):
        raise typer.BadParameter("--slices needs --spark and a single query")
    if in_place and (spark is None or is_script or slices or request.tie_break):
        raise typer.BadParameter(
            "--in-place needs --spark, a single query and files with rows in time order; "
            "--slices and --tie-break cannot be combined with it"
        )
    if by_partition and aggregate is None:
        raise typer.BadParameter("--by-partition needs --aggregate")
    if aggregate is not None and (spark is not None or is_script or output is not None):
        raise typer.BadParameter(
            "--aggregate needs a single query, and cannot be combined with --spark or --output"
        )
    started = clock.perf_counter()
    if is_piped and spark is None and not (count or count_by or aggregate):
        # A table would wait for the last match.
        chosen = choose_format(format or (Format.JSONL if file is None else None), file)
        way = Output(chosen, limit, spreadsheet=spreadsheet, file=file)
        if can_stream(query, way, keywords):
            events = piped_events(query, way, keywords)
            try:
                with open_output(file) as sink:
                    written, done = match_piped(query, events, keywords, way, sink)
                _say_done(written, started, done.metrics if metrics else None)
                return
            except EvaluationError as error:
                source = stdin_as_file(whole_input(events, error))
    source = request.source() if source is None else source
    if spark is not None:
        unusable = {
            "--metrics": metrics,
            "--count": count,
            "--spreadsheet": spreadsheet,
            "--count-by": count_by,
            "--format rows": format is Format.ROWS,
            **{option.flags: option.name in named for option in READING},
        }
        if flags := [flag for flag, is_set in unusable.items() if is_set]:
            raise typer.BadParameter(f"{flags[0]} cannot be combined with --spark")
        from cepheid.cli.spark.spark_run import match_on_spark

        if isinstance(source, list):
            raise typer.BadParameter(
                "Spark reads a folder or a quoted glob, not several paths", param_hint="EVENTS"
            )
        if not is_script:
            keywords["slices"] = slices
        chosen = choose_format(format, file)
        match_on_spark(spark, query, source, chosen, file, limit, keywords, in_place)
        return
    if count:
        with busy("Counting"):
            write_text(counts_text(query.count(source, **keywords)), file)
        return
    if aggregate is not None and isinstance(query, CompiledQuery):
        with busy("Matching"):
            keywords |= {"output": "compressed", "whole_events": True}
            matches = query.match(source, **keywords)
            found = matches.aggregate(*aggregate, by_partition=by_partition)
        write_text(aggregate_text(found, by_partition), file)
        return
    if isinstance(query, CompiledScript):
        if count_by:
            raise typer.BadParameter("--count-by needs a single query")
        match_script(query, source, keywords, format, file, limit, metrics, spreadsheet)
        return
    chosen = choose_format(format, file)
    # A JSON line has the row numbers of events, not their values.
    only_rows = chosen is Format.JSONL and query.tree.returns is None and not count_by
    whole = True if chosen is Format.ROWS else False if only_rows else None
    with busy("Matching"):
        matches = query.match_stream(source, whole_events=whole, **keywords)
    way = Output(chosen, limit, (request.time, request.type), spreadsheet, file)
    with open_output(file) as sink:
        if count_by:
            written = write_counts(matches, count_by, way, sink)
        else:
            written = write_results(matches, query.tree, way, sink)
    _say_done(written, started, matches.metrics if metrics else None)


def _say_done(written: str, started: float, metrics: Metrics | dict[str, Metrics] | None) -> None:
    say(f"{written} in {took(clock.perf_counter() - started)}")
    if isinstance(metrics, dict):
        say(json.dumps({name: each.to_dict() for name, each in metrics.items()}))
    elif metrics is not None:
        say(json.dumps(metrics.to_dict()))
