"""Memory of one session over a long stream: it should not grow with the stream.

``python -m benchmarks.streaming_memory [--full]`` feeds 10 (100) million events in batches of
a million and prints the memory of the process and the size of a snapshot along the way.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.sessions import CompiledStocks
from benchmarks.stocks import QUERIES, StockStream, query_text
from benchmarks.timing import print_table, write_results

WINDOW = 500
SEED = 8
MEBI = 1 << 20


def follow(
    query: str, algorithm: str, batches: int, batch_size: int, samples: int = 10
) -> Iterator[dict[str, Any]]:
    """Feed a stream to one session; a row for each of the samples taken along the way."""
    stream = StockStream(0.7, SEED)
    stocks: CompiledStocks | None = None
    matches = 0
    feeding = 0.0
    for number, events in enumerate(stream.batches(batches, batch_size), start=1):
        if stocks is None:
            stocks = CompiledStocks(query_text(query, WINDOW), WINDOW, events)
            session = stocks.session(algorithm)
        begun = process_time()
        matches += len(session.feed(events))
        feeding += process_time() - begun
        if number % max(batches // samples, 1) == 0 or number == 1:
            del events
            gc.collect()
            yield {
                "events": number * batch_size,
                "matches": matches,
                "rss_MiB": resident_bytes() / MEBI,
                "peak_rss_MiB": peak_bytes() / MEBI,
                "snapshot_KiB": len(session.snapshot()) / 1024,
                "M_events_per_s": number * batch_size / max(feeding, 1e-9) / 1e6,
            }


def resident_bytes() -> int:
    """The memory that the process has now; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak_bytes()
    return pages * resource.getpagesize()


def peak_bytes() -> int:
    """The most memory that the process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Feed the stream that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming_memory")
    parser.add_argument("--full", action="store_true", help="100 million events, not 10")
    parser.add_argument("--query", choices=QUERIES, default="p2s3")
    parser.add_argument("--algorithm", choices=("merging", "basic"), default="merging")
    parser.add_argument("--batches", type=int)
    parser.add_argument("--batch-size", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    batches = given.batches or (100 if given.full else 10)
    rows = list(follow(given.query, given.algorithm, batches, given.batch_size))
    print_table(f"{given.query}, {given.algorithm}, batches of {given.batch_size:,} events", rows)
    growth = rows[-1]["peak_rss_MiB"] - rows[0]["peak_rss_MiB"]
    print(f"\nThe peak grew by {growth:.1f} MiB after the first batch.")
    settings = {"query": given.query, "algorithm": given.algorithm, "window": WINDOW, "seed": SEED}
    write_results(given.output, "streaming_memory", rows, settings)


if __name__ == "__main__":
    main()
