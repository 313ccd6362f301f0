"""``python -m benchmarks.flink_peer --flink-python PYTHON``: cepheid beside Flink SQL.

PYTHON is the interpreter of an environment in which ``pip install apache-flink`` was run; Flink
and cepheid need not be in one. Both read the same CSV file and find the same matches, which is
checked: a start, the first B after it and the first C after that. This is what
skip_till_next_match means, and what MATCH_RECOGNIZE finds where each skipped event is not the one
that is waited for; it has no counterpart of skip_till_any_match.

Flink runs in a cluster of one process with two slots, whose start is not in its time; cepheid in
one thread of this process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from pyarrow import csv

import cepheid as cep
from benchmarks.spark_peers.data import events
from benchmarks.timing import print_table, write_results

TYPES, SEED, EVENTS_IN_WINDOW, SLOTS = 6, 6, 20, 2
COLUMNS = ["ts", "type", "id", "x", "y"]


def find(file: Path, window: int) -> cep.Matches:
    """The matches that cepheid finds in the file."""
    query = cep.query(
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] } "
        f"WITHIN {window} RETURN a.ts AS a, b.ts AS b, c.ts AS c"
    )
    return query.match(csv.read_csv(file, csv.ReadOptions(column_names=COLUMNS)))


def summary(found: cep.Matches) -> list[int]:
    """How many matches there are, and sums that depend on all of them, as in ``job.py``."""
    table = found.to_arrow()
    a, b, c = (table.column(name).to_numpy() for name in "abc")
    mixed = (a * 31 + b * 7 + c) % 1_000_003
    return [len(found), *(int(values.sum()) for values in (a, b, c, mixed))]


def run_flink(python: str, file: Path, window: int, rounds: int) -> dict[str, Any]:
    """What the job in Flink says of itself: its answer, and the times of its rounds."""
    job = Path(__file__).with_name("job.py")
    command = [python, job, file, str(window), str(SLOTS), str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def measure(python: str, count: int, ids: int, rounds: int) -> dict[str, Any]:
    """Seconds of both over so many events."""
    window = ids * EVENTS_IN_WINDOW
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.csv"
        bare = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(events(count, ids, TYPES, np.random.default_rng(SEED)), file, bare)
        answer = summary(find(file, window))
        said = run_flink(python, file, window, rounds)
        assert said["answer"] == answer, f"Flink finds {said['answer']}, and cepheid {answer}"
        ours: dict[str, list[float]] = {"seconds": [], "of_processor": []}
        for _ in range(rounds):
            begun, used = perf_counter(), process_time()
            find(file, window)
            ours["seconds"].append(perf_counter() - begun)
            ours["of_processor"].append(process_time() - used)
    row: dict[str, Any] = {"events": count, "ids": ids, "matches": answer[0]}
    for kind in ours:
        for name, times in (("flink", said), ("cepheid", ours)):
            row[f"{name}_{kind}"] = statistics.median(times[kind])
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare at the sizes that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flink_peer")
    parser.add_argument("--flink-python", required=True, help="a Python that has apache-flink")
    parser.add_argument("--count", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--ids", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    rows = [measure(given.flink_python, count, given.ids, given.rounds) for count in given.count]
    settings = {"types": TYPES, "seed": SEED, "rounds": given.rounds, "slots": SLOTS}
    write_results(given.output, "flink_peer", rows, settings)
    print_table("Seconds of SEQ of 3 over a CSV file, the same matches", rows)
    print(f"\nResults are in {given.output}/flink_peer.csv and .json.")


if __name__ == "__main__":
    main()
