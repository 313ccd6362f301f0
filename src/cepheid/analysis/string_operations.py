"""The string operations that a query uses, apart from equality."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.aggregates import AGGREGATES
from cepheid.analysis.model import AnalysedQuery
from cepheid.language import syntax as ast
from cepheid.schema import Kind

RANK = "rank"
STRING_FUNCTIONS = ("lower", "upper", "length")
_EQUALITIES = ("=", "!=")


def string_operations(query: AnalysedQuery) -> frozenset[str]:
    """The string functions that conditions call, and ``rank`` if they order strings.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.schema import Schema
    >>> schema = Schema.declared({"A": {"s": "string"}, "B": {"s": "string"}})
    >>> text = "PATTERN SEQ(A a, B b) WHERE a.s < upper(b.s)"
    >>> sorted(string_operations(analyse(parse(text), schema)))
    ['rank', 'upper']
    """
    return frozenset(
        operation
        for alternative in query.alternatives
        for clause in (
            *alternative.clauses,
            *(clause for negated in alternative.negations for clause in negated.clauses),
        )
        for literal in clause.literals
        for node in literal.walk()
        for operation in _asked(node, query)
    )


def _asked(node: ast.Node, query: AnalysedQuery) -> Iterator[str]:
    match node:
        case ast.Call(function, _) if function.lower() in STRING_FUNCTIONS:
            yield function.lower()
        case ast.Comparison(operator, _, _) if operator in _EQUALITIES:
            pass
        case ast.Aggregate(function, _, _, _) if not AGGREGATES[function].compares:
            pass
        case ast.Comparison() | ast.Between() | ast.Aggregate():
            if any(_is_string(each, query) for each in node.walk()):
                yield RANK


def _is_string(node: ast.Node, query: AnalysedQuery) -> bool:
    attribute = getattr(node, "attribute", None)
    assert query.schema is not None
    return attribute is not None and query.schema.kind(attribute) is Kind.STRING
