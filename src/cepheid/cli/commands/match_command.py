"""The command that finds matches."""

from __future__ import annotations

import json
import time as clock
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid import CompiledQuery, CompiledScript, RowPatternQuery
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.inputs import STDIN, Source, split_columns
from cepheid.cli.named_options import OF_MATCH, UNCERTAIN_TIMES, named_values
from cepheid.cli.piped import can_stream, match_piped, piped_events
from cepheid.cli.progress import following
from cepheid.cli.reporting import busy, one_of, say, took, usage
from cepheid.cli.request import FileOrFolder, Request, SparkMaster, command, result_option
from cepheid.cli.results import aggregate_text, counts_text, write_counts, write_results, write_text
from cepheid.cli.running.row_patterns import match_rows, refuse_sase_options, row_keywords
from cepheid.cli.running.scripts import match_script
from cepheid.errors import list_words
from cepheid.files.output import open_output
from cepheid.matches.modes.registry import check_output, listed_outputs
from cepheid.tuning import tuned

if TYPE_CHECKING:
    from cepheid.matches.metrics import Metrics


_SOON = {"loading_steps": 250_000}
"""Few events are done before compiled code would be loaded."""


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
    file: FileOrFolder = None,
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
            request,
            {"--output": output, "--metrics": metrics},
            OF_MATCH,
            on_spark=spark is not None,
        )
        # A table would wait for the last match.
        chosen = format or (Format.JSONL if is_piped and file is None else None)
        cells = named_values(request.option or (), OF_MATCH).get("spreadsheet", False)
        way = Output(choose_format(chosen, file), limit, spreadsheet=cells, file=file)
        if spark is None:
            with tuned(**_SOON):
                match_rows(query, request, source, way, count)
        elif count:
            raise typer.BadParameter("--count cannot be combined with --spark")
        else:
            from cepheid.cli.spark.row_frames import match_rows_on_spark

            ties = split_columns(request.tie_break) or None
            said = {**row_keywords(request, OF_MATCH), "tie_break": ties}
            source = request.source() if source is None else source
            match_rows_on_spark(spark, query, source, way, said)
        return
    named = named_values(request.option or (), OF_MATCH)
    slices, in_place = named.pop("slices", None), named.pop("in_place", False)
    spreadsheet, count_by = named.pop("spreadsheet", False), named.pop("count_by", None)
    aggregate, by_partition = named.pop("aggregate", None), named.pop("by_partition", False)
    every = named.pop("every", None)
    keywords = {**request.keywords(), "output": output, **named}
    is_script = isinstance(query, CompiledScript)
    uncertain = [option.flags for option in UNCERTAIN_TIMES if option.name in named]
    if uncertain and is_script:
        raise typer.BadParameter(f"{uncertain[0]} is for a single query, not for a script")
    if slices is not None and (spark is None or is_script):
        raise typer.BadParameter("--slices needs --spark and a single query")
    if "reduce" in named and (spark is None or is_script or in_place):
        raise typer.BadParameter(
            "--reduce needs --spark and a single query, and cannot be combined with --in-place"
        )
    if in_place and (spark is None or is_script or slices or request.tie_break):
        raise typer.BadParameter(
            "--in-place needs --spark, a single query and files with rows in time order; "
            "--slices and --tie-break cannot be combined with it"
        )
    if (by_partition or every) and aggregate is None:
        flag = "--by-partition" if by_partition else "--every"
        raise typer.BadParameter(f"{flag} needs --aggregate")
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
            with open_output(file) as sink:
                written, done = match_piped(query, events, keywords, way, sink)
            _say_done(written, started, done.metrics if metrics else None)
            return
    source = request.source() if source is None else source
    if spark is not None:
        unusable = {
            "--metrics": metrics,
            "--count": count,
            "--spreadsheet": spreadsheet,
            "--time-format": "time_format" in named,
            "--sep": in_place and "sep" in named,
        }
        if flags := [flag for flag, is_set in unusable.items() if is_set]:
            raise typer.BadParameter(f"{flags[0]} cannot be combined with --spark")
        from cepheid.cli.spark.shapes import SparkMatch, count_on_spark, rows_on_spark
        from cepheid.cli.spark.spark_run import match_on_spark

        chosen = choose_format(format, file)
        way = Output(chosen, limit, file=file)
        if not is_script:
            keywords["slices"] = slices
        if not (count_by or chosen is Format.ROWS):
            match_on_spark(spark, query, source, chosen, file, limit, keywords, in_place)
            return
        if isinstance(query, CompiledScript):
            option = "--count-by" if count_by else "--format rows"
            raise typer.BadParameter(f"{option} with --spark needs a single query")
        run = SparkMatch(query, source, keywords, in_place)
        if count_by:
            count_on_spark(spark, run, count_by, way)
        else:
            rows_on_spark(spark, run, way)
        return
    if count:
        with following("Counting", is_script=is_script):
            counts = query.count(source, **keywords)
        write_text(counts_text(counts), file)
        return
    if aggregate is not None and isinstance(query, CompiledQuery):
        with following("Matching"):
            keywords |= {"output": "compressed", "whole_events": True}
            matches = query.match(source, **keywords)
            found = matches.aggregate(*aggregate, by_partition=by_partition, every=every)
        write_text(aggregate_text(found, by_partition, every is not None), file)
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
    # Metrics are those of an engine, also where nothing is compiled yet. Otherwise few events are
    # done before compiled code would be loaded.
    first_run = {"first_run_events": 0} if metrics else _SOON
    with busy("Matching"), tuned(**first_run):
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
