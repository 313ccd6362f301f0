"""Columns of a result that equal another column in every match: workers do not send them.

Sending a result costs more than finding it. A match starts with its first event and ends with its
last, so ``RETURN a.ts, …`` of a sequence that begins with ``a`` has the start twice. One of the two
is sent, and Spark shows it under both names.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.spark.batch.arrow_schemas import never_null


def repeated_columns(query: AnalysedQuery, result: pa.Schema, time: str) -> dict[str, str]:
    """The columns that repeat another one, with that column; ``result`` has the columns of a match.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.schema import Kind, Schema
    >>> text = "PATTERN SEQ(A a, B b, C c) RETURN a.ts AS first, b.ts AS second"
    >>> schema = Schema({"ts": Kind.INTEGER}, None)
    >>> columns = pa.schema([(name, pa.int64()) for name in ("start", "end", "first", "second")])
    >>> repeated_columns(analyse(parse(text), schema, text, "query"), columns, "ts")
    {'start': 'first'}
    """
    times = _returned_times(query, time)
    if len(query.alternatives) > 1:
        return {}
    (alternative,) = query.alternatives
    if not alternative.is_sequence:
        return {}
    same = {"start": times.get(alternative.components[0].variable)}
    if not alternative.waits:
        same["end"] = times.get(alternative.components[-1].variable)
    return {
        name: other
        for name, other in same.items()
        if other not in (None, name) and result.field(name).type == result.field(other).type
    }


def _returned_times(query: AnalysedQuery, time: str) -> Mapping[str, str]:
    """The column with the time of each variable, if RETURN has it and no item is start or end."""
    tree = query.query
    items = tree.returns.items if tree.returns is not None else ()
    names = {item_name(item, tree): item.expression for item in items}
    if {"start", "end"} & names.keys():
        return {}
    sure = never_null(query, time)
    return {
        expression.variable: name
        for name, expression in names.items()
        if isinstance(expression, ast.Attribute) and expression.attribute == time and name in sure
    }
