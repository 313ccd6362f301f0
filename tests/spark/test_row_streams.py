"""MATCH_RECOGNIZE over streaming DataFrames gives what a local session gives, whatever happens."""

from __future__ import annotations

import random
import re
import warnings
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from benchmarks.stream_faults import CLAUSE, kill_drivers, write_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from row_patterns.clause_strategies import clauses, tables
from row_patterns.test_stream_agreement import arriving
from spark.rows import local_rows
from spark.test_buckets import START_MS, Stream
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.row_patterns.settings import Settings
from cepheid.spark.batch.row_patterns import result_schema
from cepheid.spark.stream.timing import Timing
from cepheid.spark.worker.row_worker import RowWorkerSettings
from cepheid.spark.worker.worker_settings import Additions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE_WORKER = "ignore:all rows go to one worker"
pytestmark = pytest.mark.filterwarnings("ignore:the pattern has no longest match")
EVER = datetime(9999, 1, 1)


def in_time(text: str, table: pa.Table) -> tuple[str, pa.Table]:
    """The clause and its rows, with seconds as times in the column ``ts``."""
    ticks = [START_MS * 1_000 + each * 1_000_000 for each in table["t"].to_pylist()]
    times = pa.array(ticks, pa.timestamp("us", "UTC"))
    named = table.set_column(table.column_names.index("t"), "ts", times)
    return re.sub(r"\bt\b", "ts", text), named


