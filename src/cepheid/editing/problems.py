"""All faults of a query text, with their places: what an editor underlines."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from cepheid.analysis.limits import check_limits
from cepheid.analysis.names import type_span
from cepheid.analysis.needs import unbounded_components, unbounded_lines
from cepheid.editing.known_events import DIRECTIVE, KnownEvents
from cepheid.editing.tokens import blanked, clause_places, split_fields
from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    Fault,
    QueryError,
    QuerySyntaxError,
    Span,
    closest,
)
from cepheid.events.read_options import ReadOptions
from cepheid.language import syntax as ast
from cepheid.language.limits import DEFAULT_LIMITS
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import parse_script
from cepheid.row_patterns.parser import is_row_pattern
from cepheid.row_patterns.parser import parse as parse_clause
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.sql.tokens import DUCKDB, Mark
from cepheid.rule_sets.reading import split_front_matter
from cepheid.sessions.script import Script


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault or a warning: where it is, what is wrong, and what to do."""

    start: int
    end: int
    message: str
    advice: str = ""
    is_warning: bool = False
    candidates: tuple[str, ...] = ()


def problems(text: str, events: KnownEvents | CepheidError | None = None) -> list[Problem]:
    """All faults of a query, a script, a rule or SQL, and warnings, in the order of the text.

    >>> [(each.message, each.start) for each in problems("PATTERN SEQ(A a, B b) WHERE c.x > d.y")]
    [("the pattern has no variable 'c'", 28), ("the pattern has no variable 'd'", 34)]
    """
    found: list[Problem] = []
    known = None if isinstance(events, CepheidError) else events
    if isinstance(events, CepheidError):
        found.append(_at_directive(text, events))
    if not text.strip():
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        try:
            fields, _ = split_front_matter(text)
            parameters = fields.get("parameters") or {}
            query = _without_fields(text)
            if is_row_pattern(query):
                found += _of_rows(query, parameters, known)
            else:
                found += _of_script(query, parameters, known)
        except QueryError as error:
            found += _faults(error, text)
        except CepheidError as error:
            found.append(Problem(0, _first_line(text), str(error)))
    unique = dict.fromkeys(found)
    return sorted(unique, key=lambda each: (each.start, each.is_warning))


def _of_script(
    text: str, parameters: dict[str, ParameterValue], known: KnownEvents | None
) -> Iterator[Problem]:
    try:
        trees = parse_script(text, parameters=parameters)
    except QuerySyntaxError:
        yield from _of_each_query(text, parameters)
        return
    check_limits(trees, DEFAULT_LIMITS)
    for tree in trees:
        for component, line in zip(unbounded_components(tree), unbounded_lines(tree), strict=True):
            yield _warning(component.span, text, line)
    if known is not None and known.types:
        made = {tree.returns.type_name for tree in trees if tree.returns is not None}
        yield from _absent_types(trees, text, known, made)
    script = Script.of_queries(trees, text, "query")
    if known is None:
        for number in range(len(trees)):
            yield from _analysed(script, number, None, text)
        return
    reading = ReadOptions(known.time, known.type)
    try:
        schemas = script.schemas(known.schema, reading)
    except QueryError as error:
        yield from _faults(error, text)
        return
    for number, schema in enumerate(schemas):
        yield from _analysed(script, number, schema, text)


def _analysed(script: Script, number: int, schema: object, text: str) -> Iterator[Problem]:
    try:
        script.analysed(number, schema)  # type: ignore[arg-type]
    except QueryError as error:
        yield from _faults(error, text)


def _of_each_query(text: str, parameters: dict[str, ParameterValue]) -> Iterator[Problem]:
    """The syntax errors of each query, since the parser stops at the first."""
    for start, end in _statements(text):
        part = blanked(text[:start]) + text[start:end]
        try:
            parse_script(part, parameters=parameters)
        except QueryError as error:
            yield from _faults(error, text)


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Where the queries of a script are, judged by semicolons."""
    tokens = list(DUCKDB.tokens(text))
    for is_end, group in groupby(tokens, lambda token: token.is_sign(";")):
        part = list(group)
        if not is_end and any(token.mark is not Mark.SPACE for token in part):
            yield part[0].start, part[-1].end


def _absent_types(
    trees: tuple[ast.Query, ...], text: str, known: KnownEvents, made: set[str | None]
) -> Iterator[Problem]:
    for tree in trees:
        for component, _ in ast.components(tree.pattern):
            for name in component.types:
                if name not in known.types and name not in made:
                    where = "" if known.is_whole else "the beginning of "
                    problem = _warning(
                        type_span(component, name),
                        text,
                        f"no event in {where}{known.name} has type '{name}'",
                    )
                    near = closest(name, known.types)
                    advice = f"Did you mean '{near[0]}'?" if near else ""
                    yield replace(problem, advice=advice, candidates=near)


def _of_rows(
    text: str, parameters: dict[str, ParameterValue], known: KnownEvents | None
) -> Iterator[Problem]:
    places = clause_places(text)
    if not places:
        parse_clause(text, parameters=parameters)
    is_single = len(places) == 1 and _is_plain(text, *places[0])
    for start, end in places:
        clause = blanked(text[:start]) + text[start:end]
        own = {name: value for name, value in parameters.items() if name in clause}
        try:
            tree = parse_clause(clause, parameters=own)
            if known is not None and is_single:
                RowPatternQuery(tree, text).check(known.schema)
        except QueryError as error:
            yield from _faults(error, text)


def _is_plain(text: str, start: int, end: int) -> bool:
    """Whether the rows of the clause are those of the events."""
    try:
        parse_clause(text)
    except QueryError:
        return not text[:start].strip() and not text[end:].strip()
    return True


def _without_fields(text: str) -> str:
    fields, query = split_fields(text)
    return blanked(fields) + query


def _faults(error: QueryError, text: str) -> Iterator[Problem]:
    for fault in error.faults:
        yield _problem(fault, text)


def _problem(fault: Fault, text: str) -> Problem:
    start, end = _range(fault.span, text)
    return Problem(start, end, fault.message, fault.advice(), candidates=fault.candidates)


def _warning(span: Span | None, text: str, message: str) -> Problem:
    return Problem(*_range(span, text), message, is_warning=True)


def _range(span: Span | None, text: str) -> tuple[int, int]:
    """A place that is not empty, if the text is not: at its end it is the last character."""
    if span is None:
        return 0, _first_line(text)
    start, end = min(span.start, len(text)), min(span.end, len(text))
    if text[start:end].strip():
        return start, end
    before = len(text[:start].rstrip())
    return (before - 1, before) if before else (0, min(1, len(text)))


def _at_directive(text: str, error: CepheidError) -> Problem:
    found = DIRECTIVE.search(text)
    start, end = found.span() if found else (0, _first_line(text))
    return Problem(start, end, str(error), is_warning=True)


def _first_line(text: str) -> int:
    line = text.find("\n")
    return len(text) if line < 0 else line
