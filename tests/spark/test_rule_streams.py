"""A set of rules over a streaming DataFrame: changes on the way, faults, restarts, many rules."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.stream_faults import kill_drivers, write_files
from spark.random_rules import random_rule
from spark.test_rule_buckets import as_text, in_milliseconds, without_ids
from spark.test_rules import local_alerts, spark_alerts
from spark.test_streams import COLUMNS, Feed, micro_batches, readings

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STREAMS = int(os.environ.get("CEPHEID_RULE_STREAMS", "1"))
"""How many random streams there are; twenty take some minutes."""
PAIR = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 9 seconds"
LAST = (9_999, "Z", 0, 0)


class RuleFeed(Feed):
    """A folder of events, and one of changes."""

    def __init__(self, spark: SparkSession, folder: Path, columns: str = COLUMNS) -> None:
        super().__init__(spark, folder, columns)
        self.change_files = 0
        (folder / "changes").mkdir()

    @property
    def changes(self) -> DataFrame:
        return self.spark.readStream.text(str(self.folder / "changes"))

    def change(self, *texts: str) -> None:
        part = self.folder / "part"
        part.write_text("\n".join(texts))
        part.rename(self.folder / "changes" / f"{self.change_files:04}.txt")
        self.change_files += 1


def drawn(seed: int, count: int = 40) -> list[tuple[float, str, int, int]]:
    generator = random.Random(seed)
    return [
        (second, generator.choice("ABBC"), generator.randrange(4), generator.randrange(9))
        for second in range(count)
    ]


def started(feed: RuleFeed, alerts: DataFrame, rows: list[Any]) -> Any:
    def collect(batch: DataFrame, _: int) -> None:
        rows.extend(batch.toArrow().to_pylist())

    checkpoint = str(feed.folder / "checkpoint")
    return alerts.writeStream.foreachBatch(collect).option("checkpointLocation", checkpoint).start()


def test_rules_change_while_the_stream_runs(rocksdb: SparkSession, tmp_path: Path) -> None:
    rules = cep.rules(
        {
            "pair": {"query": PAIR, "severity": "low", "tags": ["t"]},
            "same": "PATTERN SEQ(A a, C c) WHERE [x] WITHIN 9 seconds RETURN c.id AS id",
            "absent": "PATTERN SEQ(A a, ~(B b)) WHERE [id] WITHIN 3 seconds",
            "c": "PATTERN C c WHERE c.x > 3 RETURN c.x AS x",
        }
    )
    feed, rows = RuleFeed(rocksdb, tmp_path), []
    table = readings(*drawn(1, 60), LAST)
    local = rules.session()
    local.feed(table.slice(0, 0))
    expected: Counter[str] = Counter()
    steps: list[dict[str, Any]] = [
        {},
        {"pair": {"severity": "high"}, "new": "PATTERN SEQ(B b, C c) WHERE [id] WITHIN 5 seconds"},
        {"same": None, "c": {"enabled": False}},
    ]
    alerts = rules.match(
        feed.events, changes=feed.changes, keys=["x", "id"], lateness="0 seconds", metrics="rules"
    )
    # The frontier has reached the newest event of a micro-batch.
    running = started(feed, alerts, rows)
    try:
        for number, changes in enumerate(steps):
            if changes:
                given = [
                    as_text(name, {"query": each} if isinstance(each, str) else each)
                    for name, each in changes.items()
                ]
                feed.change(*given, '{"name": "nobody", "enabled": true}')
                running.processAllAvailable()
                expected += local_alerts(local.apply(changes))
            part = table.slice(number * 20, 20 if number < 2 else None)
            feed.put(part)
            running.processAllAvailable()
            expected += local_alerts(local.feed(part))
        progress = micro_batches(running)
    finally:
        running.stop()
    expected += local_alerts(local.advance(table["ts"][-1].as_py()))
    found = spark_alerts(rows)
    read = [(each.batchId, *(source.numInputRows for source in each.sources)) for each in progress]
    assert without_ids(found) == without_ids(expected), f"rows read in each micro-batch: {read}"
    # A rule that looks at each event alone has ids with the columns of the key.
    assert {text for text in found if '"rule": "c"' not in text} <= {*expected}
    assert {"pair", "same", "absent", "c", "new"} == {
        row["rule"] for row in rows if not row["fault"]
    }
    faults = [(row["rule"], row["fault"].partition(";")[0]) for row in rows if row["fault"]]
    assert faults == [("nobody", "there is no rule of this name to change")] * 2
    counted = [each.observedMetrics["rules"]["matches"] for each in progress]
    assert sum(counted) == len(rows)
    own = rules.typed(rocksdb.createDataFrame(rows, alerts.schema), "same").drop("match_id")
    assert {field.name: field.dataType.simpleString() for field in own.schema} == {
        "start": "timestamp",
        "end": "timestamp",
        "id": "bigint",
    }
    assert own.count() == len([row for row in rows if row["rule"] == "same"])


@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
@pytest.mark.parametrize("seed", range(STREAMS))
def test_random_streams_agree_with_local_sessions(
    rocksdb: SparkSession, tmp_path: Path, seed: int
) -> None:
    """The stream is stopped and started again between micro-batches; sinks fail."""
    from pyspark.errors import StreamingQueryException

    generator = random.Random(seed)
    given = {f"rule {ix}": _random(generator) for ix in range(6)}
    rules = cep.rules(given)
    feed = RuleFeed(rocksdb, tmp_path, COLUMNS + ", s string, seq long")
    table = readings(*drawn(seed, 45), LAST)
    table = table.append_column("s", [[generator.choice("pq") for _ in range(len(table))]])
    table = table.append_column("seq", [list(range(len(table)))])
    local = rules.session(tie_break="seq")
    local.feed(table.slice(0, 0))
    expected: Counter[str] = Counter()
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    failed: set[int] = set()

    def failing(batch: DataFrame, number: int) -> None:
        for row in batch.toArrow().to_pylist():
            rows[(row["rule"], row["match_id"], row["fault"])] = row
        if number not in failed and generator.random() < 0.4:
            failed.add(number)
            raise OSError("the sink is full")

    def run() -> None:
        alerts = rules.match(
            feed.events,
            changes=feed.changes,
            keys=["id", []],
            lateness="0 seconds",
            tie_break="seq",
        )
        for _ in range(9):
            # Apart from the sink, a worker of Spark may fail on a busy machine.
            with suppress(StreamingQueryException):
                feed.run(alerts, failing)
                return
        pytest.fail("the stream did not come to its end")

    for number in range(3):
        if number:
            name = generator.choice([*given, f"new {number}"])
            rule = generator.choice([None, _random(generator)]) if name in given else None
            rule = rule or _random(generator) if name not in given else rule
            feed.change(as_text(name, rule))
            run()
            expected += local_alerts(local.apply({name: rule}))
            given = {**given, name: rule} if rule else {k: v for k, v in given.items() if k != name}
        part = table.slice(number * 15, 15 if number < 2 else None)
        feed.put(part)
        run()
        expected += local_alerts(local.feed(part))
    expected += local_alerts(local.advance(table["ts"][-1].as_py()))
    assert without_ids(spark_alerts(rows.values())) == without_ids(expected)


def _random(generator: random.Random) -> dict[str, Any]:
    rule = in_milliseconds(random_rule(generator, ""))
    rule["query"] = rule["query"].replace("milliseconds", "seconds")
    if "at_most_once_per" in rule:
        rule["at_most_once_per"] = rule["at_most_once_per"].replace("milli", "")
    return rule


def test_a_driver_that_is_killed_loses_no_match(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"pair": PAIR, "c": "PATTERN C c RETURN c.x"}))
    write_files(tmp_path / "events", files=5, events=60)
    (tmp_path / "changes").mkdir()
    changes = [
        {
            "name": "type",
            "query": "PATTERN SEQ(A a, A b) WHERE [type] AND a.x = b.x WITHIN 9 seconds",
        },
        {"name": "pair", "severity": "high"},
        {"name": "c", "removed": True},
        {"name": "all", "query": "PATTERN SEQ(B a, C b) WHERE a.x = b.x WITHIN 9 seconds"},
    ]
    for number, change in enumerate(changes):
        path = tmp_path / "changes" / f"{number}.txt"
        path.write_text(json.dumps(change))
        os.utime(path, (1e9 + number, 1e9 + number))
    result = kill_drivers(tmp_path, kills=1, generator=random.Random(3))
    assert result.is_right, result
    assert result.found > 0


def test_a_rule_is_added_to_hundreds(rocksdb: SparkSession, tmp_path: Path) -> None:
    """It gives matches from the next micro-batch on, and the others' are as without it."""
    rules = cep.rules(
        {
            f"rule {number}": f"PATTERN SEQ(A a, B b) WHERE [id] AND b.x > {number} WITHIN 5 s"
            for number in range(HUNDREDS)
        }
    )
    feed, rows = RuleFeed(rocksdb, tmp_path), []
    table = readings(*drawn(4, 20))
    alerts = rules.match(feed.events, changes=feed.changes, keys=["id"], lateness="0 seconds")
    running = started(feed, alerts, rows)
    try:
        feed.put(table.slice(0, 10))
        running.processAllAvailable()
        feed.change(as_text("new", {"query": "PATTERN B b RETURN b.x AS x"}))
        running.processAllAvailable()
        assert not [row for row in rows if row["rule"] == "new"]
        feed.put(table.slice(10))
        running.processAllAvailable()
    finally:
        running.stop()
    new = [row for row in rows if row["rule"] == "new"]
    assert len(new) == table.slice(10)["type"].to_pylist().count("B")
    others = spark_alerts(row for row in rows if row["rule"] != "new")
    assert others == local_alerts(rules.match(table))


