"""Scripts: several queries in one text; later ones read the composite events of earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from cepheid.analysis.limits import check_limits
from cepheid.api import CompiledQuery, query, read_text
from cepheid.compiled import Compiled
from cepheid.engines.base.evaluation import AUTO, REFERENCE
from cepheid.errors import DEFAULT_SOURCE, EvaluationError, OptionError, list_words, no_such_query
from cepheid.events.sources.spark_frames import SPARK, are_spark_frames, refuse_streams
from cepheid.language import syntax as ast
from cepheid.language.grouping import NO_GROUPS, GroupBy
from cepheid.language.limits import read_limits
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS, parse_script
from cepheid.row_patterns.parser import is_row_pattern
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.schema import schema_of
from cepheid.sessions.run_settings import MatchKeywords
from cepheid.sessions.script import Script
from cepheid.visible import visible

if TYPE_CHECKING:
    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.matches.matches import ScriptMatches
    from cepheid.sessions.stream import ScriptStream  # noqa: F401 - in a base class


def script(
    text: str,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    source: str = DEFAULT_SOURCE,
    limits: Mapping[str, int] | None = None,
) -> CompiledScript:
    """A script: queries with ``;`` between them.

    A query that says ``RETURN Type(item, …)`` makes *composite events* of that type, one for
    each match, and queries after it read them by naming the type. Arguments are as for
    :func:`~cepheid.query`.

    Raises:
        LimitError: the script is too large.
        QuerySyntaxError: the text is not a script.
        QuerySemanticError: a query has no meaning, or reads events that it or a later query makes.

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
        raise OptionError(f"a script is a string, not {type(text).__name__}")
    if is_row_pattern(text):
        raise EvaluationError(
            "MATCH_RECOGNIZE cannot be part of a script, which passes on composite events: "
            "cep.sql() joins and nests clauses, and cep.rules() runs "
            "several queries over the same rows"
        )
    allowed = read_limits(limits)
    trees = parse_script(text, source, parameters, allowed)
    check_limits(trees, allowed)
    return CompiledScript(trees, text, source)


def any_query(
    text: str,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
    source: str = DEFAULT_SOURCE,
    limits: Mapping[str, int] | None = None,
) -> CompiledQuery | CompiledScript | RowPatternQuery:
    """A query in the language that its text is in, or a script if there are several.

    Arguments are as for :func:`~cepheid.query`.

    >>> any_query("PATTERN A a; PATTERN B b").queries.keys()
    dict_keys(['query_1', 'query_2'])
    """
    # Without a semicolon there is no need to parse it twice.
    is_single = is_row_pattern(text) or ";" not in text
    if not is_single:
        is_single = len(parse_script(text, source, parameters, read_limits(limits))) == 1
    if is_single:
        return query(text, parameters=parameters, group_by=group_by, source=source, limits=limits)
    if group_by:
        raise OptionError(
            "group_by (--group-by) needs a single query; in a script, add the condition "
            "b[i].x = b[i-1].x to the query with the variable"
        )
    return script(text, parameters=parameters, source=source, limits=limits)


def read_script(
    path: str | Path,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    limits: Mapping[str, int] | None = None,
) -> CompiledScript:
    """A script from a file, usually called ``something.sase``."""
    text, source = read_text(path), Path(path).name
    return script(text, parameters=parameters, source=source, limits=limits)


class CompiledScript(Compiled["ScriptStream"]):
    """A script that can be run. Make one with :func:`script`."""

    def __init__(self, trees: Sequence[ast.Query], text: str, source: str) -> None:
        super().__init__(Script.of_queries(trees, text, source))

    @property
    def queries(self) -> dict[str, ast.Query]:
        """The syntax tree of each query, by its name."""
        return {each.name: each.query for each in self.script.queries}

    @property
    def reads(self) -> dict[str, list[str]]:
        """For each query, the names of the queries that make composite events for it.

        >>> script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X y)").reads
        {'X': [], 'query_2': ['X']}
        """
        names = list(self.queries)
        return {each.name: [names[ix] for ix in each.reads] for each in self.script.queries}

    def __repr__(self) -> str:
        return f"cepheid.script({str(self)!r})"

    def explain(
        self,
        schema: Any = None,
        *,
        evaluation: str = AUTO,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
    ) -> str:
        """What each query reads, how it is understood and which evaluation runs it.

        With a schema, attributes are checked too, including those of composite events.

        >>> print(script("PATTERN A a RETURN X(v = a.v); PATTERN SEQ(X x, X y)").explain())
        --- X: query 1 of 2, reads the events
        PATTERN A a
        RETURN X(a.v AS v)
        ...
        --- query_2: query 2 of 2, reads the events and X of query 1
        PATTERN SEQ(X x, X y)
        ...
        """
        from cepheid.explain.explain import explain  # it compiles tables, which needs NumPy

        settings = self.settings({"evaluation": evaluation, "time": time, "type": type})
        queries = self.script.queries
        schemas = self.script.schemas(schema_of(schema), settings.read)
        texts = []
        for number, each in enumerate(queries):
            analysed = self.script.analysed(number, schemas[number])
            choice = self.script.choose(analysed, settings)
            read = [f"{queries[ix].type_name} of query {ix + 1}" for ix in each.reads]
            heading = f"--- {each.name}: query {number + 1} of {len(queries)}, reads " + list_words(
                ["the events", *read]
            )
            texts.append(f"{visible(heading)}\n{explain(choice)}")
        return "\n\n".join(texts)

    def match(self, events: Any, **keywords: Unpack[MatchKeywords]) -> ScriptMatches:
        """All matches of each query over the events.

        The keywords are those of :meth:`cepheid.CompiledQuery.match`, except those for uncertain
        times. Over a Spark DataFrame the result is a mapping of each query's name to a DataFrame;
        over a streaming one it is a DataFrame with the matches of all queries.
        """
        if are_spark_frames(events):
            return import_module(SPARK).match(self, events, **keywords)  # type: ignore[no-any-return]
        from cepheid.matches.matches import ScriptMatches

        answers = self.run(events, self.settings(keywords))
        return ScriptMatches({each.planned.each.name: each.matches for each in answers})

    def count(self, events: Any, **keywords: Unpack[MatchKeywords]) -> dict[str, int]:
        """The exact number of matches of each query; keywords as for :meth:`match`.

        Matches that no later query reads are not built, if they can be counted otherwise.

        >>> found = script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X+ y[], X z)")
        >>> found.count({"ts": list(range(72)), "type": ["A"] * 72, "v": [0] * 72})
        {'X': 72, 'query_2': 4722366482869645211067}
        """
        if are_spark_frames(events):
            refuse_streams(events)
            found = import_module(SPARK).match(self, events, **keywords)
            return {name: int(frame.count()) for name, frame in found.items()}
        from cepheid.sessions.run import count_script

        return count_script(self.script, *self._read(events, self.settings(keywords)))

    def diagnose(self, events: Any, query: str, **keywords: Unpack[MatchKeywords]) -> Diagnosis:
        """Why the query with this name finds nothing, or too little, in the events that it reads.

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
        from cepheid.sessions.run import run_script
        from cepheid.sessions.scripts.merged_stream import name_of_row

        names = list(self.queries)
        if query not in names:
            raise OptionError(no_such_query(query, names))
        settings = self.settings(keywords, without=["output"])
        read = self._read(events, settings)
        answer = run_script(self.script, *read, upto=names.index(query))[-1]
        found = diagnose(
            self.queries[query],
            answer.stream,
            answer.planned.window,
            compiled=settings.evaluation != REFERENCE,
        )
        return found.with_rows_named(lambda row: name_of_row(row, names))
