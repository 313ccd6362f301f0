"""A query over a streaming DataFrame gives the matches of a local run, whatever happens to it."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from agreement.strategies import Case, cases
from benchmarks.stream_faults import QUERY, kill_drivers, write_files
from pyspark.sql.pandas.group_ops import PandasGroupedOpsMixin
from spark.conftest import PROVIDER
from spark.rows import local_rows, plain
from spark.test_agreement import draw
from spark.test_buckets import in_milliseconds

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.spark import check_checkpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOGETHER = 6
"""How many random queries are run in one stream."""
STREAMS = int(os.environ.get("CEPHEID_STREAMS", "3"))
"""How many such streams there are; twenty take some minutes."""
COLUMNS = "ts timestamp, type string, id long, x long"
STARTS = 4
"""How often a stream is started if its worker does not connect."""
SECOND = 1_000_000
START_US = 1_704_067_200 * SECOND


class Feed:
    """A folder to which micro-batches are added, and the stream that reads it."""

    def __init__(self, spark: SparkSession, folder: Path, columns: str = COLUMNS) -> None:
        self.spark, self.folder, self.columns = spark, folder, columns
        self.files = 0
        (folder / "events").mkdir()

    @property
    def events(self) -> DataFrame:
        reader = self.spark.readStream.schema(self.columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / "events"))

    def put(self, table: pa.Table) -> None:
        """Add a file, which a running stream sees complete and with its time, or not at all.

        A stream ignores files that are much older than one that it has seen.
        """
        part = self.folder / "part"
        pq.write_table(table, part)
        os.utime(part, (1e9 + self.files, 1e9 + self.files))
        part.rename(self.folder / "events" / f"{self.files:04}.parquet")
        self.files += 1

    def run(self, matches: DataFrame, sink: Any) -> list[Any]:
        """Read all that is there; the progress of each micro-batch.

        Before the first one, Spark gives a Python worker of the driver ten seconds to start. A busy
        machine may need longer, so the stream is started again.
        """
        from pyspark.errors import StreamingQueryException

        writer = matches.writeStream.foreachBatch(sink)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        for number in range(STARTS):
            running = writer.start()
            try:
                running.processAllAvailable()
                return micro_batches(running)
            except StreamingQueryException as error:
                if "worker failed to connect back" not in str(error) or number == STARTS - 1:
                    raise
            finally:
                running.stop()
        raise AssertionError


def micro_batches(running: Any) -> list[Any]:
    """The progress of each micro-batch. Spark adds that of looking in vain for ten seconds."""
    return [each for each in running.recentProgress if each.observedMetrics]


def readings(*rows: tuple[float, str, int, int]) -> pa.Table:
    """Events from (second, type, id, x)."""
    seconds, types, ids, xs = zip(*rows, strict=True)
    times = [START_US + round(second * SECOND) for second in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "type": types,
            "id": pa.array(ids, pa.int64()),
            "x": pa.array(xs, pa.int64()),
        }
    )


def runnable(case: Case) -> tuple[cep.CompiledQuery, pa.Table] | None:
    """The query and its events with an end, if a stream can run it and it ends by time."""
    text, table = in_milliseconds(case)
    last = {"ts": [10**12], "type": ["Z"], "seq": [10**6]}
    end = pa.table({name: last.get(name, [None]) for name in table.column_names})
    table = pa.concat_tables([table, end.cast(table.schema)])
    try:
        query = cep.query(text)
        query.session().feed(table.slice(0, 0))
    except (cep.QuerySemanticError, cep.EvaluationError):
        return None
    waits = any(each.waits for each in analyse(query.tree, None).alternatives)
    return None if waits and "EVENTS" in text else (query, table)


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@pytest.mark.parametrize("number", range(STREAMS))
def test_random_queries_in_random_micro_batches_agree_with_local_runs(
    rocksdb: SparkSession, tmp_path: Path, number: int
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    generator = random.Random(number)
    drawn = [each for each in map(runnable, draw(cases(), 2 * TOGETHER * STREAMS)) if each]
    chosen = drawn[number * TOGETHER : (number + 1) * TOGETHER]
    assert len(chosen) == TOGETHER
    in_order = number % 2 == 1
    lateness = 0 if in_order else 4
    tables = []
    for query_ix, (_, table) in enumerate(chosen):
        ticks = table.column("ts").cast(pa.int64()).to_pylist()
        arrival = sorted(
            range(len(table)), key=lambda ix: ticks[ix] + generator.randint(0, lateness * 1_000)
        )
        numbered = table.append_column("number", pa.array([query_ix] * len(table), pa.int64()))
        tables.append(numbered.take(pa.array(arrival)))
    columns = "ts timestamp, type string, x long, y double, k long, s string, seq long, number long"
    feed = Feed(rocksdb, tmp_path, columns)
    left = tables
    for last in (False, False, True):
        cuts = [len(t) if last else generator.randint(0, len(t) - 1) for t in left]
        feed.put(pa.concat_tables([t.slice(0, cut) for t, cut in zip(left, cuts, strict=True)]))
        left = [t.slice(cut) for t, cut in zip(left, cuts, strict=True)]
    frames = [
        query.match(
            feed.events.filter(F.col("number") == query_ix).drop("number"),
            tie_break="seq",
            lateness=f"{lateness} milliseconds",
            in_order=in_order,
            metrics=f"query {query_ix}",
        ).select(
            F.lit(query_ix).alias("query"),
            F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"),
        )
        for query_ix, (query, _) in enumerate(chosen)
    ]
    found: list[list[dict[str, Any]]] = [[] for _ in chosen]

    def collect(batch: DataFrame, _: int) -> None:
        for row in batch.collect():
            found[row["query"]].append(json.loads(row["row"]))

    feed.run(reduce(type(frames[0]).unionAll, frames), collect)
    for (query, table), rows in zip(chosen, found, strict=True):
        frame = rocksdb.createDataFrame(query.match(table, tie_break="seq").to_arrow())
        texts = frame.select(
            F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row")
        ).collect()
        expected = Counter(plain(json.loads(row["row"])) for row in texts)
        ids = [row.pop("match_id") for row in rows]
        assert Counter(map(plain, rows)) == expected, str(query)
        assert len(set(ids)) == len(ids)


def test_late_events_are_counted_and_given(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (20, "A", 2, 5)))
    feed.put(readings((9, "B", 1, 6), (10, "B", 1, 7), (21, "B", 2, 8)))
    feed.put(readings((60, "A", 3, 0)))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds RETURN b.x AS x")
    rows: list[Any] = []
    matches = query.match(feed.events, lateness="10 seconds", late="emit")
    progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    assert {row["x"] for row in rows if row["match_id"]} == {7, 8}
    assert [row["late_event"]["x"] for row in rows if row["late_event"]] == [6]
    counted = [each.observedMetrics["cepheid"] for each in progress]
    assert sum(each["late"] for each in counted) == 1
    assert sum(each["matches"] for each in counted) == 2


@pytest.mark.parametrize("name", ["booked at", "e.ts", "a`b", "Zeit über"])
def test_the_time_may_have_any_name(rocksdb: SparkSession, tmp_path: Path, name: str) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5), (9, "B", 1, 6), (60, "A", 3, 0)))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds RETURN b.x AS x")
    rows: list[Any] = []
    events = feed.events.withColumnRenamed("ts", name)
    matches = query.match(events, time=name, lateness="10 seconds")
    feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    assert [row["x"] for row in rows] == [6]


def test_the_state_of_idle_keys_disappears(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings(*((number / 100, "A", number, 0) for number in range(500))))
    feed.put(readings((3_600, "A", 0, 0)))
    feed.put(readings((7_200, "X", 0, 0)))
    query = cep.query("PATTERN SEQ(A a, ~(B b)) WHERE [id] WITHIN 10 seconds")
    rows: list[Any] = []
    matches = query.match(feed.events.withWatermark("ts", "0 seconds"))
    progress = feed.run(matches, lambda batch, _: rows.extend(batch.collect()))
    assert len(rows) == 501
    states = [each.stateOperators[0].numRowsTotal for each in progress]
    assert states[0] == 5  # Two buckets, a head and a snapshot each, and the guard.
    assert states[-1] == 1


def test_a_changed_query_is_refused_at_once(rocksdb: SparkSession, tmp_path: Path) -> None:
    feed = Feed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5)))
    rows: list[Any] = []
    first = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds")
    feed.run(
        first.match(feed.events, lateness="0 seconds"),
        lambda batch, _: rows.extend(batch.collect()),
    )
    feed.put(readings((1, "B", 2, 5)))
    other = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 16 seconds")
    with pytest.raises(cep.SnapshotError, match="the state of another stream"):
        check_checkpoint(other, feed.events, tmp_path / "checkpoint", lateness="0 seconds")
    check_checkpoint(first, feed.events, tmp_path / "checkpoint", lateness="0 seconds")
    check_checkpoint(other, feed.events, tmp_path / "new checkpoint", lateness="0 seconds")
    message = re.compile(
        r"the checkpoint holds the state of another stream, which differs in\s+query: then "
        r".*15 seconds.*, now .*16 seconds.*or start anew with another checkpointLocation",
        re.DOTALL,
    )
    with pytest.raises(Exception, match="the state of another stream") as caught:
        feed.run(
            other.match(feed.events, lateness="0 seconds"),
            lambda batch, _: rows.extend(batch.collect()),
        )
    assert message.search(str(caught.value))
    assert rows == []


def test_a_sink_that_fails_gets_the_same_matches_again(
    rocksdb: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    generator = random.Random(2)
    table = readings(
        *(
            (second, generator.choice("ABC"), generator.randrange(3), generator.randrange(9))
            for second in range(60)
        ),
        (9_999, "A", 9, 9),
    )
    feed = Feed(rocksdb, tmp_path)
    for low in (0, 20, 40):
        feed.put(table.slice(low, 20 if low < 40 else None))
    query = cep.query("PATTERN SEQ(A a, B b, ~(C c)) WHERE [id] AND a.x < b.x WITHIN 20 seconds")
    written: list[tuple[int, Any]] = []
    failed: set[int] = set()

    def failing(batch: DataFrame, number: int) -> None:
        written.extend((number, row) for row in batch.collect())
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
    found = Counter(plain({**row.asDict(), "match_id": None}) for row in distinct.values())
    expected = query.match(table).to_arrow()
    expected = expected.append_column("match_id", pa.nulls(len(expected), pa.string()))
    comparable = Counter({_without_zone(row): count for row, count in found.items()})
    assert comparable == Counter(map(_without_zone, local_rows(expected).elements()))
    assert len(written) > len(distinct)


def _without_zone(row: Any) -> Any:
    return re.sub(r", tzinfo=[^)]*\)\)?", ")", str(row))


def test_a_driver_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "query").write_text(QUERY)
    write_files(tmp_path / "events", files=5, events=100)
    result = kill_drivers(tmp_path, kills=1, generator=random.Random(3))
    assert result.is_right, result
    assert result.found > 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "set how late events can be"),
        ({"lateness": "10 minuts"}, "lateness is a length of time, .* not '10 minuts'"),
        ({"lateness": 10}, "lateness is a length of time, such as '10 minutes', not 10"),
        ({"lateness": "-1 second"}, "lateness is a length of time, and '-1 second' is negative"),
        ({"in_order": True, "metrics": 3}, "metrics is a name, such as 'thefts', not 3"),
        ({"lateness": "1 second", "late": "keep"}, "late is drop or emit, not 'keep'"),
        ({"lateness": "1 second", "time": "id"}, "must be a timestamp"),
    ],
)
def test_what_cannot_be_is_refused(
    rocksdb: SparkSession, tmp_path: Path, keywords: dict[str, Any], message: str
) -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15")
    if "time" not in keywords:
        query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds")
    with pytest.raises(cep.CepheidError, match=message):
        query.match(Feed(rocksdb, tmp_path).events, **keywords)


def test_a_second_watermark_is_refused(rocksdb: SparkSession, tmp_path: Path) -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds")
    events = Feed(rocksdb, tmp_path).events.withWatermark("ts", "1 second")
    with pytest.raises(cep.OptionError, match="has a watermark already, on 'ts'"):
        query.match(events, lateness="1 second")


def test_a_version_without_the_stateful_operator_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(PandasGroupedOpsMixin, "transformWithState")
    schema = "ts timestamp, type string"
    stream = spark.readStream.schema(schema).json(str(tmp_path))
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 1 minute")
    with pytest.raises(cep.EvaluationError, match=r"need PySpark 4\.1 or later, and this is"):
        query.match(stream, lateness="1 minute")


def test_without_rocksdb_the_message_says_how_to_set_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    if str(spark.conf.get(PROVIDER)).endswith("RocksDBStateStoreProvider"):
        pytest.skip("this Spark uses RocksDB by itself")
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 15 seconds")
    with pytest.raises(cep.OptionError, match="needs RocksDB"):
        query.match(Feed(spark, tmp_path).events, lateness="1 second")
