"""The matches of all queries of a script in one DataFrame, in batch and in a stream.

The column ``query`` is the name of the query, and the column of that name has the match.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.errors import OptionError
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.worker.worker_session import QUERY, column_of

LATE_EVENT = "late_event"
"""The column with an event that came too late; null in the rows of matches."""


def named_columns(names: Sequence[str], others: Sequence[str]) -> list[Column]:
    """The columns of the matches of these queries, from those of the workers, and others."""
    query = F.get(F.array(*map(F.lit, names)), F.col(QUERY)).alias(QUERY)
    matches = (F.col(column_of(number)).alias(name) for number, name in enumerate(names))
    return [query, *matches, *map(F.col, others)]


def refuse_equal_names(names: Sequence[str]) -> None:
    """Refuse queries with equal names: they are names of columns, in which Spark ignores case."""
    taken = {QUERY: QUERY, MATCH_ID: MATCH_ID, LATE_EVENT: LATE_EVENT}
    for name in names:
        other = taken.setdefault(name.lower(), name)
        if other is not name:
            raise OptionError(
                f"a query is called {name!r}, and so is the column {other!r} of the result; "
                "rename the type that it makes"
            )
