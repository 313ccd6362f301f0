"""The questions in Polars expressions: ``python polars_peer.py EVENTS.csv WORKLOAD WINDOW``."""

import json
import sys
from collections.abc import Sequence
from itertools import islice, permutations

import polars as pl

A, B, C, ID, TS = (pl.col(name) for name in ("a", "b", "c", "id", "ts"))


def of_type(events: pl.LazyFrame, name: str, column: str = "") -> pl.LazyFrame:
    """The times of the events of a type, in a column called like it, or as is said."""
    return events.filter(pl.col("type") == name).select("id", TS.alias(column or name.lower()))


def next_of(found: pl.LazyFrame, others: pl.LazyFrame, after: str, name: str) -> pl.LazyFrame:
    """The first of other events with the same id after a time."""
    return found.sort(after).join_asof(
        others.sort(name), left_on=after, right_on=name, by="id", strategy="forward",
        allow_exact_matches=False, check_sortedness=False, coalesce=False,
    )  # fmt: skip


def sequence(events: pl.LazyFrame, window: int, types: Sequence[str] = "ABC") -> pl.LazyFrame:
    """The first B after each A and the first C after that, or such a sequence of other types."""
    a, b, c = (of_type(events, *each) for each in zip(types, "abc", strict=True))
    found = next_of(next_of(a, b, "a", "b").drop_nulls("b"), c, "b", "c").drop_nulls("c")
    return found.filter(A + window > C)


def rules(events: pl.LazyFrame, window: int, count: int) -> pl.LazyFrame:
    """So many sequences of three of the six types."""
    triples = islice(permutations("ABCDEF", 3), count)
    return pl.concat([sequence(events, window, types) for types in triples])


def relaxed(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """The sequence, with the last B before the C in place of the first."""
    found = sequence(events, window).drop("b").sort("c")
    return found.join_asof(
        of_type(events, "B").sort("b"), left_on="c", right_on="b", by="id",
        check_sortedness=False, coalesce=False,
    )  # fmt: skip


def absence(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """Each A without a B in a quarter of the window."""
    found = next_of(of_type(events, "A"), of_type(events, "B"), "a", "b")
    found = found.filter(B.is_null() | (A + window // 4 <= B))
    return found.with_columns(A.alias("b"), A.alias("c"))


def subsets(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """How many sets of B's there are between each A and each C, in the column ``n``."""
    found = of_type(events, "A").join(of_type(events, "C"), on="id")
    found = found.filter(C > A, A + window > C).join(of_type(events, "B"), on="id")
    found = found.filter(B > A, C > B).group_by("id", "a", "c").agg(pl.len())
    return found.select("c", n=2 ** pl.col("len").cast(pl.Int64) - 1)


def any_match(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """All B's after each A, and all C's after these."""
    found = of_type(events, "A").join(of_type(events, "B"), on="id")
    found = found.filter(B > A, A + window > B).join(of_type(events, "C"), on="id")
    return found.filter(C > B, A + window > C)


def negation(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """The first C after each A, with no B in between."""
    found = next_of(of_type(events, "A"), of_type(events, "C"), "a", "c").drop_nulls("c")
    found = next_of(found, of_type(events, "B"), "a", "b")
    found = found.filter(B.is_null() | (B > C), A + window > C)
    return found.with_columns(A.alias("b"))


def contiguous(events: pl.LazyFrame, _window: int) -> pl.LazyFrame:
    """A C right after a run of B's right after an A, among the events of an id."""
    here, is_b = events.sort("ts"), pl.col("type") == "B"
    before = pl.when(~is_b).then(pl.struct("type", "ts", TS.shift(-1).alias("next")))
    found = here.with_columns(before.over("id", order_by="ts").alias("before")).with_columns(
        pl.col("before").forward_fill().shift(1).over("id", order_by="ts").alias("last"),
        pl.col("type").shift(1).over("id", order_by="ts").alias("previous"),
    )
    last = pl.col("last").struct
    found = found.filter(
        pl.col("type") == "C", pl.col("previous") == "B", last.field("type") == "A"
    )
    return found.select(last.field("ts").alias("a"), last.field("next").alias("b"), TS.alias("c"))


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    columns = {"ts": pl.Int64, "type": pl.String, "id": pl.Int64}
    events = pl.scan_csv(file, has_header=False, schema=columns)
    name, _, count = workload.partition("_")
    given = (int(count),) if count.isdigit() else ()
    found = globals()[name if given else workload](events, int(window), *given).collect()
    if workload == "subsets":
        answer = found["n"].sum(), (found["n"] * found["c"]).sum()
    else:
        mixed = (found["a"] * 31 + found["b"] * 7 + found["c"]) % 1_000_003
        answer = len(found), mixed.sum()
    print(json.dumps({"answer": [int(value) for value in answer]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