HUNDREDS = int(os.environ.get("CEPHEID_HUNDREDS_OF_RULES", "100"))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "set how late events can be"),
        ({"keys": ["idd"]}, "keys names 'idd'.*Did you mean 'id'"),
        ({"keys": "id"}, r"keys is a list of keys, such as \['id'\]"),
        ({"columns": ["y"]}, "columns names 'y'"),
        ({"late": "keep"}, "late is"),
        ({"changes": 1}, "changes is a streaming DataFrame"),
        ({"max_step": 1}, "max_step"),
    ],
)
def test_what_cannot_be_is_refused(
    rocksdb: SparkSession, tmp_path: Path, keywords: dict[str, Any], message: str
) -> None:
    feed = RuleFeed(rocksdb, tmp_path)
    if "changes" in keywords:
        keywords = {"changes": rocksdb.createDataFrame([(1,)], "value int")}
    with pytest.raises(cep.OptionError, match=message):
        cep.rules({"pair": PAIR}).match(
            feed.events, **{"lateness": "1 second", **keywords} if keywords else {}
        )


def test_rules_that_need_other_columns_or_keys_do_not_run(
    rocksdb: SparkSession, tmp_path: Path
) -> None:
    feed = RuleFeed(rocksdb, tmp_path)
    rules = cep.rules(
        {
            "pair": PAIR,
            "column": "PATTERN SEQ(A a, B b) WHERE [id]",
            "key": "PATTERN SEQ(A a, B b) WITHIN 1 second RETURN a.id AS id",
        }
    )
    feed.put(readings((0, "A", 1, 5), (1, "B", 1, 6), (0, "B", 1, 7)))
    feed.put(readings((0.5, "B", 1, 8), (30, "B", 1, 9)))
    columns = feed.events.columns
    with pytest.warns(cep.CepheidWarning) as warned:
        alerts = cep.rules({**rules, "gone": "PATTERN A a WHERE a.y = 1"}).match(
            feed.events, columns=["id", "x"], keys=["id", "x"], lateness="0 seconds", late="emit"
        )
    text = str(warned[0].message)
    assert "2 rules cannot run" in text
    assert "key of the stream" in text
    found: list[Any] = []
    feed.run(alerts, lambda batch, _: found.extend(batch.collect()))
    assert {row["rule"] for row in found if row["late_event"] is None} == {"pair", "column"}
    [late] = [row["late_event"] for row in found if row["late_event"] is not None]
    assert late.asDict().keys() == {*columns}
    assert late["x"] == 8


def test_other_rules_do_not_continue_from_a_checkpoint(
    rocksdb: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    feed = RuleFeed(rocksdb, tmp_path)
    feed.put(readings((0, "A", 1, 5)))
    first = cep.rules({"pair": PAIR}).match(feed.events, lateness="0 seconds")
    feed.run(first, lambda batch, _: batch.collect())
    feed.put(readings((1, "B", 1, 6)))
    other = cep.rules({"pair": PAIR + " RETURN a.x"}).match(feed.events, lateness="0 seconds")
    with pytest.raises(StreamingQueryException, match="state of another stream"):
        feed.run(other, lambda batch, _: batch.collect())
