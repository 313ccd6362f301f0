"""The parameters that commands share: the query, the events and how to run the query."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from cepheid import CompiledQuery, CompiledScript, Schema
from cepheid.cli.inputs import (
    declared_schema,
    events_source,
    find_schema,
    read_queries,
    split_columns,
    split_query,
    time_columns,
)
from cepheid.cli.named_options import NO_OPTIONS, Groups, command_with
from cepheid.cli.options import (
    Declaration,
    EvaluationName,
    Events,
    GroupBy,
    NamedOptions,
    QueryFile,
    QueryText,
    Settings,
    TieBreak,
    TimeColumn,
    TimeUnit,
    TypeColumn,
)
from cepheid.cli.reporting import reporting
from cepheid.cli.root import app
from cepheid.engines.base.evaluation import AUTO


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments and options of a command that several commands have."""

    query_file: QueryFile = None
    events: Events = None
    query_text: QueryText = None
    time: TimeColumn = "ts"
    type: TypeColumn = "type"
    tie_break: TieBreak = None
    time_unit: TimeUnit = None
    settings: Settings = None
    group_by: GroupBy = None
    schema: Declaration = None
    evaluation: EvaluationName = AUTO
    option: NamedOptions = None

    @property
    def file(self) -> str | None:
        """The file of the query, or None if its text was given."""
        return split_query(self.query_file, self.events, self.query_text)[0]

    @property
    def paths(self) -> list[str]:
        """The arguments that name events."""
        return split_query(self.query_file, self.events, self.query_text)[1]

    def source(self) -> str | dict[str, str]:
        """The events in the form that ``match`` takes; it can be read once if it is stdin."""
        return events_source(self.paths)

    def query(self) -> CompiledQuery | CompiledScript:
        """The query, or the script if there are several."""
        return read_queries(self.file, self.query_text, self.settings or (), self.group_by or ())

    def known_schema(self) -> Schema | None:
        """The schema of the events and of ``--schema``, read without matching the events."""
        return find_schema(self.paths, self.schema)

    def reading(self) -> dict[str, Any]:
        """The keywords of ``match`` that say how to read events."""
        return {
            "time": time_columns(self.time),
            "type": self.type,
            "tie_break": split_columns(self.tie_break),
            "time_unit": self.time_unit,
            "schema": declared_schema(self.schema),
        }

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``match``."""
        return {**self.reading(), "evaluation": self.evaluation}


Command = Callable[..., None]


def command(
    examples: str, *, options: Groups = NO_OPTIONS, without: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Register a function as a command: its first argument is the :class:`Request`.

    The command has the parameters of a request, except those in ``without``, and then those of the
    function. ``options`` are the options that it takes by name.
    """
    without = without if options else {*without, "option"}
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
        app.command(cls=command_with(options), epilog=f"\b\nExamples:\n{examples}")(run)
        return function

    return register
