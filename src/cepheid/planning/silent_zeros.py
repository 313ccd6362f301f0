"""Warnings about queries that find nothing, whatever the events are, or because of a type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from cepheid.analysis.needs import warn_of_absent_types
from cepheid.analysis.scripts import ScriptQuery
from cepheid.errors import list_words, warn
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_expression
from cepheid.reference.interpreter import Interpreter

_NEVER_OF_ITSELF = ("!=", "<", ">")
_MOST_TYPES = 10


def warn_of_silent_zeros(
    queries: Sequence[ScriptQuery], text: str | None, types: Collection[str]
) -> None:
    """Warn of conditions that are never true, and of types that no event has."""
    StreamCheck(queries, text).end(types)


class StreamCheck:
    """Warns of conditions that are never true and, at the end of a stream, of absent types."""

    def __init__(self, queries: Sequence[ScriptQuery], text: str | None) -> None:
        self._queries = queries
        self._types: set[str] = set()
        self._has_ended = False
        for each in queries:
            warn_of_constants(each.query, text)

    def read(self, types: Iterable[str]) -> None:
        """Remember the types of some events."""
        self._types.update(types)

    def end(self, types: Iterable[str] = ()) -> None:
        """Warn, once, of types that no event of the stream had; the last events have ``types``."""
        self.read(types)
        queries = () if self._has_ended else self._queries
        self._has_ended = True
        made: set[str] = set()
        for each in queries:
            _warn_of_types(each.query, self._types, made)
            made |= {each.type_name} if each.type_name and len(queries) > 1 else set()


def warn_of_constants(query: ast.Query, text: str | None) -> None:
    """Warn of conditions that are never true, and of names in double quotes."""
    if query.condition is None:
        return
    quoted = [node for node in query.condition.walk() if isinstance(node, ast.Comparison | ast.In)]
    for node in quoted:
        name = _name_in_quotes(node, text)
        if name is not None:
            warn(
                f"the condition {print_expression(node, query)} compares two constants; double "
                f"quotes are for strings. Write an attribute with its variable: "
                f"{next(iter(ast.components(query.pattern)))[0].variable}.{name}"
            )
            return
    for part in _conjuncts(query.condition):
        if _is_never_true(part):
            warn(
                f"the condition {print_expression(part, query)} is never true, so the query finds "
                "nothing"
            )


def _conjuncts(condition: ast.Expression) -> tuple[ast.Expression, ...]:
    return condition.operands if isinstance(condition, ast.And) else (condition,)


def _is_never_true(node: ast.Expression) -> bool:
    match node:
        case ast.Comparison(operator, left, right) if left == right and variables_in(node):
            return operator in _NEVER_OF_ITSELF
    reads_events = any(
        isinstance(part, ast.Equivalence | ast.Call | ast.Parameter) for part in node.walk()
    )
    if reads_events or variables_in(node):
        return False
    return Interpreter({}, {}).truth(node) is not True


def _name_in_quotes(node: ast.Node, text: str | None) -> str | None:
    """The string in double quotes that is compared with a constant, if it looks like a name."""
    match node:
        case ast.Comparison(_, ast.Literal(str(name)) as left, ast.Literal()):
            given = left
        case ast.In(ast.Literal(str(name)) as left, options) if all(
            isinstance(option, ast.Literal) for option in options
        ):
            given = left
        case _:
            return None
    if text is None or given.span is None or text[given.span.start] not in '"“”':
        return None
    return name if name.isidentifier() else None


def _warn_of_types(query: ast.Query, types: Collection[str], made: Collection[str]) -> None:
    """Warn of types without events; of those that a match can do without, only if misspelt."""
    named = {name for part, _ in ast.components(query.pattern) for name in part.types}
    warned = warn_of_absent_types(named, types, made)
    there = {*types, *made}
    if not there:
        return
    for part in _required(query.pattern):
        if there.isdisjoint(part.types) and warned.isdisjoint(part.types):
            shown = list_words(sorted(there)[:_MOST_TYPES])
            hint = ""
            if part.types == ("ANY",):
                hint = f". ANY needs the types in brackets: ANY(A, B) {part.variable}"
            none = list_words([f"'{name}'" for name in part.types], "or")
            warn(f"no event has type {none}; there are events of type {shown}{hint}")


def _required(pattern: ast.Pattern) -> Iterator[ast.Component]:
    """The components that every match binds."""
    match pattern:
        case ast.Component(_, _, bounds):
            if bounds is None or bounds.least > 0:
                yield pattern
        case ast.Sequence(parts) | ast.Conjunction(parts):
            for part in parts:
                yield from _required(part)
