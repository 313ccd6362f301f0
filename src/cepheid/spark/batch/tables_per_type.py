"""A DataFrame for each event type, as one DataFrame of all events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.errors import OptionError


def one_frame(tables: Mapping[str, DataFrame], type: str) -> tuple[DataFrame, dict[str, list[str]]]:
    """All events with their type in a column of this name, and which columns each type has."""
    for name, table in tables.items():
        if type in table.columns:
            raise OptionError(
                f"table {name!r} has a column {type!r}, in which the type of an event is kept "
                "when the tables are joined; name another one with type="
            )
    named = [table.withColumn(type, F.lit(name)) for name, table in tables.items()]
    joined = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)
    return joined, {name: table.columns for name, table in tables.items()}
