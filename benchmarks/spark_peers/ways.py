"""What one writes on Spark without cepheid: joins, window functions, a loop in Python.

Each gives the times of the events of every match as columns a, b, …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from benchmarks.spark_peers.data import LETTERS, sequence_query

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

Way = Callable[["DataFrame", int, int, Sequence[str]], "DataFrame"]

KEYS = ("id",)
"""What the events of a match agree on."""


def self_joins(
    events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS
) -> DataFrame:
    """One join for each further component, on the keys and on time."""
    names = LETTERS[:length].lower()
    tables = [
        events.where(f"type = '{name.upper()}'").selectExpr(
            *(f"{key} AS {key}_{name}" for key in keys), f"ts AS {name}"
        )
        for name in names
    ]
    found = tables[0]
    for before, name, table in zip(names, names[1:], tables[1:], strict=False):
        follows = (table[name] > found[before]) & (table[name] < found[names[0]] + window)
        for key in keys:
            follows &= found[f"{key}_{names[0]}"] == table[f"{key}_{name}"]
        found = found.join(table, follows)
    return found.select(*names)


def window_functions(
    events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS
) -> DataFrame:
    """At each last event, lists of those before it in the window; their combinations, filtered."""
    names = LETTERS[:length].lower()
    *earlier, last = names
    reach = f"RANGE BETWEEN {window - 1} PRECEDING AND 1 PRECEDING"
    frame = f"PARTITION BY {', '.join(keys)} ORDER BY ts {reach}"
    lists = [
        f"collect_list(CASE WHEN type = '{name.upper()}' THEN ts END) OVER ({frame}) AS {name}s"
        for name in earlier
    ]
    types = ", ".join(f"'{name.upper()}'" for name in names)
    found = events.where(f"type IN ({types})").selectExpr("type", f"ts AS {last}", *lists)
    found = found.where(f"type = '{last.upper()}'")
    for place, name in enumerate(earlier):
        kept = [column for column in found.columns if column != f"{name}s"]
        found = found.selectExpr(*kept, f"explode({name}s) AS {name}")
        if place:
            found = found.where(f"{name} > {earlier[place - 1]}")
    return found.select(*names)


def python_loop(
    events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS
) -> DataFrame:
    """A loop over the events of each key, in a function on pandas frames."""
    names = LETTERS[:length].lower()
    schema = ", ".join(f"{name} long" for name in names)
    wanted = events.where(f"type IN ({', '.join(repr(name.upper()) for name in names)})")

    def find(group: pd.DataFrame) -> pd.DataFrame:
        import pandas

        ordered = group.sort_values("ts")
        partial: list[list[tuple[int, ...]]] = [[] for _ in names]
        for ts, type_ in zip(ordered["ts"], ordered["type"], strict=True):
            place = LETTERS.index(type_)
            if place == 0:
                partial[0].append((ts,))
                continue
            partial[place - 1] = [each for each in partial[place - 1] if each[0] > ts - window]
            partial[place] += [(*each, ts) for each in partial[place - 1]]
        return pandas.DataFrame(partial[-1], columns=list(names), dtype="int64")

    return wanted.select(*keys, "ts", "type").groupBy(*keys).applyInPandas(find, schema)


def cepheid(events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS) -> DataFrame:
    """The query, on the frame itself, whose files the workers read."""
    return _cepheid(events, sequence_query(length, window, keys), length, in_place=True)


def cepheid_read_by_spark(
    events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS
) -> DataFrame:
    """The same as on a frame that is not plain files: Spark reads, spreads and sorts the events."""
    return _cepheid(events, sequence_query(length, window, keys), length, in_place=False)


def _cepheid(events: DataFrame, text: str, length: int, in_place: bool) -> DataFrame:
    import cepheid as cep

    found: DataFrame = cep.query(text).match(events, tie_break="ts", in_place=in_place)
    return found.select(*LETTERS[:length].lower())


def idle_worker(
    events: DataFrame, length: int, window: int, keys: Sequence[str] = KEYS
) -> DataFrame:
    """The plan of a query that Spark reads for, with workers that find nothing."""
    import cepheid as cep
    from benchmarks.spark_batch import with_idle_worker

    return with_idle_worker(cep.query(sequence_query(length, window, keys)), events)


WAYS: dict[str, Way] = {
    "cepheid": cepheid,
    "cepheid, read by Spark": cepheid_read_by_spark,
    "self-joins": self_joins,
    "window functions": window_functions,
    "Python loop": python_loop,
}
