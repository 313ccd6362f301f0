"""The command that finds matches."""

from __future__ import annotations

import json
import time as clock
from pathlib import Path
from typing import Annotated, Any

import typer

from cepheid import CompiledScript
from cepheid.cli.formats import Format
from cepheid.cli.options import (
    Construction,
    Declaration,
    Domains,
    EquivalenceTests,
    EvaluationName,
    Events,
    GroupBy,
    QueryFile,
    QueryText,
    Settings,
    SparkMaster,
    Statistics,
    TieBreak,
    TimeColumn,
    TimeUnit,
    TypeColumn,
    WindowTest,
)
from cepheid.cli.reporting import busy, one_of, reporting, say, took, usage
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import DEFAULT_OPTIONS, METHODS
from cepheid.errors import list_words
from cepheid.matches.modes.registry import check_output, listed_outputs


@app.command(
    epilog="""\b
Examples:
  cepheid match theft.sase events.parquet
  cepheid match theft.sase Shelf=shelf.csv Register=register.csv Exit=exit.csv -o thefts.csv
  cepheid match -q 'PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]' events.parquet --limit 5
"""
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
    output: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            callback=usage(check_output),
            help=f"Which matches: {list_words(listed_outputs(), 'or')}.",
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
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help="Where to write; stdout otherwise. With --spark it is a new folder.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Write only the first N matches.")
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of nfa_b: merging, basic or backtrack; same matches."),
    ] = DEFAULT_OPTIONS.algorithm,
    buffer: Annotated[
        str, typer.Option(metavar="NAME", help="Of nfa_b: unions or versioned; same matches.")
    ] = DEFAULT_OPTIONS.buffer,
    construction: Construction = DEFAULT_OPTIONS.construction,
    equivalence: EquivalenceTests = DEFAULT_OPTIONS.equivalence,
    window: WindowTest = DEFAULT_OPTIONS.window,
    domain: Domains = None,
    negation: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Of lazy_chain and lazy_tree: auto, first_chance or post_processing; same "
            "matches.",
        ),
    ] = DEFAULT_OPTIONS.negation,
    statistics: Statistics = None,
    max_matches: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Give up when there are more matches.")
    ] = None,
    max_runs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Give up when there are more runs.")
    ] = None,
    count: Annotated[
        bool,
        typer.Option("--count", help="Write only how many matches there are, making none."),
    ] = False,
    uncertainty: Annotated[
        str | None,
        typer.Option(
            metavar="EXTENT",
            help="How far an event can be from its time, such as '7 s', or 'Task=0.5 s,Load=7 s'.",
        ),
    ] = None,
    probabilities: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column with the probability of each instant."),
    ] = None,
    granularity: Annotated[
        str | None, typer.Option(metavar="EXTENT", help="How long an instant is, such as '100 ms'.")
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"Of imprecise: {list_words(METHODS, 'or')}.")
    ] = DEFAULT_OPTIONS.method,
    min_confidence: Annotated[
        float | None,
        typer.Option(metavar="P", help="Of imprecise: only matches that are at least so sure."),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of imprecise: only the N surest matches."),
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Tell on stderr what the evaluation did, as JSON.")
    ] = False,
    spark: SparkMaster = None,
    slices: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="With --spark: cut the events into N slices of time; auto: where one key has "
            "too many of them.",
        ),
    ] = None,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="With --spark: the workers read the Parquet files, which are in the order of "
            "time; nothing is sorted or sent around.",
        ),
    ] = False,
) -> None:
    """Find all matches of a query in events, and write them.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     a Parquet, CSV or JSON-lines file, a directory or quoted
               glob of Parquet files, or TYPE=PATH for each event type;
               - to read CSV or JSON lines from stdin

    Of a script of several queries the matches of each are written. With -o each has a file:
    FILE is a folder then, or has {query} in its name.
    """
    from cepheid.cli.commands.scripts import match_script
    from cepheid.cli.formats import choose_format
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        read_domains,
        read_queries,
        read_statistics,
        slice_count,
        split_columns,
        split_query,
        time_columns,
        uncertainty_of,
    )
    from cepheid.cli.results import found, write_results, write_text

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        source = events_source(paths)
        query = read_queries(query_file, query_text, settings or (), group_by or ())
        keywords: dict[str, Any] = {
            "time": time,
            "type": type,
            "tie_break": split_columns(tie_break),
            "time_unit": time_unit,
            "schema": declared_schema(schema),
            "evaluation": evaluation,
            "output": output,
            "algorithm": algorithm,
            "buffer": buffer,
            "construction": construction,
            "equivalence": equivalence,
            "window": window,
            "domains": read_domains(domain or ()),
            "negation": negation,
            "statistics": read_statistics(statistics),
            "max_matches": max_matches,
            "max_runs": max_runs,
        }
        weighing: dict[str, Any] = {
            "uncertainty": uncertainty_of(uncertainty),
            "probabilities": probabilities,
            "granularity": granularity,
            "method": None if method == DEFAULT_OPTIONS.method else method,
            "min_confidence": min_confidence,
            "top_k": top_k,
        }
        weighing = {name: value for name, value in weighing.items() if value is not None}
        is_script = isinstance(query, CompiledScript)
        if weighing and is_script:
            flag = f"--{next(iter(weighing)).replace('_', '-')}"
            raise typer.BadParameter(f"{flag} is for one query, not for a script")
        if slices is not None and (spark is None or is_script):
            raise typer.BadParameter("--slices is for --spark, and for one query")
        if in_place and (spark is None or is_script or slices or tie_break):
            raise typer.BadParameter(
                "--in-place is for --spark and one query, over files whose rows are in order: "
                "without --slices and --tie-break"
            )
        if spark is not None:
            if metrics or count:
                flag = "--metrics" if metrics else "--count"
                raise typer.BadParameter(f"{flag} is of a run in this process, without --spark")
            from cepheid.cli.spark.spark_run import match_on_spark

            if not is_script:
                keywords |= {**weighing, "time": time_columns(time), "slices": slice_count(slices)}
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
        keywords |= {**weighing, "time": time_columns(time)}
        with busy("Matching"):
            matches = query.match_stream(
                source, whole_events=False if only_rows else None, **keywords
            )
        shown = write_results(matches, query.tree, chosen, file, limit, (time, type))
        say(f"{found(matches.found, shown)} in {took(clock.perf_counter() - started)}")
        if metrics:
            say(json.dumps(matches.metrics.to_dict()))
