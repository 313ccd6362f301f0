"""The columns that a query needs of its events: no others leave a Parquet file or the JVM."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.language import syntax as ast


def needed_columns(
    query: ast.Query,
    columns: Sequence[str],
    always: Sequence[str],
    *,
    whole_events: bool | None = None,
) -> list[str]:
    """Of these columns those that the query reads or returns, in their order, and ``always``.

    A variable that is returned as a whole, as all are without RETURN, needs every column;
    ``whole_events`` says whether it shall be, whatever the query returns.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x RETURN b.y")
    >>> needed_columns(query, ["ts", "type", "id", "x", "y", "z"], ["ts", "type"])
    ['ts', 'type', 'id', 'x', 'y']
    """
    items = query.returns.items if query.returns is not None else ()
    nodes = [node for item in items for node in item.expression.walk()]
    if whole_events is None:
        is_whole = any(isinstance(node, ast.EventReference) for node in nodes)
        whole_events = query.returns is None or is_whole
    if whole_events:
        return list(columns)
    if query.condition is not None:
        nodes.extend(query.condition.walk())
    named = {getattr(node, "attribute", None) for node in nodes} | {*always}
    return [name for name in columns if name in named]
