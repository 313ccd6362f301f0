"""Whether the plan of a DataFrame can be evaluated twice, and at what cost.

A reduced query reads its input twice: once for the rare events, and once for the events near them.
Both must be the same rows. Only kinds of plans are accepted that are known to repeat themselves.
Spark does not mark rows that depend on the order of others, such as after a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from cepheid.errors import list_words

_CHEAP = {
    "Project",
    "Filter",
    "SubqueryAlias",
    "View",
    "Union",
    "LogicalRelation",
    "HiveTableRelation",
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
}
"""Steps that read stored rows, and those that Spark computes with the scan."""
_REPEATABLE = _CHEAP | {
    "LocalRelation",
    "Range",
    "Join",
    "Distinct",
    "Sort",
    "Repartition",
    "RepartitionByExpression",
    "Generate",
    "ResolvedHint",
    "UnresolvedHint",
}


def why_not_repeatable(frame: DataFrame) -> str | None:
    """Why the rows might be others when Spark reads them again, or None if they are the same."""
    plan = _analysed(frame)
    if plan is None:
        return "Spark Connect does not show whether reading the input twice gives the same rows"
    if not plan.deterministic():
        return "its input has an expression that is not deterministic, such as rand()"
    unknown = sorted({_name(node) for node in _nodes(plan)} - _REPEATABLE)
    if unknown:
        return (
            "it reads its input twice, and Spark does not promise the same rows for "
            f"{list_words(unknown)}; write them to a table first"
        )
    return None


def is_cheap(frame: DataFrame) -> bool:
    """Whether the input is stored rows, with nothing but filters and projections after them."""
    plan = _analysed(frame)
    return plan is not None and all(_name(node) in _CHEAP for node in _nodes(plan))


def input_bytes(frame: DataFrame) -> int:
    """The size of the input as Spark estimates it, in bytes as stored."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def _analysed(frame: DataFrame) -> Any:
    if getattr(frame, "_jdf", None) is None:  # True for Spark Connect.
        return None
    return frame._jdf.queryExecution().analyzed()


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for number in range(children.size()):
        yield from _nodes(children.apply(number))


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())
