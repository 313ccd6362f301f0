"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

``ci`` (the default) tries the same examples in every run, so that a red run means that the
change broke something. ``long`` looks for new failures, with as many examples of each test as
HYPOTHESIS_EXAMPLES says; what it finds becomes an explicit example.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from cepheid import cache
from cepheid.cache import note_run
from cepheid.engines.base.evaluation import ROW_PATTERN
from cepheid.functions import REGISTERED
from cepheid.planning.registry import EVALUATIONS
from cepheid.sessions.first_runs import Steps
from cepheid.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
_MANY = int(os.environ.get("HYPOTHESIS_EXAMPLES", "5000"))
settings.register_profile("long", max_examples=_MANY, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

for _name in (ROW_PATTERN, *(each.name for each in EVALUATIONS)):
    note_run(_name)  # Few events too are evaluated by compiled code, also the first time.


@pytest.fixture(autouse=True)
def _functions_are_registered_for_one_test() -> Iterator[None]:
    yield
    REGISTERED.clear()


@pytest.fixture
def tune() -> Iterator[Callable[..., None]]:
    """Replace fields of `cepheid.tuning` until the test ends: ``tune(chunk_events=3)``."""
    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(tuned(**changes))


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache in which no evaluation has run, in a process with all its steps."""
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "_HAVE_RUN", set())
    monkeypatch.setattr(Steps, "left", None)


SPARK_SETTINGS = {
    "spark.ui.enabled": "false",  # Nobody looks, and its port may be taken.
    "spark.python.authenticate.socketTimeout": "120s",  # A busy machine starts workers slowly.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",  # A task for a handful of rows costs more than they do.
    "spark.sql.adaptive.enabled": "false",  # What is spread over two workers stays there.
    "spark.sql.session.timeZone": "UTC",  # The same answers wherever the tests run.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # Quick to start.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests of a process: to start one takes seconds."""
    from pyspark.sql import SparkSession

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and there is none")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
