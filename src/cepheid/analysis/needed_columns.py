"""The columns that a query needs: only these are read from a Parquet file or leave the JVM."""

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
    """The columns that the query reads or returns, and ``always``, in the order of ``columns``.

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
    return {name for name in named if name is not None}
