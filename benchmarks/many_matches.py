"""Memory for 50 million matches that are counted, read in batches, or written to a file.

``python -m benchmarks.many_matches`` runs each way in a process of its own, over 1 and over 48
bursts of events with 2 ** 20 - 1 matches each, and prints the most memory that it had.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import cepheid as cep
from benchmarks.streaming_memory import MEBI, peak_bytes
from benchmarks.timing import print_table, write_results

QUERY = (
    "PATTERN SEQ(A a, B+ b[], C c) WITHIN 30 RETURN a.x AS first, count(b[]) AS events, c.x AS last"
)
WAYS = ("import", "count", "batches", "parquet")


def events(bursts: int, size: int) -> dict[str, list[Any]]:
    """Bursts of an A, so many B's and a C, further apart than the window."""
    types = ["A", *["B"] * size, "C"] * bursts
    times = [100 * burst + n for burst in range(bursts) for n in range(size + 2)]
    return {"ts": times, "type": types, "x": list(range(len(types)))}


def run_way(way: str, bursts: int, size: int) -> dict[str, Any]:
    """Do it in this process."""
    begun = process_time()
    query, given = cep.query(QUERY), events(bursts, size)
    found = 0
    if way == "import":
        found = len(query.match(events(1, 1)))  # what is needed for any match at all
    elif way == "count":
        found = query.count(given)
    elif way == "batches":
        found = sum(batch.num_rows for batch in query.match_stream(given).to_batches())
    else:
        from cepheid.cli.formats import Format, Output, write_matches

        stream = query.match_stream(given)
        with Path(os.devnull).open("wb") as sink:
            write_matches(stream, query.tree, Output(Format.PARQUET, None), sink)
        found = stream.found
    spent = process_time() - begun
    return {"matches": found, "seconds": spent, "peak_MiB": peak_bytes() / MEBI}


def measure(way: str, bursts: int, size: int) -> dict[str, Any]:
    """Do it in a process of its own, whose peak is then that of this way alone."""
    command = [sys.executable, "-m", "benchmarks.many_matches", "--way", way]
    command += ["--bursts", str(bursts), "--size", str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"way": way, "bursts": bursts, **json.loads(done.stdout)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all ways, or run one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_matches")
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--bursts", type=int, default=48)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    if given.way:
        print(json.dumps(run_way(given.way, given.bursts, given.size)))
        return
    rows = [measure("import", 1, 1)]
    for way in WAYS[1:]:
        rows += [measure(way, bursts, given.size) for bursts in (1, given.bursts)]
    print_table("matches that are not kept", rows)
    write_results(given.output, "many_matches", rows, {"query": QUERY, "size": given.size})


if __name__ == "__main__":
    main()
