"""One Spark session for all tests of a process: to start one takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",  # Nobody looks, and its port may be taken.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",  # A task for a handful of rows costs more than they do.
    "spark.sql.adaptive.enabled": "false",  # What is spread over two workers stays there.
    "spark.sql.session.timeZone": "UTC",  # The same answers wherever the tests run.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # Quick to start.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

_QUIET = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of Spark in one process: each process would start a JVM of its own."""
    for item in items:
        if "spark" in item.path.parent.parts:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings(_QUIET))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
