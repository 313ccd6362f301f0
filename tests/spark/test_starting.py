"""A stream goes on from the checkpoint of an equivalent query, and from no other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.spark import fault_of, start
from cepheid.spark.stream import checkpoints
from cepheid.spark.stream.made_by import refuse_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN {} RETURN {}"
OTHER = "PATTERN SEQ(A a, C c) WHERE [id] WITHIN 1 hour RETURN a.x AS x"


def both(feed: Feed, first: str, second: str) -> DataFrame:
    """Two queries in one stream, after another stateful operator."""
    events = feed.events.withWatermark("ts", "0 seconds")
    unique = events.dropDuplicatesWithinWatermark(["ts", "id"])
    frames = [
        cep.query(text).match(unique, metrics=name).select("match_id", "end")
        for name, text in (("one", first), ("other", second))
    ]
    return frames[0].unionAll(frames[1])


def test_equivalent_queries_go_on_and_others_are_refused_before_the_start(
    rocksdb: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    feed, rows, checkpoint = Feed(rocksdb, tmp_path), [], tmp_path / "checkpoint"

    def collect(batch: DataFrame, _: int) -> None:
        rows.extend(batch.collect())

    def run(matches: DataFrame) -> None:
        start(matches, checkpoint, collect, trigger={"availableNow": True}).awaitTermination()

    feed.put(readings((0, "A", 1, 5), (1, "A", 2, 5)))
    before = both(feed, ONE.format("60 minutes", "a.x AS x"), OTHER)
    with pytest.raises(cep.OptionError, match=r"spark.conf.set\('spark.sql.exchange.reuse', 'fa"):
        start(before, checkpoint, collect)
    rocksdb.conf.set("spark.sql.exchange.reuse", "false")
    request.addfinalizer(lambda: rocksdb.conf.unset("spark.sql.exchange.reuse"))
    run(before)
    feed.put(readings((10, "B", 1, 6), (11, "C", 2, 7), (12, "Z", 0, 0)))
    run(
        both(feed, ONE.format("1 hour", "b.ts AS t, a.x AS why"), OTHER.replace("a.x AS", "c.x AS"))
    )
    assert sorted(row["end"].second for row in rows) == [10, 11]

    longer = both(feed, ONE.format("61 minutes", "a.x AS x"), OTHER)
    with pytest.raises(cep.SnapshotError, match=r"query: then .*1 hour.*now .*61 minutes"):
        start(longer, checkpoint, collect)
    swapped = both(feed, OTHER, ONE.format("1 hour", "a.x AS x"))
    with pytest.raises(cep.SnapshotError, match="the state of another stream"):
        start(swapped, checkpoint, collect)
    single = cep.query(OTHER).match(feed.events, lateness="0 seconds")
    with pytest.raises(cep.SnapshotError, match="2 queries, and the stream has 1"):
        start(single, checkpoint, collect)
    with pytest.raises(cep.OptionError, match="start is for a streaming DataFrame that"):
        start(feed.events, checkpoint, collect)


def test_errors_in_foreach_batch_begin_with_their_own_sentence(
    rocksdb: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5)))

    def match(batch: DataFrame, _: int) -> None:
        cep.query(OTHER).match(batch, slices=0)

    with pytest.raises(StreamingQueryException) as raised:
        feed.run(feed.events, match)
    assert str(fault_of(raised.value)).startswith("slices is a positive integer")
    assert fault_of(ValueError("another")) is None


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        (["ts timestamp", "x bigint"], ["ts timestamp", "x bigint"], None),
        (["ts timestamp"], ["ts timestamp", "x bigint"], "the state lacks 'x bigint', which"),
        (["ts timestamp", "x bigint"], ["ts timestamp"], "the state has 'x bigint', which"),
    ],
)
def test_a_query_that_returns_more_says_what_the_state_lacks(
    then: list[str], now: list[str], message: str | None
) -> None:
    before = {"query": ONE.format("60 minutes", "a.x"), "columns": then, "at_most_once_per": "60 s"}
    after = {"query": ONE.format("1 hour", "b.x"), "columns": now, "at_most_once_per": "1 minute"}
    before["unit of time"] = after["unit of time"] = "microseconds"
    if message is None:
        refuse_changes(before, after)
        return
    with pytest.raises(cep.SnapshotError, match=message) as raised:
        refuse_changes(before, after)
    assert "query: then" not in str(raised.value)


def test_a_query_without_events_so_far_has_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events may all be filtered out: the stream goes on from the states of the others."""
    made = {"query": ONE.format("1 hour", "a.x"), "columns": ["x bigint"]}
    matches = MagicMock(isStreaming=True)
    loaded = matches.sparkSession.read.format.return_value.load.return_value
    loaded.where.return_value.collect.return_value = [{"operatorId": 0}, {"operatorId": 1}]
    monkeypatch.setattr(checkpoints, "F", MagicMock())
    monkeypatch.setattr(checkpoints, "_plan_of", lambda _: f"cepheid_{'a' * 32} cepheid_{'b' * 32}")
    known = {f"cepheid_{'a' * 32}": made, f"cepheid_{'b' * 32}": {**made, "query": OTHER}}
    monkeypatch.setattr(checkpoints, "_MADE_BY", known)
    monkeypatch.setattr(checkpoints, "_stored", lambda *given: [made, None][given[-1]])
    start(matches, "checkpoint", "matches")
    monkeypatch.setattr(checkpoints, "_stored", lambda *given: [None, made][given[-1]])
    with pytest.raises(cep.SnapshotError, match="the state of another stream"):
        start(matches, "checkpoint", "matches")
