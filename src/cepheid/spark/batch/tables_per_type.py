"""A DataFrame for each event type, as one DataFrame of all events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.errors import OptionError


def one_frame(
    events: DataFrame | Mapping[str, DataFrame], keywords: Mapping[str, Any]
) -> tuple[DataFrame, dict[str, Any]]:
    """All events in one DataFrame, and the keywords of ``match`` for it.

    DataFrames for each type are combined with a type column, and a schema that says which columns
    each type has.
    """
    if not isinstance(events, Mapping):
        return events, dict(keywords)
    type = keywords.get("type") or "type"
    for name, table in events.items():
        if type in table.columns:
            raise OptionError(
                f"table {name!r} has a column {type!r}, in which the type of an event is kept "
                "when the tables are joined; name another one with type="
            )
    named = [table.withColumn(type, F.lit(name)) for name, table in events.items()]
    joined = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)
    columns = {name: table.columns for name, table in events.items()}
    schema = keywords.get("schema")
    return joined, {**keywords, "type": type, "schema": columns if schema is None else schema}
