"""Progress is shown on a terminal, and nothing of it on a pipe."""

import io
import os
import pty
import subprocess
import sys

import pytest

import cepheid as cep
from cepheid.cli.app import app

QUERY = "PATTERN SEQ(A a, B b) WHERE [x] WITHIN 50"


@pytest.fixture
def many(folder):
    rows = "".join(f"{ts},{'AB'[ts % 2]},{ts % 7}\n" for ts in range(300_000))
    (folder / "many.csv").write_text("ts,type,x\n" + rows)


def test_a_stream_of_matches_knows_how_far_it_is(tune):
    tune(chunk_events=100)
    events = {"ts": list(range(1000)), "type": ["A"] * 1000}
    for query in ("EVENT A", "PATTERN SEQ(A a, ~(B b)) WITHIN 5"):
        stream = cep.query(query).match_stream(events)
        assert stream.progress == (0, 1000)
        next(iter(stream))
        assert 0 <= stream.progress[0] < 1000
        stream.exhaust()
        assert stream.progress == (1000, 1000)


@pytest.mark.usefixtures("many")
def test_progress_is_shown_on_a_terminal():
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cepheid", "match", "-q", QUERY, "many.csv", "-o", "out.jsonl"]
    with subprocess.Popen(command, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:
            pass
        assert process.wait(timeout=120) == 0
    os.close(ours)
    text = shown.decode()
    assert "of 300,000 rows" in text
    assert "rows/s" in text
    assert "left" in text
    assert "matches in" in text


class Terminal(io.StringIO):
    """What a command writes to a terminal."""

    def isatty(self):
        return True


SCRIPT = "EVENT Shelf RETURN Seen(tag = Shelf.tag_id); PATTERN SEQ(Seen s, Exit c)"


@pytest.mark.parametrize(
    ("command", "shown", "printed"),
    [
        (["match", "-q", SCRIPT, "events.csv", "-o", "found.jsonl"], "Matching query_2", ""),
        (["match", "-q", SCRIPT, "events.csv", "--count"], "Counting query_2", "Seen: 2"),
        (["match", "theft.sase", "events.csv", "--count"], "Counting", "1"),
        (["report", "theft.sase", "events.csv", "-o", "page.html"], "Matching", ""),
    ],
)
@pytest.mark.usefixtures("folder")
def test_scripts_counts_and_reports_show_progress(command, shown, printed, monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    app(command, standalone_mode=False)
    assert f"{shown} " in terminal.getvalue()
    assert "of 5 rows" in terminal.getvalue() or "of 7 rows" in terminal.getvalue()
    assert capsys.readouterr().out.startswith(printed)


@pytest.mark.parametrize("what", [["match"], ["match", "--count"], ["report"]])
def test_nothing_is_shown_on_a_pipe(run, what):
    command, *more = what
    err = run(command, "theft.sase", "events.csv", *more).err
    assert err.startswith("" if more else "1 match in ")
    assert "rows" not in err
