"""The replay of examples/replay goes on where a stream with fewer partitions has stopped."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.spark import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "replay"
QUERY = (
    "PATTERN SEQ(~(C d), A a, B b, ~(C c)) WHERE [id] WITHIN 9 seconds RETURN a.x AS x, b.x AS y"
)
PARTITIONS = "spark.sql.shuffle.partitions"


def test_the_old_and_the_new_stream_have_each_match_once(
    rocksdb: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    import replay

    before = str(rocksdb.conf.get(PARTITIONS))
    request.addfinalizer(lambda: rocksdb.conf.set(PARTITIONS, before))
    generator = random.Random(4)
    rows = [
        (second / 2, generator.choice("AABBC"), generator.randrange(4), second)
        for second in range(160)
    ]
    feed = Feed(rocksdb, tmp_path)
    query = cep.query(QUERY)
    feed.put(readings(*rows[:90]))
    old, new = (tmp_path / "state", tmp_path / "old"), (tmp_path / "state-3", tmp_path / "new")
    matches = query.match(feed.events, lateness="2 seconds")
    start(matches, old[0], old[1], trigger={"availableNow": True}).awaitTermination()
    feed.put(readings(*rows[90:], (9_999, "Z", 0, 0)))
    (tmp_path / "query.sase").write_text(QUERY)
    said = ["--window", "9 seconds", "--lateness", "2 seconds", "--partitions", "3", "--once"]
    places = ["--old", *map(str, old), "--new", *map(str, new)]
    replay.main([str(tmp_path / "query.sase"), str(tmp_path / "events"), *said, *places], rocksdb)
    found = [
        [row["match_id"] for row in rocksdb.read.parquet(str(folder)).collect()]
        for folder in (old[1], new[1])
    ]
    whole = query.match(rocksdb.read.parquet(str(tmp_path / "events")), match_id=True)
    assert all(found)
    assert sorted(found[0] + found[1]) == sorted(row["match_id"] for row in whole.collect())
