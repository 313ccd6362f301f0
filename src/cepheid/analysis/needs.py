"""What a query needs of its events: columns, string operations, and types that occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cepheid.aggregates import AGGREGATES
from cepheid.analysis.kinds import attribute_kind
from cepheid.analysis.model import AnalysedQuery, Clause
from cepheid.errors import closest, list_words, warn
from cepheid.functions import EXTREMES, find_function
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions
from cepheid.language.printer import print_pattern
from cepheid.schema import Kind, sources_of

RANK = "rank"
STRING_FUNCTIONS = ("lower", "upper", "length")


def relevant_types(query: AnalysedQuery) -> frozenset[str] | None:
    """The types of the events that some component can bind; None if all events matter."""
    counts_events = query.query.measure is not ast.WindowMeasure.TIME
    if not query.query.strategy.skips or counts_events or reads_positions(query.query):
        return None
    return frozenset(
        name
        for alternative in query.alternatives
        for component in (*alternative.components, *(n.component for n in alternative.negations))
        for name in component.types
    )


def needed_columns(
    query: ast.Query,
    columns: Sequence[str],
    always: Sequence[str],
    *,
    whole_events: bool | None = None,
) -> list[str]:
    """The columns that the query reads or returns, and ``always``, in the order of ``columns``.

    Only these are read from a Parquet file or leave the JVM.
    A query that returns whole events, as it does without RETURN, needs every column.
    ``whole_events`` overrides what the query returns.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x RETURN b.y")
    >>> needed_columns(query, ["ts", "type", "id", "x", "y", "z"], ["ts", "type"])
    ['ts', 'type', 'id', 'x', 'y']
    """
    named = attributes_named(query, whole_events=whole_events)
    return [name for name in columns if named is None or name in named or name in always]


def attributes_named(query: ast.Query, *, whole_events: bool | None = None) -> set[str] | None:
    """The attributes that a query names, or None if it returns whole events."""
    nodes = [*query.returns.walk()] if query.returns is not None else []
    if whole_events is None:
        is_whole = any(isinstance(node, ast.EventReference) for node in nodes)
        whole_events = query.returns is None or is_whole
    if whole_events:
        return None
    if query.condition is not None:
        nodes.extend(query.condition.walk())
    named = (getattr(node, "attribute", None) for node in nodes)
    return {source for name in named if name is not None for source in sources_of(name)}


def string_operations(query: AnalysedQuery) -> frozenset[str]:
    """The string functions that generated code calls, and ``rank`` if it orders strings.

    Conditions on one event and other functions of strings, such as ``contains``, are computed over
    columns.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.schema import Schema
    >>> schema = Schema.declared({"A": {"s": "string"}, "B": {"s": "string"}})
    >>> text = "PATTERN SEQ(A a, B b) WHERE a.s < upper(b.s)"
    >>> sorted(string_operations(analyse(parse(text), schema)))
    ['rank', 'upper']
    >>> text = "PATTERN SEQ(A a, B b) WHERE contains(lower(a.s), 'x') AND lower(b.s) = 'y'"
    >>> sorted(string_operations(analyse(parse(text), schema)))
    []
    """
    return frozenset(
        operation
        for alternative in query.alternatives
        for clause in (
            *alternative.clauses,
            *(clause for negated in alternative.negations for clause in negated.clauses),
        )
        if not _is_on_one_event(clause)
        for literal in clause.literals
        for node in _generated(literal)
        for operation in _asked(node, query)
    )


def _is_on_one_event(clause: Clause) -> bool:
    """Whether the clause is tested on one event, or on each event of a list, alone."""
    if clause.least_lengths or any(first > 1 for first in clause.ranges.values()):
        return False
    read = set()
    for literal in clause.literals:
        for node in literal.walk():
            match node:
                case ast.Attribute(variable) | ast.Element(variable, ast.Index.CURRENT, _):
                    read.add(variable)
                case ast.Element() | ast.Length() | ast.Aggregate():
                    return False
    return len(read) == 1 and read == clause.variables


def _generated(node: ast.Node) -> Iterator[ast.Node]:
    """The node and those inside of it that generated code may compute."""
    if isinstance(node, ast.Call):
        function = find_function(node.function)
        takes_strings = function is not None and function.parameters[:1] == (Kind.STRING,)
        if takes_strings and node.function.lower() not in STRING_FUNCTIONS:
            return
    yield node
    for child in node.children():
        yield from _generated(child)


def _asked(node: ast.Node, query: AnalysedQuery) -> Iterator[str]:
    match node:
        case ast.Call(function, _) if function.lower() in STRING_FUNCTIONS:
            yield function.lower()
        case ast.Call(function, arguments) if function.lower() in EXTREMES:
            if any(_is_string(each, query) for part in arguments for each in part.walk()):
                yield RANK
        case ast.Comparison("=" | "!=", _, _):
            pass
        case ast.Aggregate(function, _, _, _) if not AGGREGATES[function].compares:
            pass
        case ast.Comparison() | ast.Between() | ast.Aggregate():
            if any(_is_string(each, query) for each in node.walk()):
                yield RANK


def _is_string(node: ast.Node, query: AnalysedQuery) -> bool:
    attribute = getattr(node, "attribute", None)
    assert query.schema is not None
    if attribute is None:
        return isinstance(node, ast.Literal) and isinstance(node.value, str)
    return attribute_kind(attribute, query.schema) is Kind.STRING


def unbounded_components(query: ast.Query) -> list[ast.Component]:
    """The Kleene components of which every choice of events of the stream is a separate match.

    Neither a window nor an upper bound limits their number.
    """
    any_match = query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
    return [
        component
        for component, negated in ast.components(query.pattern)
        if any_match and query.window is None and not negated
        if component.bounds is not None and component.bounds.most is None
    ]


def unbounded_lines(query: ast.Query) -> list[str]:
    """A warning for each component that nothing bounds.

    >>> from cepheid.language.parser import parse
    >>> unbounded_lines(parse("PATTERN SEQ(A a, B+ b[])"))[0]
    "nothing bounds 'B+ b[]': n events for it have 2^n - 1 choices, and each is a match ..."
    """
    return [
        f"nothing bounds '{print_pattern(each)}': n events for it have 2^n - 1 choices, and each "
        "is a match of its own; add WITHIN, an upper bound or skip_till_next_match"
        for each in unbounded_components(query)
    ]


def warn_of_absent_types(
    named: set[str], known: Iterable[str], made: Iterable[str] = ()
) -> set[str]:
    """Warn of types that no event has, if their names are close to types that events have.

    ``made`` are the types that queries of a script make. Returns the types that it warned of.
    """
    warned = set()
    there = {*known, *made}
    unused = there - named
    for name in sorted(named - there):
        near = closest(name, unused | {*made})
        if near:
            warn(
                f"no event has type '{name}'; there are events of type "
                f"{list_words(sorted(unused | {*made})[:10])}. Did you mean '{near[0]}'?"
            )
            warned.add(name)
    return warned
