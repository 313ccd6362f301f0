"""The commands and their options. What a command needs is loaded when it runs."""

from __future__ import annotations

import json
import time as clock
from pathlib import Path
from typing import Annotated, Any

import typer

from cepheid import CompiledScript
from cepheid.automata.evaluations import EVALUATIONS
from cepheid.cli.diagnosis import DiagnosisFormat
from cepheid.cli.formats import Format
from cepheid.cli.reporting import EXIT_CODES, EXIT_FAULT, busy, report, reporting, say, took, usage
from cepheid.errors import CepheidError, OptionError, closest, list_words
from cepheid.planning.evaluations import AUTO, check_output
from cepheid.planning.options import DEFAULT_OPTIONS, EQUIVALENCES, METHODS, WINDOWS

app = typer.Typer(
    name="cepheid",
    help="Find patterns in streams of events with SASE+ queries.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _check_evaluation(name: str) -> None:
    known = [AUTO, *(evaluation.name for evaluation in EVALUATIONS)]
    if name not in known:
        near = closest(name, known)
        raise OptionError(
            f"there is no evaluation {name!r}; there are {list_words(known)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )


def _check_unit(name: str) -> None:
    from cepheid.runtime.time_axis import unit_named

    unit_named(name)


def _check_scenario(name: str) -> None:
    from cepheid.samples import scenario

    scenario(name)


# Arguments are described in the docstrings: the help of a command shows those first.
QueryFile = Annotated[str | None, typer.Argument(metavar="QUERYFILE", hidden=True)]
Events = Annotated[list[str] | None, typer.Argument(metavar="EVENTS", hidden=True)]
QueryText = Annotated[
    str | None,
    typer.Option("-q", "--query", metavar="TEXT", help="The query itself, instead of QUERYFILE."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the query, such as T=0.5; repeatable."
    ),
]
Declaration = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="JSON",
        help='The attributes of each type, where they differ: a file, or {"Shelf": ["tag_id"]}.',
    ),
]
EvaluationName = Annotated[
    str,
    typer.Option(
        "--evaluation",
        metavar="NAME",
        callback=usage(_check_evaluation),
        help=f"What runs the query: {AUTO} or {list_words([e.name for e in EVALUATIONS], 'or')}.",
    ),
]
TimeColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="The column with the time of an event; two with a comma: its earliest and latest.",
    ),
]
TypeColumn = Annotated[str, typer.Option(metavar="COLUMN", help="The column with its type.")]
TieBreak = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="What orders events of equal time; repeatable, or several with commas. "
        "Row order otherwise.",
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        callback=usage(_check_unit),
        help="What a numeric time column counts, such as ms.",
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="Run on Spark: local[*], or the URL of a cluster. -o then names a new folder.",
    ),
]

Construction = Annotated[
    str,
    typer.Option(metavar="NAME", help="Of instance_stacks: ais or basic; same matches."),
]
EquivalenceTests = Annotated[
    str,
    typer.Option(
        "--equivalence",
        metavar="NAME",
        help="Of instance_stacks, where equivalence tests are made: "
        f"{list_words(EQUIVALENCES, 'or')}; same matches.",
    ),
]
WindowTest = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="NAME",
        help="Of instance_stacks, where the window is tested: "
        f"{list_words(WINDOWS, 'or')}; same matches.",
    ),
]
Domains = Annotated[
    list[str] | None,
    typer.Option(
        "--domain",
        metavar="NAME=N",
        help="How many values an attribute has, such as tag_id=10000; repeatable.",
    ),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        from cepheid import __version__

        typer.echo(f"cepheid {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


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
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    output: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            callback=usage(check_output),
            help="Which matches: all or non_overlapping.",
        ),
    ] = "all",
    format: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            show_default=False,
            help="jsonl, csv, parquet or table. By default what the suffix of FILE says; "
            "without one, table on a terminal and jsonl elsewhere.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Where to write; stdout otherwise.")
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
            help="Of lazy_chain and lazy_tree: first_chance or post_processing; same matches.",
        ),
    ] = DEFAULT_OPTIONS.negation,
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
        int | None,
        typer.Option(
            metavar="N", min=1, help="With --spark: cut the events into N slices of time."
        ),
    ] = None,
) -> None:
    """Find all matches of a query in events, and write them.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     a Parquet, CSV or JSON-lines file, a directory or quoted
               glob of Parquet files, or TYPE=PATH for each event type

    Of a script of several queries the matches of each are written. With -o each has a file:
    FILE is a folder then, or has {query} in its name.
    """
    from cepheid.cli.formats import choose_format
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        read_domains,
        read_queries,
        split_columns,
        split_query,
        time_columns,
        uncertainty_of,
    )
    from cepheid.cli.results import found, write_results, write_text
    from cepheid.cli.scripts import match_script

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        source = events_source(paths)
        query = read_queries(query_file, query_text, settings or ())
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
        if weighing and (isinstance(query, CompiledScript) or spark is not None):
            flag = f"--{next(iter(weighing)).replace('_', '-')}"
            raise typer.BadParameter(
                f"{flag} is for one query over events in this process, not for a script or --spark"
            )
        if isinstance(query, CompiledScript):
            match_script(query, source, keywords, format, file, limit, metrics)
            return
        chosen = choose_format(format, file)
        if spark is not None:
            if metrics:
                raise typer.BadParameter("--metrics is of a run in this process, without --spark")
            from cepheid.cli.spark_run import match_on_spark

            match_on_spark(
                spark, query, source, chosen, file, limit, {**keywords, "slices": slices}
            )
            return
        if slices is not None:
            raise typer.BadParameter("--slices is for --spark")
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


