"""The columns that a query needs of its events: no others leave the JVM."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.language import syntax as ast


def needed_columns(query: ast.Query, columns: Sequence[str], always: Sequence[str]) -> list[str]:
    """Of these columns those that the query reads or returns, in their order, and ``always``.

    A variable that is returned as a whole, as all are without RETURN, needs every column.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x RETURN b.y")
    >>> needed_columns(query, ["ts", "type", "id", "x", "y", "z"], ["ts", "type"])
    ['ts', 'type', 'id', 'x', 'y']
    """
    if query.returns is None:
        return list(columns)
    nodes = [node for item in query.returns.items for node in item.expression.walk()]
    if any(isinstance(node, ast.EventReference) for node in nodes):
        return list(columns)
    if query.condition is not None:
        nodes.extend(query.condition.walk())
    named = {getattr(node, "attribute", None) for node in nodes} | {*always}
    return [name for name in columns if name in named]
