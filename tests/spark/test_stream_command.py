"""``cepheid stream`` over a folder, as a person runs it: started, stopped with Ctrl-C, gone on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from typer.testing import CliRunner

from cepheid.cli.app import app
from cepheid.cli.spark import streaming

if TYPE_CHECKING:
    pass

QUERY = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds RETURN a.id AS id"
COLUMNS = "ts timestamp, type string, id long"
PATIENCE_SECONDS = 600


def put(folder: Path, name: str, *rows: tuple[int, str, int]) -> None:
    lines = [
        json.dumps({"ts": f"2024-01-01T00:00:{second:02}Z", "type": type, "id": id_})
        for second, type, id_ in rows
    ]
    part = folder.parent / name
    part.write_text("\n".join(lines))
    part.rename(folder / name)


def start(folder: Path, more: Sequence[str] = ()) -> subprocess.Popen[str]:
    command = [
        *(sys.executable, "-W", "ignore", "-c", "from cepheid.cli import main; main()", "stream"),
        *("-q", QUERY, str(folder / "events"), "--columns", COLUMNS),
        *("--checkpoint", str(folder / "checkpoint"), "--lateness", "1 second"),
        *("--spark", "local[1]", "--conf", "spark.sql.shuffle.partitions=1", *more),
    ]
    with (folder / "said").open("a") as said:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        )


def test_a_stream_is_stopped_and_goes_on(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    put(events, "one.jsonl", (0, "A", 7), (3, "B", 7), (5, "A", 8))
    first = start(tmp_path)
    until = monotonic() + PATIENCE_SECONDS
    try:
        while "batch 0" not in (tmp_path / "said").read_text() and first.poll() is None:
            assert monotonic() < until
            sleep(0.1)
        # A terminal sends it to all processes, Java's as well.
        os.killpg(first.pid, signal.SIGINT)
        found, _ = first.communicate(timeout=PATIENCE_SECONDS)
    finally:
        first.kill()
        first.wait()
    said = (tmp_path / "said").read_text()
    assert first.returncode == 130, said
    assert "batch 0: 3 events, 1 match, 0 late, state" in said
    assert "stopped; run the same command to resume" in said
    assert [json.loads(line)["id"] for line in found.splitlines()] == [7]

    put(events, "two.jsonl", (6, "B", 8), (30, "A", 9))
    second = start(tmp_path, ["--once"])
    try:
        found, _ = second.communicate(timeout=PATIENCE_SECONDS)
    finally:
        second.kill()
        second.wait()
    assert [json.loads(line)["id"] for line in found.splitlines()] == [8]
    assert "all events have been read" in (tmp_path / "said").read_text()


def test_a_micro_batch_is_shown_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pause, Spark has the progress of a micro-batch that has not run yet."""
    said: list[str] = []
    monkeypatch.setattr(streaming, "say", said.append)
    running = MagicMock(recentProgress=[])
    shown = -1
    for number, counts in ((0, {"matches": 1, "late": 0}), (1, {}), (1, {"matches": 2, "late": 0})):
        known = {"cepheid": counts} if counts else {}
        running.recentProgress.append(
            MagicMock(batchId=number, observedMetrics=known, numInputRows=3, eventTime={})
        )
        shown = streaming._show_progress(running, shown)
    assert [line.partition(", 0 late")[0] for line in said] == [
        "batch 0: 3 events, 1 match",
        "batch 1: 3 events, 2 matches",
    ]


