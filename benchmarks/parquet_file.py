"""``python -m benchmarks.parquet_file``: a Parquet file through the command line, end to end.

The file has 10 million events of 20 types and five columns; the query is
``SEQ(E1, E2, E3) WHERE [attr1] WITHIN 10000 EVENTS``. What is measured is the whole process,
with starting Python, reading the file, matching, and writing the matches.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.timing import print_table, write_results
from benchmarks.wu06.stream import query_text, table

DOMAINS = {"attr1": 10_000, "attr2": 20, "attr3": 100}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file, run the command some times, and tell the fastest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parquet_file", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    text = query_text(3, 10_000, "[attr1]")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.parquet"
        pq.write_table(table(given.events, DOMAINS), file)
        size = file.stat().st_size
        command = [sys.executable, "-c", "from cepheid.cli import main; main()", "match"]
        command += ["-q", text, str(file)]
        command += ["-o", str(Path(folder) / "matches.jsonl")]
        seconds, processor = [], []
        for _ in range(given.rounds + 1):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(time.perf_counter() - begun)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            processor.append(used)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    row = {
        "events": given.events,
        "file_MB": size / 1e6,
        "seconds": min(seconds[1:]),
        "processor_seconds": min(processor[1:]),
        "M_events/s": given.events / min(seconds[1:]) / 1e6,
        "M_events/processor_s": given.events / min(processor[1:]) / 1e6,
        "peak_MB": peak,
    }
    print_table("A Parquet file through the command line", [row])
    write_results(given.output, "parquet_file", [row], {"rounds": given.rounds})


if __name__ == "__main__":
    main()
