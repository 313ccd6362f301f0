"""Options and arguments that several commands have."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from cepheid.cli.reporting import usage
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError, closest, list_words
from cepheid.planning.registry import EVALUATIONS, evaluation_named

QUERY, EVENTS, EVALUATION, RESULT, SPARK = "Query", "Events", "Evaluation", "Result", "Spark"
"""The groups of options in the help of a command."""

_MASTER = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://.+")
"""What Spark may run on."""


def _check_evaluation(name: str) -> None:
    if name != AUTO:
        evaluation_named(name)


def _check_unit(name: str) -> None:
    from cepheid.events.time_axis import unit_named

    unit_named(name)


def check_master(name: str) -> None:
    """Refuse what can be no master; Spark would only say so in Java's words."""
    if not _MASTER.fullmatch(name):
        near = closest(name, ("local", "local[*]", "yarn"))
        raise OptionError(
            f"{name!r} is not a Spark master; there are local[*], local[N], yarn and the URL of "
            "a cluster, such as spark://host:7077"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )


QueryFile = Annotated[str | None, typer.Argument(metavar="QUERYFILE", hidden=True)]
Events = Annotated[list[str] | None, typer.Argument(metavar="EVENTS", hidden=True)]
QueryText = Annotated[
    str | None,
    typer.Option(
        "-q",
        "--query",
        metavar="TEXT",
        help="The query itself, instead of QUERYFILE.",
        rich_help_panel=QUERY,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the query, such as T=0.5; repeatable.",
        rich_help_panel=QUERY,
    ),
]
GroupBy = Annotated[
    list[str] | None,
    typer.Option(
        "--group-by",
        metavar="VARIABLE=ATTRIBUTE",
        help="The events of a list agree on an attribute: b=x is the condition "
        "b[i].x = b[i-1].x; repeatable.",
        rich_help_panel=QUERY,
    ),
]
Declaration = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="JSON",
        help='The attributes of each type, where they differ: a file, or {"Shelf": ["tag_id"]}.',
        rich_help_panel=EVENTS,
    ),
]
EvaluationName = Annotated[
    str,
    typer.Option(
        "--evaluation",
        metavar="NAME",
        callback=usage(_check_evaluation),
        help=f"What runs the query: {AUTO} or {list_words([e.name for e in EVALUATIONS], 'or')}.",
        rich_help_panel=EVALUATION,
    ),
]
TimeColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="The column with the time of an event; two with a comma: its earliest and latest.",
        rich_help_panel=EVENTS,
    ),
]
TypeColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="The column with its type.", rich_help_panel=EVENTS)
]
TieBreak = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="What orders events of equal time; repeatable, or several with commas. "
        "Row order otherwise.",
        rich_help_panel=EVENTS,
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        callback=usage(_check_unit),
        help="What a numeric time column counts, such as ms.",
        rich_help_panel=EVENTS,
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        callback=usage(check_master),
        help="Run on Spark: local[*], or the URL of a cluster.",
        rich_help_panel=EVALUATION,
    ),
]

NamedOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option by its name, see below; repeatable. --NAME VALUE for short.",
        rich_help_panel=EVALUATION,
    ),
]
