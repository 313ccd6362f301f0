"""The parameters that commands share: the query, the events and how to run the query."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from cepheid import CompiledQuery, CompiledScript, RowPatternQuery, Schema
from cepheid.cli.formats import Format
from cepheid.cli.inputs import (
    Source,
    declared_schema,
    events_source,
    find_schema,
    read_any,
    split_columns,
    split_query,
    time_columns,
)
from cepheid.cli.named_options import OF_EVENTS, Groups, command_with, reading_values
from cepheid.cli.reporting import one_of, reporting, usage
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO, REFERENCE, ROW_PATTERN
from cepheid.errors import OptionError, did_you_mean, list_words
from cepheid.planning.registry import EVALUATIONS, evaluation_named
from cepheid.row_patterns.query import no_clause_here

_MASTER = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://.+")

# The groups of options in the help of a command.
query_option = partial(typer.Option, rich_help_panel="Query")
events_option = partial(typer.Option, rich_help_panel="Events")
evaluation_option = partial(typer.Option, rich_help_panel="Evaluation")
result_option = partial(typer.Option, rich_help_panel="Result")


def _check_evaluation(name: str) -> None:
    if name not in (AUTO, ROW_PATTERN):
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


SparkMaster = Annotated[
    str | None,
    evaluation_option(
        "--spark",
        metavar="MASTER",
        callback=usage(check_master),
        help="Run on Spark: local[*], or the URL of a cluster.",
    ),
]


OutputFormat = Annotated[
    Format | None,
    result_option(
        metavar="FORMAT",
        parser=one_of(Format),
        show_default=False,
        help="jsonl, csv, parquet or table. By default the suffix of FILE decides; without FILE, "
        "table on a terminal and jsonl elsewhere.",
    ),
]
OutputFile = Annotated[
    Path | None, result_option("-o", metavar="FILE", help="The output file; stdout by default.")
]
FileOrFolder = Annotated[
    Path | None,
    result_option(
        "-o",
        metavar="FILE",
        help="The output file; stdout by default. With --spark, a new folder.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments and options of a command that several commands have."""

    query_file: Annotated[str | None, typer.Argument(metavar="QUERYFILE", hidden=True)] = None
    events: Annotated[list[str] | None, typer.Argument(metavar="EVENTS", hidden=True)] = None
    query_text: Annotated[
        str | None,
        query_option(
            "-q", "--query", metavar="TEXT", help="The query itself, instead of QUERYFILE."
        ),
    ] = None
    time: Annotated[
        str,
        events_option(
            metavar="COLUMN",
            help="The time column, or two, comma-separated: the earliest and the latest time.",
        ),
    ] = "ts"
    type: Annotated[str, events_option(metavar="COLUMN", help="The type column.")] = "type"
    tie_break: Annotated[
        list[str] | None,
        events_option(
            metavar="COLUMN",
            help="The column that orders events with equal times; repeatable, or comma-separated. "
            "By default they keep their row order.",
        ),
    ] = None
    time_unit: Annotated[
        str | None,
        events_option(
            metavar="UNIT",
            callback=usage(_check_unit),
            help="The unit of a numeric time column, such as ms.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        query_option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the query, such as T=0.5 or W=10s; repeatable.",
        ),
    ] = None
    group_by: Annotated[
        list[str] | None,
        query_option(
            metavar="VARIABLE=ATTRIBUTE",
            help="The events of a list agree on an attribute: b=x is the condition "
            "b[i].x = b[i-1].x; repeatable.",
        ),
    ] = None
    limits: Annotated[
        list[str] | None,
        query_option(
            "--query-limit",
            metavar="NAME=N",
            help="Accept a larger query, or only a smaller one: components=500; repeatable.",
        ),
    ] = None
    schema: Annotated[
        str | None,
        events_option(
            metavar="JSON",
            help='The attributes of each type, if they differ: a file, or {"Shelf": ["tag_id"]}.',
        ),
    ] = None
    evaluation: Annotated[
        str,
        evaluation_option(
            metavar="NAME",
            callback=usage(_check_evaluation),
            help="How to run the query: "
            f"{list_words([AUTO, *(each.name for each in EVALUATIONS)], 'or')}; MATCH_RECOGNIZE: "
            f"{AUTO}, {ROW_PATTERN} or {REFERENCE}.",
        ),
    ] = AUTO
    option: Annotated[
        list[str] | None,
        evaluation_option(
            metavar="NAME=VALUE",
            help="Set one of the options listed below; repeatable. --NAME VALUE is short for it.",
        ),
    ] = None

    @property
    def file(self) -> str | None:
        """The file of the query, or None if its text was given."""
        return split_query(self.query_file, self.events, self.query_text)[0]

    @property
    def paths(self) -> list[str]:
        """The arguments that name events."""
        return split_query(self.query_file, self.events, self.query_text)[1]

    def source(self) -> Source:
        """The events in the form that ``match`` takes; it can be read once if it is stdin."""
        return events_source(self.paths)

    def query(self) -> CompiledQuery | CompiledScript:
        """The query, or the script if there are several."""
        found = self.any_query()
        if isinstance(found, RowPatternQuery):
            raise no_clause_here()
        return found

    def any_query(self) -> CompiledQuery | CompiledScript | RowPatternQuery:
        """The same, or MATCH_RECOGNIZE."""
        return read_any(*self._query_arguments)

    @property
    def _query_arguments(self) -> tuple[str | None, str | None, list[str], list[str], list[str]]:
        lists = self.settings or [], self.group_by or [], self.limits or []
        return self.file, self.query_text, *lists

    def known_schema(self) -> Schema | None:
        """The schema of the events and of ``--schema``, read without matching the events."""
        return find_schema(self.paths, self.schema, reading_values(self.option or ()))

    def reading(self) -> dict[str, Any]:
        """The keywords of ``match`` that say how to read events."""
        return {
            "time": time_columns(self.time),
            "type": self.type,
            "tie_break": split_columns(self.tie_break),
            "time_unit": self.time_unit,
            "schema": declared_schema(self.schema),
            **reading_values(self.option or ()),
        }

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``match``."""
        return {**self.reading(), "evaluation": self.evaluation}


Command = Callable[..., None]


def command(
    examples: str,
    *,
    options: Groups = OF_EVENTS,
    without: Collection[str] = (),
    group: typer.Typer = app,
    arguments: str | None = None,
) -> Callable[[Command], Command]:
    """Register a function as a command: its first argument is the :class:`Request`.

    The command has the parameters of a request, except those in ``without``, and then those of the
    function. ``options`` are the options that it takes by name. ``group`` is the command of which
    it is a part, and ``arguments`` what its usage says instead of QUERYFILE and EVENTS.
    """
    shared = [field for field in fields(Request) if field.name not in without]

    def register(function: Command) -> Command:
        hints = get_type_hints(Request, include_extras=True)
        _, *own = signature(function, eval_str=True).parameters.values()

        @wraps(function)
        def run(**values: Any) -> None:
            with reporting():
                request = Request(**{field.name: values.pop(field.name) for field in shared})
                function(request, **values)

        # typer reads parameters from the signature.
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                *(
                    Parameter(
                        field.name,
                        Parameter.KEYWORD_ONLY,
                        default=field.default,
                        annotation=hints[field.name],
                    )
                    for field in shared
                ),
                *(parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own),
            ]
        )
        run.__annotations__ = {}
        group.command(cls=command_with(options, arguments), epilog=f"\b\nExamples:\n{examples}")(
            run
        )
        return function

    return register
