"""Ctrl-C and SIGTERM end a program that waits for a query on Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.interrupts import KINDS, events

import cepheid

QUERY, _, _, EACH = KINDS["nfa_b"]
PATIENCE_SECONDS = 300
COMMAND = "from cepheid.cli import main; main()"
PROGRAM = """
import os, sys
from pyspark.sql import SparkSession
import cepheid as cep

os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
found = cep.query(sys.argv[1]).match(spark.read.parquet(sys.argv[2]), evaluation="nfa_b")
try:
    found.count()
except KeyboardInterrupt:
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(77)  # To close the session takes Spark several seconds.
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Events for which a query takes minutes."""
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table(events(EACH)), path)
    return path


def interrupted(number: int, *arguments: str) -> tuple[int, str, float]:
    """The exit code and stderr of a program that gets a signal while a worker runs its query."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(cepheid.__file__).parents[1])},
        start_new_session=True,
    )
    try:
        until = monotonic() + PATIENCE_SECONDS
        while _workers(process.pid) < 2 and process.poll() is None:  # One starts the others.
            assert monotonic() < until
            sleep(0.2)
        sleep(2)
        begun = monotonic()
        process.send_signal(number)
        code = process.wait(PATIENCE_SECONDS)
        seconds = monotonic() - begun
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return code, errors, seconds


def _workers(session: int) -> int:
    """The number of Spark's Python workers that a program has started."""
    listed = ["ps", "-s", str(session), "-o", "args="]
    lines = subprocess.run(listed, capture_output=True, text=True, check=False).stdout
    return lines.count("pyspark.daemon")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.usefixtures("spark")  # Without Java it skips the test.
def test_a_signal_ends_a_command(number: int, code: int, file: Path) -> None:
    options = ["--spark", "local[1]", "--evaluation", "nfa_b"]
    ended, errors, seconds = interrupted(number, COMMAND, "match", "-q", QUERY, str(file), *options)
    assert (ended, errors.splitlines()[-1]) == (code, "interrupted")
    assert "Traceback" not in errors
    assert seconds < 5


@pytest.mark.usefixtures("spark")
def test_an_interrupt_reaches_a_program(file: Path) -> None:
    ended, errors, seconds = interrupted(signal.SIGINT, PROGRAM, QUERY, str(file))
    assert ended == 77
    assert "interrupted" in errors.splitlines()  # Spark may log after it that a worker has ended.
    assert seconds < 5
