"""Options that several commands have."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from cepheid.cli.reporting import usage
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError, did_you_mean, list_words
from cepheid.planning.registry import EVALUATIONS, evaluation_named

QUERY, EVENTS, EVALUATION, RESULT = "Query", "Events", "Evaluation", "Result"
"""The groups of options in the help of a command."""

_MASTER = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://.+")


def _check_evaluation(name: str) -> None:
    if name != AUTO:
        evaluation_named(name)


def _check_unit(name: str) -> None:
    from cepheid.events.time_axis import unit_named

    unit_named(name)


def check_master(name: str) -> None:
    """Refuse a name that cannot be a Spark master; Spark itself would report a Java exception."""
    if not _MASTER.fullmatch(name):
        raise OptionError(
            f"{name!r} is not a Spark master; use local[*], local[N], yarn or the URL of a "
            "cluster, such as spark://host:7077" + did_you_mean(name, ("local", "local[*]", "yarn"))
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
        help="Set a parameter of the query, such as T=0.5; repeatable.",
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
        help='The attributes of each type, if they differ: a file, or {"Shelf": ["tag_id"]}.',
        rich_help_panel=EVENTS,
    ),
]
EvaluationName = Annotated[
    str,
    typer.Option(
        "--evaluation",
        metavar="NAME",
        callback=usage(_check_evaluation),
        help=f"How to run the query: {list_words([AUTO, *(e.name for e in EVALUATIONS)], 'or')}.",
        rich_help_panel=EVALUATION,
    ),
]
TimeColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="The time column, or two, comma-separated: the earliest and the latest time.",
        rich_help_panel=EVENTS,
    ),
]
TypeColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="The type column.", rich_help_panel=EVENTS)
]
TieBreak = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="The column that orders events with equal times; repeatable, or comma-separated. "
        "By default they keep their row order.",
        rich_help_panel=EVENTS,
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        callback=usage(_check_unit),
        help="The unit of a numeric time column, such as ms.",
        rich_help_panel=EVENTS,
    ),
]
NamedOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Set one of the options listed below; repeatable. --NAME VALUE is short for it.",
        rich_help_panel=EVALUATION,
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
