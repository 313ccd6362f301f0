"""The pipeline of examples/pipeline: its stream and its backfill find the same alerts."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"
REASONS = {
    "not JSON": 2,
    "no event_id": 1,
    "no time that can be read": 2,
    "unknown type": 1,
    "the amount is no number": 1,
}
KILLS = int(os.environ.get("CEPHEID_PIPELINE", "0"))
"""How often the stream is killed; ``make pipeline`` sets it."""


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLE)
    import pipeline

    return pipeline


@pytest.fixture
def config(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE / "rules", tmp_path / "rules")
    return Path(shutil.copy(EXAMPLE / "config.toml", tmp_path))


def ids(frame: DataFrame) -> list[str]:
    return sorted(row["match_id"] for row in frame.select("match_id").collect())


def check(pipeline: Any) -> None:
    """The alerts of the stream are those of the backfill, and nothing is lost on the way."""
    alerts = ids(pipeline.table("alerts"))
    assert len({*alerts}) == len(alerts) > 5
    again = pipeline.backfill("2024-05-01", "2024-05-02", as_streamed=True)
    assert ids(again) == alerts
    assert [row["event_id"] for row in pipeline.table("late").collect()] == ["late"]
    rejected = pipeline.table("rejected").groupBy("reason").count().collect()
    assert {row["reason"]: row["count"] for row in rejected} == REASONS
    events = [row[0] for row in pipeline.table("clean").select("event_id").collect()]
    assert len({*events}) == len(events) > 500
    assert {row["rule"] for row in pipeline.table("alerts").collect()} == {
        "tested_card",
        "two_countries",
        "unconfirmed",
    }


def test_stream_and_backfill_find_the_same(
    rocksdb: SparkSession, example: ModuleType, config: Path
) -> None:
    """The stream is stopped in the middle, and started again."""
    pipeline = example.Pipeline.of(config, rocksdb)
    raw = Path(pipeline.place("raw"))
    example.generate(raw, files=2, minutes=90)
    (raw / "0001.jsonl").rename(config.parent / "later")
    pipeline.stream(once=True)
    (config.parent / "later").rename(raw / "0001.jsonl")
    pipeline.stream(once=True)
    check(pipeline)
    page = pipeline.report().read_text()
    assert "tested_card" in page
    assert "the amount is no number" in page
    assert page.count("<polyline") == 6


@pytest.mark.skipif(not KILLS, reason="make pipeline kills it; each start takes many seconds")
def test_a_killed_pipeline_finds_the_same(
    rocksdb: SparkSession, example: ModuleType, config: Path
) -> None:
    text = config.read_text().replace("files_per_micro_batch = 4", "files_per_micro_batch = 1")
    config.write_text(text)
    pipeline = example.Pipeline.of(config, rocksdb)
    example.generate(Path(pipeline.place("raw")), files=24, minutes=240)
    command = [sys.executable, str(EXAMPLE / "pipeline.py"), "--config", str(config)]
    generator = random.Random(1)
    for _ in range(KILLS):
        running = subprocess.Popen([*command, "stream", "--once"], start_new_session=True)
        with suppress(subprocess.TimeoutExpired):
            running.wait(timeout=generator.uniform(15, 60))
        with suppress(ProcessLookupError):  # with its JVM and its workers
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    subprocess.run([*command, "stream", "--once"], check=True)
    check(pipeline)
