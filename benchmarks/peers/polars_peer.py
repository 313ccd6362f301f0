"""The questions in Polars expressions: ``python polars_peer.py EVENTS.csv WORKLOAD WINDOW``."""

import json
import sys

import polars as pl

A, B, C, ID, TS = (pl.col(name) for name in ("a", "b", "c", "id", "ts"))


def of_type(events: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """The times of the events of a type, in a column called like it."""
    return events.filter(pl.col("type") == name).select("id", TS.alias(name.lower()))


def next_of(found: pl.LazyFrame, others: pl.LazyFrame, after: str, name: str) -> pl.LazyFrame:
    """The first of other events with the same id after a time."""
    return found.sort(after).join_asof(
        others.sort(name), left_on=after, right_on=name, by="id", strategy="forward",
        allow_exact_matches=False, check_sortedness=False, coalesce=False,
    )  # fmt: skip


def sequence(events: pl.LazyFrame, window: int) -> pl.LazyFrame:
    """The first B after each A and the first C after that."""
    found = next_of(of_type(events, "A"), of_type(events, "B"), "a", "b").drop_nulls("b")
    found = next_of(found, of_type(events, "C"), "b", "c").drop_nulls("c")
    return found.filter(A + window > C)


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
    found = globals()[workload](events, int(window)).collect()
    mixed = (found["a"] * 31 + found["b"] * 7 + found["c"]) % 1_000_003
    print(json.dumps({"answer": [len(found), int(mixed.sum())]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