@pytest.mark.usefixtures("stream_command")
def test_durations_in_lines_are_seconds(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    put(events, "one.jsonl", (0, "A", 7), (3, "B", 7), (59, "A", 8))
    text = QUERY.replace("a.id AS id", "b.ts - a.ts AS after")
    arguments = ["stream", "-q", text, str(events), "--columns", COLUMNS, "--once"]
    result = CliRunner().invoke(app, [*arguments, "--checkpoint", str(tmp_path / "checkpoint")])
    assert [json.loads(line)["after"] for line in result.stdout.splitlines()] == [3.0]


@pytest.mark.usefixtures("stream_command")
def test_a_script_is_one_stream(tmp_path: Path) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds RETURN Pair(id = a.id); "
    text += "PATTERN SEQ(Pair p, A a) WHERE [id] WITHIN 10 seconds RETURN a.id AS again"
    events = tmp_path / "events"
    events.mkdir()
    put(events, "one.jsonl", (0, "A", 7), (3, "B", 7), (5, "A", 7), (59, "A", 8))
    arguments = ["stream", "-q", text, str(events), "--columns", COLUMNS, "--once"]
    result = CliRunner().invoke(app, [*arguments, "--checkpoint", str(tmp_path / "checkpoint")])
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    shown = sorted((each["query"], each[each["query"]]) for each in found)
    assert [name for name, _ in shown] == ["Pair", "query_2"]
    assert (shown[0][1]["id"], shown[1][1]["again"]) == (7, 7)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--lateness", "10 minuts", "--once"], "'10 minuts' is not a duration, such as"),
        (["--idle-timeout", "soon"], "'soon' is not a duration, such as '10 minutes'"),
        (["--idle-timeout", "1 second", "--once"], "cannot be used with --once"),
        (["--columns", "ts timestmp, id long"], 'Unsupported data type "TIMESTMP"'),
        (["--columns", "ts"], "is not a list of columns"),
    ],
)
@pytest.mark.usefixtures("stream_command")
def test_a_value_that_spark_cannot_read_is_wrong_usage(
    tmp_path: Path, wrong: list[str], said: str
) -> None:
    arguments = ["stream", "-q", QUERY, str(tmp_path), "--columns", COLUMNS, *wrong]
    result = CliRunner().invoke(app, [*arguments, "--checkpoint", str(tmp_path / "checkpoint")])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "SQLSTATE" not in result.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere", "is neither a folder nor kafka://HOST:PORT/TOPIC"),
        ("one.jsonl", "is a file; a stream reads a folder to which files are added"),
        ("", "needs --columns: the columns of its files"),
        ("kafka://localhost:9092/readings", "a topic needs --columns"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    monkeypatch.setattr(streaming, "start_spark", lambda *_: pytest.fail("Spark was started"))
    (tmp_path / "one.jsonl").touch()
    path = source if "://" in source else str(tmp_path / source)
    arguments = ["stream", "-q", QUERY, path, "--checkpoint", str(tmp_path / "checkpoint")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("where", ["stdout", "folder"])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "ts,type,id\n2024-01-01 00:00:00,A,7\n2024-01-01 00:00:01,B\n", "00:00:01,B"),
        ("a.csv", "type,ts,id\nA,2024-01-01 00:00:00,7\n", "header"),
        ("a.jsonl", '{"ts": "2024-01-01T00:00:00", "type": "A"\n', "a.jsonl"),
    ],
)
@pytest.mark.usefixtures("stream_command")
def test_a_row_that_cannot_be_read_ends_a_stream(
    tmp_path: Path,
    name: str,
    text: str,
    said: str,
    where: str,
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / name).write_text(text)
    arguments = ["stream", "-q", QUERY, str(events), "--columns", COLUMNS, "--once"]
    arguments += ["--checkpoint", str(tmp_path / "checkpoint")]
    if where == "folder":
        arguments += ["-o", str(tmp_path / "found")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: Spark cannot read '{events / name}': ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_missing_is_said() -> None:
    run = CliRunner().invoke
    result = run(app, ["stream", "-q", QUERY, "nowhere"])
    assert result.exit_code == 2
    assert "--checkpoint" in result.output
    result = run(app, ["stream", "-q", QUERY, "--checkpoint", "x"])
    assert result.exit_code == 2
    assert "SOURCE" in result.output
