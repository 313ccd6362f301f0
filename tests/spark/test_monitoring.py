"""What a running stream tells of itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.spark import MetricsListener, prometheus_text, rule_metrics, stream_metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_counts_of_every_micro_batch(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (20, "A", 2, 5), (30, "A", 1, 5)))
    feed.put(readings((9, "B", 1, 6), (21, "B", 2, 8), (31, "A", 3, 0)))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds")
    lines, prometheus = tmp_path / "metrics.jsonl", tmp_path / "cepheid.prom"
    listener = MetricsListener(lines, prometheus)
    rocksdb.streams.addListener(listener)
    rows: list[Any] = []
    try:
        matches = query.match(feed.events, lateness="10 seconds", metrics="pairs")
        progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
        until = time.monotonic() + 30  # Spark calls listeners later.
        lines.touch()
        while len(lines.read_text().splitlines()) < len(progress) and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        rocksdb.streams.removeListener(listener)
    counted = [each for one in progress for each in stream_metrics(one)]
    assert {each.metrics for each in counted} == {"pairs"}
    assert sum(each.matches for each in counted) == len(rows) == 1
    assert sum(each.late for each in counted) == 1
    first, last = counted[0], [each for each in counted if each.events][-1]
    # At 30 less 10 seconds: the event of second 30 waits.
    assert (first.events, first.waiting) == (3, 1)
    assert first.oldest_waiting == "2024-01-01T00:00:30+00:00"
    assert first.state_bytes > 0
    assert last.waiting == 2
    written = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [each["matches"] for each in written] == [each.matches for each in counted]
    assert prometheus.exists()


def test_the_progress_tells_what_each_rule_costs(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (20, "A", 2, 5), (30, "A", 1, 5)))
    feed.put(readings((31, "B", 1, 6), (32, "B", 2, 8), (33, "A", 3, 0)))
    pair = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds"
    rules = cep.rules({"pair": pair, "b": "PATTERN B b WHERE [id]", "c": "PATTERN C c WHERE [id]"})
    rows: list[Any] = []
    alerts = rules.match(feed.events, lateness="0 seconds")
    progress = feed.run(alerts, lambda batch, _: rows.extend(batch.collect()))
    counted = [each for one in progress for each in rule_metrics(one)]
    assert sum(each.matches for each in counted) == len(rows) == 4
    events = {name: sum(each.events for each in counted if each.rule == name) for name in rules}
    assert events == {"pair": 6, "b": 2, "c": 0}
    [b] = [each for each in counted if each.rule == "b"]
    assert b.last_match == "2024-01-01T00:00:32+00:00"


def test_what_is_counted_between_two_looks_is_added_up(tmp_path: Path) -> None:
    """Prometheus looks every few seconds, and more than one micro-batch may end meanwhile."""
    prometheus = tmp_path / "cepheid.prom"
    listener = MetricsListener(prometheus=prometheus)

    def end_batch(run: str, late: int) -> None:
        counts = {"matches": 1, "late": late, "waiting": 0, "runs": 0}
        row = MagicMock(asDict=lambda: {**counts, "state_bytes": 9, "milliseconds": 2})
        progress = MagicMock(observedMetrics={"pairs": row}, runId=run, id="id", batchId=1)
        progress.configure_mock(name="stream", numInputRows=10, timestamp="")
        listener.onQueryProgress(MagicMock(progress=progress))

    end_batch("one", 2)
    end_batch("one", 0)
    text = prometheus.read_text()
    labels = '{stream="stream",metrics="pairs"}'
    assert f"cepheid_late{labels} 0\n" in text
    assert f"cepheid_late_total{labels} 2\n" in text
    assert f"cepheid_events_total{labels} 20\n" in text
    assert "# TYPE cepheid_late_total counter\n" in text
    listener.onQueryTerminated(MagicMock(runId="one"))
    assert labels not in prometheus.read_text()
    end_batch("two", 1)
    assert f"cepheid_late_total{labels} 1\n" in prometheus.read_text()


def test_prometheus_reads_any_name() -> None:
    from cepheid.spark import StreamMetrics

    one = StreamMetrics('a"b\\', "n", 1, "", 1, 2, 3, 4, "2024-01-01T00:00:00+00:00", 5, 6, 7, 8)
    text = prometheus_text([one])
    assert 'cepheid_late{stream="a\\"b\\\\",metrics="n"} 3\n' in text
    assert (
        'cepheid_oldest_waiting_timestamp_seconds{stream="a\\"b\\\\",metrics="n"} 17040672' in text
    )
