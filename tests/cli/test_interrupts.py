"""Ctrl-C and SIGTERM end a running command: the exit code, and one line on stderr."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.interrupts import KINDS, events

import cepheid

MAIN = "from cepheid.cli import main; main()"
# It keeps the main thread without handling signals.
STUCK = "import ctypes; import cepheid.cli.app; from cepheid.cli import main\n"
STUCK += "cepheid.cli.app.app = lambda **_: (print('.'), ctypes.CDLL(None).sleep(60))\nmain()"


def interrupted(
    number: int, *arguments: str, code: str = MAIN, after: float = 3
) -> tuple[int, str, float]:
    """The exit code and stderr of a command that gets a signal, and the seconds that it took."""
    environment = {**os.environ, "PYTHONPATH": str(Path(cepheid.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        sleep(after)
        begun = perf_counter()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    return process.returncode, errors, perf_counter() - begun


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
@pytest.mark.parametrize("command", ["match", "count", "diagnose"])
def test_a_signal_ends_a_command(command: str, number: int, code: int, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    pq.write_table(pa.table(events(KINDS["nfa_b"][3])), file)
    arguments = ["-q", KINDS["nfa_b"][0], str(file)]
    if command == "diagnose":
        arguments = ["diagnose", *arguments]
    else:
        arguments = ["match", *arguments, "--evaluation", "nfa_b"]
        arguments += ["--count"] if command == "count" else ["-o", str(tmp_path / "out.csv")]
    ended, errors, seconds = interrupted(number, *arguments)
    assert (ended, errors) == (code, "interrupted\n")
    assert seconds < 5


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_whose_main_thread_is_stuck(number: int, code: int) -> None:
    ended, errors, seconds = interrupted(number, code=STUCK)
    assert (ended, errors) == (code, "interrupted\n")
    assert seconds < 5
