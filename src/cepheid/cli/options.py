"""Options and arguments that several commands have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from cepheid.cli.reporting import usage
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import EQUIVALENCES, WINDOWS
from cepheid.errors import OptionError, closest, list_words
from cepheid.planning.registry import EVALUATIONS

_MASTER = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://.+")
"""What Spark may run on."""


def _check_evaluation(name: str) -> None:
    known = [AUTO, *(evaluation.name for evaluation in EVALUATIONS)]
    if name not in known:
        near = closest(name, known)
        raise OptionError(
            f"there is no evaluation {name!r}; there are {list_words(known)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )


def _check_unit(name: str) -> None:
    from cepheid.events.time_axis import unit_named

    unit_named(name)


def check_master(name: str) -> None:
    """Refuse what can be no master; Spark would only say so in Java's words."""
    if not _MASTER.fullmatch(name):
        near = closest(name, ("local", "local[*]", "yarn"))
        raise OptionError(
            f"{name!r} is no master of Spark's; there are local[*], local[N], yarn and the URL of "
            "a cluster, such as spark://host:7077"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )


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
GroupBy = Annotated[
    list[str] | None,
    typer.Option(
        "--group-by",
        metavar="VARIABLE=ATTRIBUTE",
        help="The events of a list agree in an attribute: b=x is the condition "
        "b[i].x = b[i-1].x; repeatable.",
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
        callback=usage(check_master),
        help="Run on Spark: local[*], or the URL of a cluster.",
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
Statistics = Annotated[
    Path | None,
    typer.Option(
        "--statistics",
        metavar="FILE",
        help="A file of JSON: how many events of types or variables a window has, and how often "
        "conditions hold.",
    ),
]
