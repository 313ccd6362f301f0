"""The columns by which events can be partitioned without splitting a match.

Events of one match agree on the partition keys of the query, which the analysis finds. This module
finds the column of an event that has the key, and checks whether anything else, such as
contiguity, depends on events of other keys.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.analysis.model import AnalysedQuery
from cepheid.matches.modes.rule import OutputRule
from cepheid.schema import Kind
from cepheid.sessions.division.keys import common_keys, depends_on_others, equivalence_keys
from cepheid.spark.batch.frames import column


def key_columns(query: AnalysedQuery, rule: OutputRule, type: str) -> list[Column]:
    """The columns that all events of a match have in common; there may be none."""
    assert query.schema is not None
    tests = equivalence_keys(query)
    if tests:
        return [comparable(query, name) for name in tests]
    if depends_on_others(query.query, rule):
        return []
    for key in common_keys(query):
        # An event of a type that is not in the pattern may be anywhere.
        branches = [
            (column(type).cast("string") == F.lit(name), comparable(query, attribute))
            for name, attribute in key.items()
        ]
        return [F.coalesce(*(F.when(test, value) for test, value in branches))]
    return []


def comparable(query: AnalysedQuery, attribute: str) -> Column:
    """The column converted so that values equal in the language are equal in Spark."""
    assert query.schema is not None
    value = column(attribute)
    if query.schema.kind(attribute) is Kind.FLOAT:
        return value.cast("double") + F.lit(0.0)  # -0.0 becomes 0.0.
    return value
