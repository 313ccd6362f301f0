"""The comparison with peers runs, at a size at which it measures nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import trends
from benchmarks.peers import __main__ as peers
from benchmarks.peers import page
from benchmarks.peers.peers import FOLDER, CannotBeHad, JavaPeer, PythonPeer


def test_answers_are_compared(tmp_path, monkeypatch, capsys):
    absent = JavaPeer("Absent", "Nothing", "nothing.xml")
    monkeypatch.setattr(peers, "PEERS", (peers.CEPHEID, absent))
    monkeypatch.setattr(peers, "WORKLOADS", {"negation": ""})

    def refuse(_peer):
        raise CannotBeHad("javac is not installed")

    monkeypatch.setattr(JavaPeer, "command", refuse)
    peers.main(["--count", "2000", "--ids", "20", "--output", str(tmp_path)])
    ours, other = json.loads((tmp_path / "peers.json").read_text())["rows"]
    assert (ours["said"], other["said"]) == ("the same answer", "javac is not installed")
    assert "OpenCEP is skipped" in capsys.readouterr().out


def test_another_answer_is_reported():
    row = {"peer": "cepheid", "workload": "sequence", "matches": 3, "sum": 5, "seconds": 2.0}
    other = {**row, "peer": "other", "sum": 6, "seconds": 5.0}
    assert [each["said"] for each in peers.judged([row, other])] == [
        "the same answer",
        "another answer",
    ]
    assert peers.judged([row, other])[1]["times_ours"] == 2.5


@pytest.mark.parametrize("workload", peers.WORKLOADS)
def test_sql_has_the_same_answer(workload, tmp_path):
    pytest.importorskip("duckdb")
    file = tmp_path / "events.csv"
    peers.write_events(file, 3_000, 30)
    answers = []
    for script in ("cepheid_peer.py", "duckdb_peer.py"):
        command = [sys.executable, str(FOLDER / script), str(file), workload, "600"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert answers[0]["answer"][0] > 0


def test_a_peer_that_takes_too_long_is_stopped():
    said = peers.run([sys.executable, "-c", "while True: pass"], 0.3).said
    assert said == {"cannot": "took more than 0 s"}


def test_every_peer_has_its_files():
    for peer in peers.PEERS:
        names = [peer.script] if isinstance(peer, PythonPeer) else []
        if isinstance(peer, JavaPeer):
            names = [f"java/{peer.main}.java", f"java/{peer.dependencies}"]
        assert all((Path(FOLDER) / name).is_file() for name in names)


def test_aggregates_beside_listing(tmp_path):
    trends.main(["--sizes", "6", "30", "--rounds", "1", "--output", str(tmp_path)])
    rows = json.loads((tmp_path / "trends.json").read_text())["rows"]
    assert [row["way"] for row in rows].count("listing") == 1


def test_the_page_says_where_cepheid_loses():
    ours = {
        "peer": "cepheid", "workload": "any_match", "matches": 3, "sum": 5,
        "seconds": 2.0, "seconds_of_start": 1.0, "peak_MiB": 100.0,
    }  # fmt: skip
    other = {**ours, "peer": "DuckDB", "seconds": 0.6, "seconds_of_start": 0.1, "peak_MiB": 300.0}
    absent = {"peer": "Esper", "workload": "any_match", "said": "mvn is not installed"}
    settings = {"events": 1_000, "ids": 10, "window": 200, "seed": 27, "limit": 60.0}
    rows = [*peers.judged([ours, other]), absent]
    text = page.page({"rows": rows, "settings": settings})
    assert "| DuckDB | 0.60 | 0.50 | 0.50 | 300 | same |" in text
    assert "| Esper | | | | | mvn is not installed |" in text
    assert "**DuckDB** takes less CPU time without the start" in text
    assert "any match 0.50" in text
    assert "takes less memory" not in text
