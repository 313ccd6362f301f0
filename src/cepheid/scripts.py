"""Several queries in one text, in which later ones read the events that earlier ones make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.analysis.absent_types import warn_of_absent_types
from cepheid.analysis.analyse import analyse
from cepheid.analysis.scripts import (
    check_reserved,
    kinds_of_items,
    link_queries,
    schema_read,
)
from cepheid.api import CompiledQuery, read_text
from cepheid.engines.base.evaluation import AUTO, REFERENCE
from cepheid.engines.base.options import read_options
from cepheid.errors import DEFAULT_SOURCE, OptionError, closest, list_words
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.explain.explain import explain
from cepheid.language import syntax as ast
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS, parse_script
from cepheid.language.printer import print_query
from cepheid.matches.modes.registry import check_output
from cepheid.planning.evaluations import choose_evaluation
from cepheid.schema import Kind, Schema, schema_of

if TYPE_CHECKING:
    from cepheid.analysis.model import AnalysedQuery
    from cepheid.events.events import Events
    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.matches.script_matches import ScriptMatches
    from cepheid.sessions.script_plan import Script
    from cepheid.sessions.script_stream import ScriptSession


def script(
    text: str,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    source: str = DEFAULT_SOURCE,
) -> CompiledScript:
    """A script: queries with ``;`` between them.

    A query that says ``RETURN Type(item, …)`` makes *composite events* of that type, one for
    each match, and queries after it read them by naming the type. Arguments are as for
    :func:`~cepheid.query`.

    Raises:
        QuerySyntaxError: the text is not a script.
        QuerySemanticError: a query makes no sense, or reads what it or a later one makes.

    >>> thefts = script('''
    ...     PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag] WITHIN 60
    ...     RETURN Theft(tag = a.tag, door = c.door);
    ...
    ...     PATTERN SEQ(Theft s, Theft t) WHERE [door] WITHIN 30
    ...     RETURN Gang(door = s.door, first = s.tag, second = t.tag)
    ... ''')
    >>> events = {
    ...     "ts": [1, 2, 10, 20],
    ...     "type": ["Shelf", "Shelf", "Exit", "Exit"],
    ...     "tag": [7, 8, 7, 8],
    ...     "door": ["", "", "north", "north"],
    ... }
    >>> found = thefts.match(events)
    >>> found
    Theft: 2 matches
    Gang: 1 match
    >>> found["Gang"].to_arrow().to_pylist()
    [{'start': 10, 'end': 20, 'door': 'north', 'first': 7, 'second': 8}]
    >>> found["Gang"].bindings()
    [{'s': 'Theft[0]', 't': 'Theft[1]'}]
    """
    if not isinstance(text, str):
        raise OptionError(f"a script is a text, not {type(text).__name__}")
    return CompiledScript(parse_script(text, source, parameters), text, source)


def read_script(
    path: str | Path, *, parameters: Mapping[str, ParameterValue] = NO_PARAMETERS
) -> CompiledScript:
    """A script from a file, usually called ``something.sase``."""
    return script(read_text(path), parameters=parameters, source=Path(path).name)


class CompiledScript:
    """A script that can be run. Make one with :func:`script`."""

    def __init__(self, trees: Sequence[ast.Query], text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._linked = link_queries(trees, text, source)
        self._queries = [CompiledQuery(tree, text, source) for tree in trees]

    @property
    def queries(self) -> dict[str, ast.Query]:
        """The syntax tree of each query, by its name."""
        return {each.name: each.query for each in self._linked}

    @property
    def reads(self) -> dict[str, list[str]]:
        """The names of the queries whose composite events each query reads.

        >>> script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X y)").reads
        {'X': [], 'query_2': ['X']}
        """
        names = [each.name for each in self._linked]
        return {each.name: [names[ix] for ix in each.reads] for each in self._linked}

    def __str__(self) -> str:
        return ";\n\n".join(print_query(each.query) for each in self._linked)

    def __repr__(self) -> str:
        return f"cepheid.script({str(self)!r})"

    def explain(
        self,
        schema: Any = None,
        *,
        evaluation: str = AUTO,
        time: str = "ts",
        type: str | None = "type",
    ) -> str:
        """How each query is understood, what it reads and what runs it.

        With a schema attributes are checked too, also those of composite events.

        >>> print(script("PATTERN A a RETURN X(v = a.v); PATTERN SEQ(X x, X y)").explain())
        --- X: query 1 of 2, reads the events
        PATTERN A a
        RETURN X(a.v AS v)
        ...
        --- query_2: query 2 of 2, reads the events and X of query 1
        PATTERN SEQ(X x, X y)
        ...
        """
        from cepheid.planning.registry import EVALUATIONS

        schemas = self._schemas(schema_of(schema), time, type)
        texts = []
        for number, each in enumerate(self._linked):
            analysed = analyse(each.query, schemas[number], self._text, self._source)
            usable = [each for each in EVALUATIONS if not each.has_confidence]
            choice = choose_evaluation(analysed, evaluation, usable)
            read = [f"{self._linked[ix].type_name} of query {ix + 1}" for ix in each.reads]
            heading = (
                f"--- {each.name}: query {number + 1} of {len(self._linked)}, reads "
                + list_words(["the events", *read])
            )
            texts.append(f"{heading}\n{explain(analysed, choice)}")
        return "\n\n".join(texts)

    def analysed(
        self, events: Schema, time: str = "ts", type: str | None = "type"
    ) -> list[AnalysedQuery]:
        """Each query as it is about such events and what earlier queries make of them."""
        schemas = self._schemas(events, time, type)
        return [
            analyse(each.query, schema, self._text, self._source)
            for each, schema in zip(self._linked, schemas, strict=True)
        ]

    def match(
        self,
        events: Any,
        *,
        time: str = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> ScriptMatches:
        """All matches of each query over the events; keywords are those of a query's ``match``.

        Of a Spark DataFrame it is a mapping of each query's name to a DataFrame, and of a
        streaming one a DataFrame of the matches of all queries.
        """
        if are_spark_frames(events):
            over_frames = import_module("cepheid.spark").match_script
            return over_frames(  # type: ignore[no-any-return]
                self,
                events,
                time=time,
                type=type,
                tie_break=tie_break,
                evaluation=evaluation,
                output=output,
                time_unit=time_unit,
                schema=schema,
                **options,
            )
        from cepheid.matches.script_matches import ScriptMatches
        from cepheid.sessions.script_run import run_script

        run, ordered = self._over(
            events, evaluation, time, type, tie_break, output, time_unit, schema, options
        )
        answers = run_script(run, ordered)
        return ScriptMatches({each.planned.each.name: each.matches for each in answers})

    def diagnose(
        self,
        events: Any,
        query: str,
        *,
        time: str = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        time_unit: str | None = None,
        schema: Any = None,
    ) -> Diagnosis:
        """Why the query of this name finds nothing, or too little, over what it reads.

        >>> found = script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X y) WHERE [v]")
        >>> events = {"ts": [1, 2], "type": ["A", "A"], "v": [1, 2]}
        >>> print(found.diagnose(events, "query_2"))
        PATTERN SEQ(X x, X y)
        WHERE [v]
        <BLANKLINE>
        No match among 4 events.
        ...
        """
        from cepheid.explain.diagnosis import diagnose
        from cepheid.sessions.merged_stream import name_of_row
        from cepheid.sessions.script_run import run_script

        names = [each.name for each in self._linked]
        if query not in names:
            near = closest(query, names)
            raise OptionError(
                f"the script has no query {query!r}; it has {list_words(names)}"
                + (f". Did you mean {near[0]!r}?" if near else "")
            )
        number = names.index(query)
        run, ordered = self._over(
            events, evaluation, time, type, tie_break, "all", time_unit, schema, {}
        )
        answer = run_script(run, ordered, upto=number)[-1]
        tree, window = self._linked[number].query, answer.planned.window
        found = diagnose(tree, answer.stream, window, compiled=evaluation != REFERENCE)
        return found.with_rows_named(lambda row: name_of_row(row, names))

    def session(
        self,
        *,
        time: str = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> ScriptSession:
        """A session over a stream of events that comes in batches; keywords as for ``match``.

        >>> session = script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X y)").session()
        >>> session.feed({"ts": [1], "type": ["A"], "v": [5]})
        X: 1 match
        query_2: 0 matches
        >>> session.feed({"ts": [4], "type": ["A"], "v": [6]})["query_2"].bindings()
        [{'x': 'X[0]', 'y': 'X[1]'}]
        """
        return self._session(
            None, evaluation, time, type, tie_break, output, time_unit, schema, options
        )

    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        time: str = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> ScriptSession:
        """The session that goes on from a snapshot of the same script, with the same keywords.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or of another script.
        """
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return self._session(
            snapshot, evaluation, time, type, tie_break, output, time_unit, schema, options
        )

    def _session(
        self,
        snapshot: bytes | memoryview | None,
        evaluation: str,
        time: str,
        type: str | None,
        tie_break: str | Sequence[str] | None,
        output: str,
        time_unit: str | None,
        schema: Any,
        options: Mapping[str, Any],
    ) -> ScriptSession:
        from cepheid.sessions.script_stream import ScriptSession
        from cepheid.sessions.stream import StreamSettings

        run = self._script(evaluation, time, type, output, options, in_batches=True)
        settings = StreamSettings(
            time, type, tie_break, time_unit, schema_of(schema), output, run.options
        )
        return ScriptSession(run, settings, snapshot)

    def _over(
        self,
        events: Any,
        evaluation: str,
        time: str,
        type: str | None,
        tie_break: str | Sequence[str] | None,
        output: str,
        time_unit: str | None,
        schema: Any,
        options: Mapping[str, Any],
    ) -> tuple[Script, Events]:
        from cepheid.events.events import order_events

        run = self._script(evaluation, time, type, output, options)
        ordered = order_events(
            events,
            time=time,
            type=type,
            tie_break=tie_break,
            time_unit=time_unit,
            schema=schema_of(schema),
        )
        self._warn_of_absent_types(ordered)
        return run, ordered

    def _script(
        self,
        evaluation: str,
        time: str,
        type: str | None,
        output: str,
        options: Mapping[str, Any],
        in_batches: bool = False,
    ) -> Script:
        from cepheid.sessions.merged_stream import Columns
        from cepheid.sessions.script_plan import Script

        check_output(output)
        check_reserved(self._linked, time, type, self._text, self._source)
        return Script(
            self._linked,
            self._text,
            self._source,
            Columns(time, type),
            output,
            read_options(options),
            partial(self._analysed, evaluation, in_batches),
            lambda number, events: self._queries[number].window_ticks(events),
        )

    def _analysed(
        self, evaluation: str, in_batches: bool, number: int, schema: Schema
    ) -> tuple[AnalysedQuery, str]:
        from cepheid.planning.registry import EVALUATIONS

        analysed = analyse(self._linked[number].query, schema, self._text, self._source)
        usable = [
            each
            for each in EVALUATIONS
            if (each.has_session or not in_batches) and not each.has_confidence
        ]
        return analysed, choose_evaluation(analysed, evaluation, usable).evaluation.name

    def _schemas(
        self, events: Schema | None, time: str, type: str | None
    ) -> Sequence[Schema | None]:
        """The schema of what each query reads, where that of the events is known."""
        if events is None:
            return [None] * len(self._linked)
        check_reserved(self._linked, time, type, self._text, self._source)
        schemas: list[Schema] = []
        kinds: dict[int, dict[str, Kind]] = {}
        for number, each in enumerate(self._linked):
            schema = schema_read(number, self._linked, events, kinds, self._text, self._source)
            schemas.append(schema)
            if each.is_read:
                kinds[number] = kinds_of_items(each, schema, time, type)
        return schemas

    def _warn_of_absent_types(self, events: Events) -> None:
        made: set[str] = set()
        for each in self._linked:
            named = {name for part, _ in ast.components(each.query.pattern) for name in part.types}
            warn_of_absent_types(named, events.type_names, made, stacklevel=5)
            made |= {each.type_name} if each.type_name else set()
