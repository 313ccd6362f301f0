"""From raw lines to typed events: what can be read, and what cannot, with the reason.

The same functions serve a stream and a batch.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

RAW = "event_id string, ts string, type string, card string, amount string, country string"
SCHEMA = "event_id string, ts timestamp, type string, card string, amount double, country string"
COLUMNS = ["event_id", "ts", "type", "card", "amount", "country"]


def parsed(lines: DataFrame, types: list[str]) -> DataFrame:
    """Each line with the columns of an event, and the reason why it is none."""
    raw = lines.withColumn("raw", F.from_json("value", RAW)).select("value", "arrived", "raw.*")
    typed = raw.select(
        "value",
        "arrived",
        "event_id",
        F.try_to_timestamp("ts").alias("ts"),
        "type",
        "card",
        F.expr("try_cast(amount AS double)").alias("amount"),
        "country",
        (F.col("amount").isNotNull() & F.expr("try_cast(amount AS double)").isNull()).alias("odd"),
    )
    return typed.withColumn("reason", _reason(types)).drop("odd")


def _reason(types: list[str]) -> Column:
    is_json = F.expr("try_parse_json(value)").isNotNull()
    return (
        F.when(~is_json, "not JSON")
        .when(F.col("event_id").isNull(), "no event_id")
        .when(F.col("ts").isNull(), "no time that can be read")
        .when(F.col("type").isNull() | ~F.col("type").isin(types), "unknown type")
        .when(F.col("card").isNull(), "no card")
        .when(F.col("odd"), "the amount is no number")
        .when(
            (F.col("type") == "Payment") & F.col("amount").isNull(), "a payment without an amount"
        )
    )


def rejected(lines: DataFrame) -> DataFrame:
    """The lines that are no events, with the reason."""
    return lines.where("reason IS NOT NULL").select("value", "arrived", "reason")


def clean(lines: DataFrame, same_event_within: str) -> DataFrame:
    """The events, each once.

    A stream remembers an id for some time *after it arrived*, not by the time of the event. So no
    event is too late here: the rules decide what is late, and say so.
    """
    good = lines.where("reason IS NULL")
    if lines.isStreaming:
        known = good.withWatermark("arrived", same_event_within)
        return known.dropDuplicatesWithinWatermark(["event_id"]).select(*COLUMNS)
    return good.dropDuplicates(["event_id"]).select(*COLUMNS)
