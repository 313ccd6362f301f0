"""Events from stdin are matched while they arrive."""

import json
import os
import subprocess
import sys

import pytest

PAIRS = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 hour RETURN a.x AS x, b.y AS y"


class Piped:
    """A command that reads from a pipe which stays open."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cepheid", "match", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().decode()

    def end(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def piped():
    opened = []

    def start(*arguments):
        opened.append(Piped(*arguments))
        return opened[-1]

    yield start
    for each in opened:
        each.process.kill()
        if not each.process.stdin.closed:
            each.process.communicate()
        for stream in (each.process.stdout, each.process.stderr):
            stream.close()


def test_a_match_is_written_when_its_last_event_has_arrived(piped):
    pipe = piped("-q", PAIRS, "-")
    pipe.send('{"ts": "2024-03-01T09:00:00", "type": "A", "id": 1, "x": 5}\n')
    pipe.send('{"ts": "2024-03-01T09:10:00.5", "type": "B", "id": 1, "y": 2.5}\n')
    found = json.loads(pipe.line())
    assert found["return"] == {"x": 5, "y": 2.5}
    assert found["bindings"] == {"a": 0, "b": 1}
    pipe.send('{"ts": "2024-03-01T09:20:00", "type": "B", "id": 1, "y": 3}\n')
    assert json.loads(pipe.line())["bindings"] == {"a": 0, "b": 2}
    code, out, err = pipe.end()
    assert (code, out) == (0, "")
    assert err.startswith("2 matches in ")


def test_csv_arrives_in_pieces_of_lines(piped):
    pipe = piped("-q", "PATTERN SEQ(A a, B b) RETURN b.note AS note", "-", "--format", "csv")
    pipe.send("ts,type,note\n1,A,\n2,")
    assert pipe.line() == '"start","end","note"\n'
    pipe.send('B,"two\n')
    pipe.send('lines"\n3,B,5\n')
    assert pipe.line() == '1,2,"two\n'
    assert pipe.line() == 'lines"\n'
    assert pipe.line() == '1,3,"5"\n'
    assert pipe.end()[0] == 0


def test_a_limit_ends_the_command_while_the_pipe_is_open(piped):
    pipe = piped("-q", "EVENT A", "-", "--limit", "2")
    pipe.send("ts,type\n1,A\n2,A\n3,A\n")
    assert [json.loads(pipe.line())["start"] for _ in range(2)] == [1, 2]
    assert pipe.process.wait(timeout=60) == 0
    assert "stopped after 2 matches (--limit)" in pipe.process.stderr.read().decode()


def test_negations_at_the_end_are_decided_by_later_events_and_by_the_end(run):
    text = "ts,type\n1,A\n9,A\n"
    query = "PATTERN SEQ(A a, ~(B b)) WITHIN 5"
    assert run("match", "-q", query, "-", text=text).bindings == [{"a": 0}, {"a": 1}]


def test_scripts_and_rows_arrive_too(run):
    text = "ts,type,x\n1,A,5\n2,A,6\n"
    script = "EVENT A RETURN X(x = A.x); PATTERN SEQ(X s, X t)"
    lines = run("match", "-q", script, "-", text=text).lines
    assert [line["query"] for line in lines] == ["X", "X", "query_2"]
    rows = run("match", "-q", "PATTERN SEQ(A a, A b)", "-", "--format", "rows", text=text).out
    assert rows.splitlines()[1:] == ['0,"a",1,1,"A",5', '0,"b",1,2,"A",6']


def test_what_cannot_stream_is_run_at_the_end(run):
    text = "ts,type,seq\n1,B,2\n1,A,1\n"
    query = "PATTERN SEQ(A a, B b)"
    found = run("match", "-q", query, "-", "--tie-break", "seq", text=text)
    assert found.bindings == [{"a": 1, "b": 0}]
    table = run("match", "-q", query, "-", "--format", "table", text=text)
    assert table.code == 0
    reference = run("match", "-q", query, "-", "--evaluation", "reference", text=text)
    assert reference.code == 0
    assert run("match", "-q", query, "-", "--count", text=text).out == "0\n"


def test_events_out_of_order_are_refused_with_advice(piped):
    pipe = piped("-q", "EVENT A", "-")
    pipe.send("ts,type\n5,A\n")
    assert pipe.line()
    pipe.send("4,A\n")
    code, _, err = pipe.end()
    assert code == 1
    assert "sort it, or save it to a file" in err


def test_types_and_attributes_that_never_occur_are_told_at_the_end(run):
    text = '{"ts": 1, "type": "Shelf", "tag": 1}\n'
    err = run("match", "-q", "PATTERN Shelv a WHERE a.tagg > 0", "-", text=text).err
    assert "no event has type 'Shelv'" in err
    assert "no event had the attribute 'tagg'" in err


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_input_is_an_error(run, text):
    outcome = run("match", "-q", "EVENT A", "-", text=text)
    assert outcome.code == 1
    assert "no events on stdin" in outcome.err


def test_a_long_input_is_read_in_batches(piped):
    rows = "".join(f"{ts},{'AB'[ts % 2]},{ts % 7}\n" for ts in range(200_000))
    query = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10"
    pipe = piped("-q", query, "-", "-o", os.devnull, "--format", "jsonl")
    _, err = pipe.process.communicate(("ts,type,id\n" + rows).encode(), timeout=120)
    pairs = (200_000 - 7) // 2 + 1
    assert err.decode().startswith(f"{pairs:,} matches in ")


def test_columns_of_several_types_matter_only_if_they_are_needed(run):
    text = '{"ts": 1, "type": "A", "x": 1}\n{"ts": 2, "type": "A", "x": "p"}\n'
    outcome = run("match", "-q", "PATTERN SEQ(A a, A b)", "-", text=text)
    assert outcome.bindings == [{"a": 0, "b": 1}]
    assert "warning" not in outcome.err
