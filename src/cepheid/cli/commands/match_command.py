"""The command that finds matches."""

from __future__ import annotations

import json
import time as clock
from pathlib import Path
from typing import Annotated, Any

import typer

from cepheid import CompiledScript
from cepheid.cli.formats import Format
from cepheid.cli.named_options import OF_MATCH, UNCERTAIN_TIMES, command_with, named_values
from cepheid.cli.options import (
    RESULT,
    Declaration,
    EvaluationName,
    Events,
    GroupBy,
    NamedOptions,
    QueryFile,
    QueryText,
    Settings,
    SparkMaster,
    TieBreak,
    TimeColumn,
    TimeUnit,
    TypeColumn,
)
from cepheid.cli.reporting import busy, one_of, reporting, say, took, usage
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import list_words
from cepheid.matches.modes.registry import check_output, listed_outputs


@app.command(
    cls=command_with(OF_MATCH),
    epilog="""\b
Examples:
  cepheid match theft.sase events.parquet
  cepheid match theft.sase Shelf=shelf.csv Register=register.csv Exit=exit.csv -o thefts.csv
  cepheid match -q 'PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]' events.parquet --limit 5
""",
)
def match(
    query_file: QueryFile = None,
    events: Events = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    tie_break: TieBreak = None,
    time_unit: TimeUnit = None,
    settings: Settings = None,
    group_by: GroupBy = None,
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    option: NamedOptions = None,
    spark: SparkMaster = None,
    output: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            callback=usage(check_output),
            help=f"Which matches: {list_words(listed_outputs(), 'or')}.",
            rich_help_panel=RESULT,
        ),
    ] = "all",
    format: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            parser=one_of(Format),
            show_default=False,
            help="jsonl, csv, parquet or table. By default what the suffix of FILE says; "
            "without one, table on a terminal and jsonl elsewhere.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help="Where to write; stdout otherwise. With --spark it is a new folder.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Write only the first N matches.", rich_help_panel=RESULT
        ),
    ] = None,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help="Write only the number of matches, without building them.",
            rich_help_panel=RESULT,
        ),
    ] = False,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics",
            help="Write to stderr what the evaluation did, as JSON.",
            rich_help_panel=RESULT,
        ),
    ] = False,
) -> None:
    """Find all matches of a query in events, and write them.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     a Parquet, CSV or JSON-lines file, a directory or quoted
               glob of Parquet files, or TYPE=PATH for each event type;
               - to read CSV or JSON lines from stdin

    For a script of several queries, the matches of each query are written. With -o, each query
    has its own file: FILE is a folder, or has {query} in its name.
    """
    from cepheid.cli.commands.scripts import match_script
    from cepheid.cli.formats import choose_format
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        read_queries,
        split_columns,
        split_query,
        time_columns,
    )
    from cepheid.cli.results import found, write_results, write_text

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        source = events_source(paths)
        query = read_queries(query_file, query_text, settings or (), group_by or ())
        named = named_values(option or (), OF_MATCH)
        slices, in_place = named.pop("slices", None), named.pop("in_place", False)
        confidence = {o.name: named.pop(o.name) for o in UNCERTAIN_TIMES if o.name in named}
        keywords: dict[str, Any] = {
            "time": time,
            "type": type,
            "tie_break": split_columns(tie_break),
            "time_unit": time_unit,
            "schema": declared_schema(schema),
            "evaluation": evaluation,
            "output": output,
            **named,
        }
        is_script = isinstance(query, CompiledScript)
        if confidence and is_script:
            flag = f"--{next(iter(confidence)).replace('_', '-')}"
            raise typer.BadParameter(f"{flag} is for one query, not for a script")
        if slices is not None and (spark is None or is_script):
            raise typer.BadParameter("--slices needs --spark and a single query")
        if in_place and (spark is None or is_script or slices or tie_break):
            raise typer.BadParameter(
                "--in-place needs --spark and a single query, over files whose rows are in time "
                "order: without --slices and --tie-break"
            )
        if spark is not None:
            if metrics or count:
                flag = "--metrics" if metrics else "--count"
                raise typer.BadParameter(f"{flag} does not go with --spark")
            from cepheid.cli.spark.spark_run import match_on_spark

            if not is_script:
                keywords |= {**confidence, "time": time_columns(time), "slices": slices}
            chosen = choose_format(format, file)
            match_on_spark(spark, query, source, chosen, file, limit, keywords, in_place)
            return
        if isinstance(query, CompiledScript):
            match_script(query, source, keywords, format, file, limit, metrics)
            return
        chosen = choose_format(format, file)
        started = clock.perf_counter()
        if count:
            with busy("Counting"):
                write_text(f"{query.count(source, **keywords)}\n", file)
            return
        # A line of JSON has the rows of events, not what is in them.
        only_rows = chosen is Format.JSONL and query.tree.returns is None
        keywords |= {**confidence, "time": time_columns(time)}
        with busy("Matching"):
            matches = query.match_stream(
                source, whole_events=False if only_rows else None, **keywords
            )
        shown = write_results(matches, query.tree, chosen, file, limit, (time, type))
        say(f"{found(matches.found, shown)} in {took(clock.perf_counter() - started)}")
        if metrics:
            say(json.dumps(matches.metrics.to_dict()))
