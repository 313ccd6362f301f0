"""All tests of Spark in one process: each process would start a JVM of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cepheid.cli.spark import spark_run, streaming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HERE = Path(__file__).parent
_QUIET = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder; the hook sees those of all folders."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings(_QUIET))


class Unstoppable:
    """The session of the tests, which goes on when a command ends."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> None:
        """Other tests need it."""


@pytest.fixture
def batch_command(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands that run over files on Spark find the session of the tests, with their setting."""

    def start(_master: str) -> Unstoppable:
        spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        return Unstoppable(spark)

    monkeypatch.setattr(spark_run, "start_spark", start)
    yield
    spark.conf.unset("spark.sql.timestampType")


@pytest.fixture
def stream_command(rocksdb: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run a stream find the session of the tests."""
    monkeypatch.setattr(streaming, "start_spark", lambda *_: Unstoppable(rocksdb))


@pytest.fixture
def rocksdb(spark: SparkSession, tune: Callable[..., None]) -> Iterator[SparkSession]:
    """A session in which streams run, with small buckets treated as large ones are."""
    tune(logged_bucket_bytes=0)
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    yield spark
    spark.conf.set(PROVIDER, str(before))
