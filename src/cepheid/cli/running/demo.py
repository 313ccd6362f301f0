"""``cepheid demo``: the bundled scenarios, each with its question, query and matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.table import Table
from rich.theme import Theme

import cepheid as cep
from cepheid.api import sase_query
from cepheid.cli.reporting import took
from cepheid.cli.running.demo_extras import show_clause, show_rules, write_report
from cepheid.cli.tables import PipedConsole, matches_table
from cepheid.errors import plural
from cepheid.matches.matches import Match
from cepheid.samples import SCENARIOS, Scenario, scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_ROWS = 10
"""The number of matches shown for each scenario."""
EVENT_ROWS = 3
"""The number of events shown for each scenario."""


class _QueryHighlighter(RegexHighlighter):
    """Colours of the parts of a query."""

    base_style = "query."
    highlights = [  # noqa: RUF012 - as Rich declares it
        r"\b(?P<keyword>PATTERN|WHERE|WITHIN|RETURN|SEQ|AND|OR|NOT|AS)\b",
        r"\b(?P<strategy>(?:skip_till_(?:any|next)_match|(?:strict|partition)_contiguity))\b",
        r"(?P<text>'[^']*')",
        r"\b(?P<number>\d+(?:\.\d+)?%?(?: (?:second|minute|hour|day)s?)?)",
        r"(?P<negation>~)",
    ]


_THEME = Theme(
    {
        "query.keyword": "bold cyan",
        "query.strategy": "magenta",
        "query.text": "green",
        "query.number": "yellow",
        "query.negation": "bold red",
    }
)


def run_demo(name: str | None = None, master: str | None = None) -> None:
    """Run one scenario or all, in this process or on Spark, and print the results."""
    console = PipedConsole(theme=_THEME, highlight=False)
    chosen = SCENARIOS if name is None else (scenario(name),)
    with _progress() as progress, _spark_when_needed(master, progress) as start:
        for number, each in enumerate(chosen, start=1):
            if number > 1:
                console.print()
            title = each.title if name is not None else f"{number} of {len(chosen)}: {each.title}"
            _introduce(each, title, console)
            _show(
                each, console, progress, _locally if start is None else partial(_on_spark, start())
            )
        if name is None:
            console.print()
            show_clause(console, None if start is None else start())
    if name is None:
        for show in (show_rules, write_report):
            console.print()
            show(console)
    console.print()
    console.print("To query your own events: cepheid match --help")


Answer = Callable[[cep.CompiledQuery, pa.Table], Sequence[Match]]
"""Runs a query over events."""


def _introduce(each: Scenario, title: str, console: Console) -> None:
    console.print(Rule(title, align="left"))
    console.print()
    console.print(each.question, style="bold")
    console.print()
    console.print(f"The first of {plural(each.default_count, 'event')}:")
    console.print(_first_rows(each.events()))
    console.print()
    console.print(_QueryHighlighter()(each.query.rstrip()))
    console.print()


def _first_rows(events: pa.Table) -> Table:
    table = Table(*events.column_names, box=None, pad_edge=False)
    for row in events.slice(0, EVENT_ROWS).to_pylist():
        shown = {**row, "ts": row["ts"].isoformat(" ", "milliseconds")}
        table.add_row(*("" if value is None else str(value) for value in shown.values()))
    return table


def _show(each: Scenario, console: Console, progress: Progress, answer: Answer) -> None:
    query, events = sase_query(each.query), each.events()
    task = progress.add_task(f"Matching {plural(len(events), 'event')}", total=None)
    started = time.perf_counter()
    matches = answer(query, events)
    finished = time.perf_counter()
    progress.remove_task(task)
    console.print(matches_table(matches, query.tree, limit=MOST_ROWS, width=console.width))
    console.print()
    summary = [
        f"{plural(len(matches), 'match', 'matches')} among {plural(len(events), 'event')} "
        f"in {took(finished - started)}"
    ]
    if len(matches) > MOST_ROWS:
        summary.append(f"the first {MOST_ROWS} are shown")
    console.print("; ".join(summary))


@contextmanager
def _spark_when_needed(
    master: str | None, progress: Progress
) -> Iterator[Callable[[], SparkSession] | None]:
    """What starts Spark with this master, once; None without one."""
    if master is None:
        yield None
        return
    started: list[SparkSession] = []

    def start() -> SparkSession:
        if not started:
            from cepheid.cli.spark.spark_run import start_spark

            task = progress.add_task("Starting Spark", total=None)
            started.append(start_spark(master))
            progress.remove_task(task)
        return started[0]

    try:
        yield start
    finally:
        for spark in started:
            spark.stop()


def _locally(query: cep.CompiledQuery, events: pa.Table) -> Sequence[Match]:
    return list(query.match(events))


def _on_spark(spark: SparkSession, query: cep.CompiledQuery, events: pa.Table) -> Sequence[Match]:
    from cepheid.cli.spark.spark_run import found_matches
    from cepheid.spark import match

    found = match(query, spark.createDataFrame(events)).toArrow()
    return list(found_matches(found.sort_by([("end", "ascending"), ("start", "ascending")])))


def _progress() -> Progress:
    """A progress bar on stderr, if that is a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