@app.command(
    epilog="""\b
Examples:
  cepheid explain theft.sase
  cepheid explain theft.sase --svg -o theft.svg
  cepheid explain -q 'PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > a.x'
"""
)
def explain(
    query_file: QueryFile = None,
    events: Events = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    settings: Settings = None,
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    construction: Construction = DEFAULT_OPTIONS.construction,
    equivalence: EquivalenceTests = DEFAULT_OPTIONS.equivalence,
    window: WindowTest = DEFAULT_OPTIONS.window,
    domain: Domains = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Draw the automaton instead, as a Mermaid flowchart.")
    ] = False,
    svg: Annotated[
        bool, typer.Option("--svg", help="Draw the automaton instead, as an SVG picture.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Where to write; stdout otherwise.")
    ] = None,
) -> None:
    """Show how a query is understood and what runs it.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match; their columns are checked too, and nothing is matched
    """
    from cepheid.cli.inputs import find_schema, read_domains, read_queries, split_query
    from cepheid.cli.results import write_text

    if mermaid and svg:
        raise typer.BadParameter("--mermaid and --svg are two drawings; choose one")
    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        query = read_queries(query_file, query_text, settings or ())
        known = find_schema(paths, schema)
        if isinstance(query, CompiledScript):
            if mermaid or svg:
                raise typer.BadParameter(
                    "a drawing is of one query, and this is a script of several"
                )
            text = query.explain(known, evaluation=evaluation, time=time, type=type) + "\n"
        elif mermaid or svg:
            text = query.automaton("svg" if svg else "mermaid", schema=known)
        else:
            explained = query.explain(
                known,
                evaluation=evaluation,
                construction=construction,
                equivalence=equivalence,
                window=window,
                domains=read_domains(domain or ()),
            )
            text = explained + "\n"
        write_text(text, file)


@app.command(
    epilog="""\b
Examples:
  cepheid diagnose theft.sase events.parquet
  cepheid diagnose -q 'PATTERN SEQ(Shelf a, Exit c) WHERE a.zone = c.zone' events.parquet
  cepheid diagnose theft.sase events.parquet --format json
"""
)
def diagnose(
    query_file: QueryFile = None,
    events: Events = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    tie_break: TieBreak = None,
    time_unit: TimeUnit = None,
    settings: Settings = None,
    schema: Declaration = None,
    evaluation: EvaluationName = AUTO,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which query of a script; the last one otherwise."),
    ] = None,
    format: Annotated[
        DiagnosisFormat, typer.Option(metavar="FORMAT", help="text for reading, or json.")
    ] = DiagnosisFormat.TEXT,
) -> None:
    """Tell why a query finds nothing, or too little.

    \b
    QUERYFILE  a file with the query, or - to read it from stdin
    EVENTS     as for match

    For each component: how many events could be it, and how many partial matches reached it;
    then what stopped those that got furthest, with examples, and what is probably wrong.
    """
    from cepheid.cli.diagnosis import write_diagnosis
    from cepheid.cli.inputs import (
        declared_schema,
        events_source,
        read_queries,
        split_columns,
        split_query,
    )

    with reporting():
        query_file, paths = split_query(query_file, events, query_text)
        source = events_source(paths)
        query = read_queries(query_file, query_text, settings or ())
        keywords: dict[str, Any] = {
            "time": time,
            "type": type,
            "tie_break": split_columns(tie_break),
            "time_unit": time_unit,
            "schema": declared_schema(schema),
            "evaluation": evaluation,
        }
        with busy("Looking"):
            if isinstance(query, CompiledScript):
                name = only or list(query.queries)[-1]
                diagnosis = query.diagnose(source, name, **keywords)
            elif only is not None:
                raise typer.BadParameter(
                    "this is a single query, not a script", param_hint="--only"
                )
            else:
                diagnosis = query.diagnose(source, **keywords)
        write_diagnosis(diagnosis, format)


@app.command(
    epilog="""\b
Examples:
  cepheid check theft.sase
  cepheid check theft.sase trend.sase events.parquet
"""
)
def check(
    query_file: QueryFile = None,
    rest: Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    query_text: QueryText = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    settings: Settings = None,
    schema: Declaration = None,
) -> None:
    """Look for faults in queries without running them.

    \b
    QUERYFILE  a file with a query, or - to read it from stdin
    FILE       more queries; and events, as for match, whose columns the
               queries are checked against

    A query without faults gets a line that says ok. Faults are shown on stderr, all at once.
    """
    from cepheid.cli.inputs import (
        find_schema,
        looks_like_events,
        name_of,
        read_queries,
        split_query,
    )
    from cepheid.cli.results import summary
    from cepheid.cli.scripts import script_summary

    with reporting():
        first, others = split_query(query_file, rest, query_text)
        files = [first, *(each for each in others if not looks_like_events(each))]
        known = find_schema([each for each in others if looks_like_events(each)], schema)
        faulty = False
        for file in files:
            try:
                query = read_queries(file, query_text if file is None else None, settings or ())
                if isinstance(query, CompiledScript):
                    query.explain(known, time=time, type=type)
                    typer.echo(f"{name_of(file)}: ok, {script_summary(query)}")
                else:
                    query.explain(known)
                    typer.echo(f"{name_of(file)}: ok, {summary(query.tree)}")
            except CepheidError as error:
                report(error)
                faulty = True
        if faulty:
            raise typer.Exit(EXIT_FAULT)


@app.command(
    epilog="""\b
Examples:
  cepheid demo
  cepheid demo --scenario stock_trend
"""
)
def demo(
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=usage(_check_scenario),
            help="retail_theft, contaminated_shipments or stock_trend; all three otherwise.",
        ),
    ] = None,
    spark: SparkMaster = None,
) -> None:
    """Ask three bundled streams of events a question each."""
    from cepheid.cli.demo import run_demo

    with reporting():
        run_demo(scenario, spark)