def worker_settings(query: cep.RowPatternQuery, table: pa.Table, text: str) -> RowWorkerSettings:
    ordered = (("x", "NULLS FIRST" in text),) if "ts, x" in text else ()
    keywords = {"match_id": True}
    schema = result_schema(query, table.schema, keywords)
    columns = tuple(table.column_names)
    return RowWorkerSettings(
        str(query), keywords, schema, Additions(), "ts", ordered, ("seq",), columns
    )


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(
    clauses(streamed=True),
    tables(),
    st.lists(st.integers(0, 4), min_size=12, max_size=12),
    st.integers(0, 4),
    st.lists(st.integers(1, 4), min_size=12, max_size=12),
    st.sampled_from(("watermark", "lateness", "in order", "idle")),
    st.lists(st.booleans(), max_size=12),
)
def test_a_bucket_gives_the_rows_of_a_local_session(
    text: str,
    table: pa.Table,
    delays: list[int],
    lateness: int,
    sizes: list[int],
    way: str,
    troubles: list[bool],
) -> None:
    text, table = in_time(text, arriving(table, text))
    query = cep.query(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        local = query.session(match_id=True)
    try:
        expected = pa.concat_tables([local.feed(table).to_arrow(), local.advance(EVER).to_arrow()])
    except cep.EvaluationError:  # AFTER MATCH SKIP
        return
    timing = {
        "watermark": Timing(),
        "lateness": Timing(lateness * 1_000_000),
        "in order": Timing(0, in_order=True),
        "idle": Timing(lateness * 1_000_000, idle_ms=5_000),
    }[way]
    lateness = 0 if timing.in_order else lateness
    seconds = [each // 1_000_000 for each in table["ts"].cast(pa.int64()).to_pylist()]
    arrival = sorted(
        range(len(table)),
        key=lambda ix: seconds[ix] + min(delays[ix % len(delays)], lateness),
    )
    came = table.take(pa.array(arrival, pa.int64()))
    stream = Stream(worker_settings(query, table, text), timing, lateness * 1_000, None, troubles)  # type: ignore[arg-type]
    at = 0
    for size in sizes:
        if at < len(came):
            stream.clock_ms += size
            stream.micro_batch(came.slice(at, size))
        stream.clock_ms += 1
        stream.timers()
        at += size
    if at < len(came):
        stream.micro_batch(came.slice(at))
    stream.end()
    assert stream.late == 0
    assert stream.rows() == local_rows(expected.cast(stream.settings.result_schema))


RISES = """MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY ts
  MEASURES FIRST(ts) AS since, LAST(ts) AS until, count(*) AS n
  PATTERN (A UP+) WITHIN INTERVAL '20' SECOND
  DEFINE UP AS x > PREV(x)
)"""


def many(seed: int) -> pa.Table:
    generator = random.Random(seed)
    drawn = [(second, "A", generator.randrange(3), generator.randrange(9)) for second in range(60)]
    return readings(*drawn, (9_999, "A", 9, 9))


def test_a_sink_that_fails_gets_the_same_rows_again(rocksdb: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    table, feed, query = many(2), Feed(rocksdb, tmp_path), cep.query(RISES)
    for low in (0, 20, 40):
        feed.put(table.slice(low, 20 if low < 40 else None))
    written: list[tuple[int, Any]] = []
    failed: set[int] = set()

    def failing(batch: DataFrame, number: int) -> None:
        written.extend((number, row) for row in batch.toArrow().to_pylist())
        if number not in failed:
            failed.add(number)
            raise OSError("the sink is full")

    matches = query.match(feed.events, lateness="0 seconds")
    for _ in range(20):
        before = len(failed)
        with suppress(StreamingQueryException):
            feed.run(matches, failing)
        if len(failed) == before:
            break
    assert len(failed) >= 3
    distinct = {row["match_id"]: row for _, row in written}
    assert len(written) > len(distinct)
    whole = query.match(table, match_id=True)
    assert distinct.keys() == {row["match_id"] for row in whole}
    assert sorted(row["n"] for row in distinct.values()) == sorted(row["n"] for row in whole)
    batch = query.match(rocksdb.createDataFrame(table), match_id=True)
    assert {row["match_id"] for row in batch.collect()} == distinct.keys()


@pytest.mark.filterwarnings(ONE_WORKER)
def test_late_rows_are_counted_and_given(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (20, "B", 1, 6)))
    feed.put(readings((9, "C", 1, 7), (21, "D", 1, 8), (60, "E", 1, 9)))
    feed.put(readings((61, "F", 1, 10), (99, "G", 1, 11)))
    query = cep.query("MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (A B))")
    rows: list[Any] = []
    matches = query.match(feed.events, lateness="10 seconds", late="emit", metrics="pairs")
    progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    assert [row["type"] for row in rows if row["late_event"] is None] == list("ABDEFG")[:4]
    assert [row["late_event"]["type"] for row in rows if row["late_event"]] == ["C"]
    counted = [each.observedMetrics["pairs"] for each in progress]
    assert sum(each["late"] for each in counted) == 1
    assert sum(each["matches"] for each in counted) == 4


def test_a_driver_that_is_killed_loses_no_match(tmp_path: Path) -> None:
    (tmp_path / "query").write_text(CLAUSE)
    write_files(tmp_path / "events", files=5, events=100)
    result = kill_drivers(tmp_path, kills=1, generator=random.Random(3))
    assert result.is_right, result
    assert result.found > 0


@pytest.mark.parametrize(
    ("clause", "keywords", "message"),
    [
        ("ORDER BY ts PATTERN (A)", {}, "set how late events can be"),
        ("ORDER BY x PATTERN (A)", {"lateness": "1 second"}, "must be a timestamp"),
        ("ORDER BY ts DESC PATTERN (A)", {"lateness": "1 second"}, "DESC cannot be used in a str"),
        ("PATTERN (A)", {"lateness": "1 second"}, "a stream needs ORDER BY"),
        ("ORDER BY ts PATTERN (A)", {"lateness": "1 second", "sep": ";"}, "sep is for CSV files"),
        ("ORDER BY ts PATTERN (A)", {"lateness": "1 second", "max_step": 5}, "has no option 'max_"),
        ("ORDER BY ts PATTERN (A) DEFINE A AS y > 1", {"lateness": "1 second"}, "no column 'y'"),
        ("ORDER BY ts MEASURES A.x AS match_id PATTERN (A)", {"lateness": "1 s"}, "of its own"),
    ],
)
@pytest.mark.filterwarnings(ONE_WORKER)
def test_what_cannot_be_is_refused(
    rocksdb: SparkSession, tmp_path: Path, clause: str, keywords: dict[str, Any], message: str
) -> None:
    query = cep.query(f"MATCH_RECOGNIZE ({clause})")
    with pytest.raises(cep.CepheidError, match=message):
        query.match(Feed(rocksdb, tmp_path).events, **keywords)


def test_a_stream_is_not_counted(rocksdb: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(cep.CepheidError, match="stream"):
        cep.query(RISES).count(Feed(rocksdb, tmp_path).events)
    with pytest.raises(cep.OptionError, match="lateness is for streaming DataFrames"):
        Settings.of({"lateness": "1 second"})
