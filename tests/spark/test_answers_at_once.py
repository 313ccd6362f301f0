"""A stream answers an event at once where it may, and does not wait for another one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from spark.test_buckets import START_MS, Stream, worker_settings
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.spark.stream.timing import Timing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIR = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds RETURN b.x AS x"
SILENCE = "PATTERN SEQ(A a, ~(B b)) WHERE [id] WITHIN 2 seconds RETURN a.x AS x"


def at(*moments: tuple[float, int], type: str = "A") -> pa.Table:
    """Events of (millisecond, seq)."""
    times = [round((START_MS + ms) * 1_000) for ms, _ in moments]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "type": [type] * len(moments),
            "seq": pa.array([seq for _, seq in moments], pa.int64()),
        }
    )


def stream(query: str, timing: Timing, lateness: int = 0) -> Stream:
    settings = worker_settings(cep.query(query), at((0, 0)), "all")
    return Stream(settings, timing, lateness, troubles=[True] * 9)


@pytest.mark.parametrize("timing", [Timing(0), Timing(in_order=True, waits=False)])
def test_an_event_is_answered_by_the_micro_batch_that_brings_it(timing: Timing) -> None:
    running = stream("PATTERN A a", timing)
    running.micro_batch(at((0.7, 0)))  # not a whole millisecond
    assert sum(running.rows().values()) == 1


@pytest.mark.parametrize("timing", [Timing(0), Timing(in_order=True, waits=False)])
def test_an_event_below_the_last_answered_one_is_late(timing: Timing) -> None:
    running = stream("PATTERN A a", timing)
    running.micro_batch(at((5.5, 3)))
    running.micro_batch(at((5.5, 2), (5.5, 3), (5.5, 4), (5.4, 9), (6, 0)))
    assert running.late == 2
    assert sum(running.rows().values()) == 4
    running.micro_batch(at((5.5, 5)))
    assert running.late == 3


def test_an_event_within_the_lateness_waits() -> None:
    running = stream("PATTERN A a", Timing(2_000), lateness=2)
    running.micro_batch(at((5, 0), (6, 0), (7.001, 0)))
    assert sum(running.rows().values()) == 1
    running.micro_batch(at((5, 1), (8, 0)))
    assert (running.late, sum(running.rows().values())) == (1, 2)


def test_time_follows_the_clock_where_no_events_come() -> None:
    timing = Timing(1_000_000, idle_ms=30_000)
    running = stream("PATTERN SEQ(A a, ~(B b)) WITHIN 10 seconds", timing, lateness=1_000)
    running.clock_ms = 77_000
    running.micro_batch(at((0, 0)))
    running.clock_ms += 29_000  # The window has ended by the clock, but events may still come.
    running.timers()
    assert not running.rows()
    running.clock_ms += 1_000
    running.timers()
    assert sum(running.rows().values()) == 1
    running.micro_batch(at((28_999, 1), (29_000, 1)))  # 30 seconds less the lateness have passed
    assert running.late == 1


def test_events_that_come_in_time_stop_the_clock() -> None:
    timing = Timing(0, idle_ms=30_000)
    running = stream("PATTERN SEQ(A a, ~(B b)) WITHIN 60 seconds", timing)
    running.micro_batch(at((0, 0)))
    for second in range(20, 200, 20):
        running.clock_ms += 20_000
        running.micro_batch(at((second, 1), type="C"))  # in the same second of event time
        running.timers()
    assert not running.rows()
    running.micro_batch(at((1_000, 2), type="B"))
    running.end()
    assert (running.late, sum(running.rows().values())) == (0, 0)


@pytest.mark.parametrize("keywords", [{"lateness": "0 seconds"}, {"in_order": True}])
def test_a_single_event_on_a_quiet_stream_is_answered(
    rocksdb: SparkSession, tmp_path: Path, keywords: dict[str, Any]
) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (0, "A", 2, 5)))
    feed.put(readings((9.000_001, "B", 1, 6)))
    rows: list[Any] = []
    matches = cep.query(PAIR).match(feed.events, **keywords)
    progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    assert [row["x"] for row in rows] == [6]
    if "in_order" in keywords:
        assert all(each.numInputRows for each in progress)
    feed.put(readings((9, "B", 1, 7), (8, "B", 2, 8), (10, "B", 1, 9)))
    progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    late = sum(each.observedMetrics["cepheid"]["late"] for each in progress)
    found = {row["x"] for row in rows}
    assert found >= {6, 9}
    assert late == (1 if 8 in found else 2)


@pytest.mark.parametrize("keywords", [{"lateness": "1 second"}, {"in_order": True}])
def test_what_waits_is_answered_after_a_timeout(
    rocksdb: SparkSession, tmp_path: Path, keywords: dict[str, Any]
) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (0.5, "A", 2, 6), (1, "B", 2, 7)))
    rows: list[Any] = []
    for _ in range(2):  # and once only, also after a restart
        matches = cep.query(SILENCE).match(feed.events, idle_timeout="1 second", **keywords)
        running = (
            matches.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="200 milliseconds")
            .start()
        )
        try:
            until = time.monotonic() + 60
            while not rows and time.monotonic() < until and running.isActive:
                time.sleep(0.2)
            time.sleep(2)
        finally:
            running.stop()
        assert [row["x"] for row in rows] == [5]


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@pytest.mark.parametrize(
    ("query", "keywords", "message"),
    [
        (SILENCE, {"in_order": True}, "can be complete only when time has passed"),
        (PAIR, {"in_order": True, "output": "longest"}, "can be complete only when time has"),
        (PAIR, {"in_order": True, "timed_out": True}, "can be complete only when time has"),
        (PAIR, {"in_order": "yes"}, "in_order is True or False, not 'yes'"),
        (PAIR, {"idle_timeout": "1 second"}, "set how late events can be"),
        (PAIR, {"in_order": True, "idle_timeout": "soon"}, "idle_timeout is a length of time"),
    ],
)
def test_what_would_wait_for_ever_is_refused(
    rocksdb: SparkSession, tmp_path: Path, query: str, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(cep.OptionError, match=message):
        cep.query(query).match(Feed(rocksdb, tmp_path).events, **keywords)


def test_a_timeout_needs_a_lateness_that_is_known(rocksdb: SparkSession, tmp_path: Path) -> None:
    events = Feed(rocksdb, tmp_path).events.withWatermark("ts", "1 second")
    with pytest.raises(cep.OptionError, match="leave out withWatermark"):
        cep.query(PAIR).match(events, idle_timeout="1 second")
