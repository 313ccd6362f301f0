"""``cepheid demo``: the bundled scenarios, each with its question, its query and its answers."""

from __future__ import annotations

import time

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.theme import Theme

import cepheid as cep
from cepheid.cli.reporting import plural, took
from cepheid.cli.tables import PipedConsole, matches_table
from cepheid.samples import SCENARIOS, Scenario, scenario

MOST_ROWS = 10
"""How many matches are shown of each scenario."""
WORTH_SAYING_SECONDS = 2


class _QueryHighlighter(RegexHighlighter):
    """Colours for the words of a query."""

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


def run_demo(name: str | None = None) -> None:
    """Run one scenario, or all of them, and print everything about it."""
    console = PipedConsole(theme=_THEME, highlight=False)
    chosen = SCENARIOS if name is None else (scenario(name),)
    for number, each in enumerate(chosen, start=1):
        if number > 1:
            console.print()
        _show(each, number, len(chosen), console)
    console.print()
    console.print("Ask your own events: cepheid match --help")


def _show(each: Scenario, number: int, count: int, console: Console) -> None:
    title = each.title if count == 1 else f"{number} of {count}: {each.title}"
    console.print(Rule(title, align="left"))
    console.print()
    console.print(each.question, style="bold")
    console.print()
    console.print(_QueryHighlighter()(each.query.rstrip()))
    console.print()
    query, events = cep.query(each.query), each.events()
    with _progress() as progress:
        task = progress.add_task("Compiling", total=None)
        started = time.perf_counter()
        query.match(events.slice(0, len(events) // 10))
        compiled = time.perf_counter()
        progress.update(task, description=f"Asking {plural(len(events), 'event')}")
        matches = query.match(events)
        finished = time.perf_counter()
    console.print(matches_table(matches, query.tree, limit=MOST_ROWS, width=console.width))
    console.print()
    said = [
        f"{plural(len(matches), 'match', 'matches')} among {plural(len(events), 'event')} "
        f"in {took(finished - compiled)}"
    ]
    if compiled - started > WORTH_SAYING_SECONDS:
        said.append(f"compiled in {took(compiled - started)}, once for all")
    if len(matches) > MOST_ROWS:
        said.append(f"the first {MOST_ROWS} are shown")
    console.print("; ".join(said))


def _progress() -> Progress:
    """A bar on stderr, where that is a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
