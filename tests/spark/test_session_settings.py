"""What ``q.match`` does to a Spark session, and to the Python workers."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING

import cepheid as cep
from cepheid.spark.worker import warm

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


def test_batches_have_no_limit_in_bytes_unless_the_user_sets_one(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, "A", 1)], "ts long, type string, id long")
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5")
    spark.conf.unset(BYTES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        query.match(events, in_place=False)
    assert spark.conf.get(BYTES) == str(2**31 - 1)
    spark.conf.set(BYTES, "64m")
    query.match(events, in_place=False)
    assert spark.conf.get(BYTES) == "64m"
    spark.conf.unset(BYTES)


def test_memory_does_not_grow_with_repeated_freezing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_loaded", 0)
    gc.disable()
    try:
        counts = []
        for _ in range(50):
            cycle: list[object] = []
            cycle.append(cycle)  # garbage of a task
            del cycle
            warm.freeze_loaded()
            counts.append(gc.get_freeze_count())
            assert gc.collect() < 50  # The garbage of later tasks is found.
        assert max(counts) == counts[0]
    finally:
        gc.unfreeze()
        gc.enable()
