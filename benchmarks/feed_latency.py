"""``python -m benchmarks.feed_latency``: how long a session takes for a small batch.

Sessions are fed with tables of one event and of ten. The figures are microseconds of processor
time per call, as percentiles. Matches are counted and dropped.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from pathlib import Path
from time import thread_time_ns
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import print_table, write_results

QUERIES = {
    "SEQ of three": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 100",
    "Kleene": "PATTERN SEQ(A a, B+ b[], C c)\n"
    "WHERE skip_till_next_match { [id] AND b[i].x > b[i-1].x } WITHIN 100",
    "window per key": "PATTERN SEQ(A+ a[], B b)\n"
    "WHERE skip_till_next_match { [id] AND a[1].x % 500 = 0 AND b.x < 150 }\n"
    "WITHIN 500 EVENTS PER PARTITION",
    "negation": "PATTERN SEQ(A a, ~(B b), C c) WHERE [id] WITHIN 100",
}
SIZES = (1, 10)
PERCENTILES = (5, 50, 95, 99)
SEED = 27


def batches(count: int, size: int) -> list[pa.Table]:
    """So many tables of so many events."""
    random = np.random.default_rng(SEED)
    total = count * size
    whole = pa.table(
        {
            "ts": np.arange(total),
            "type": random.choice(["A", "B", "C"], total),
            "id": random.integers(0, 5, total),
            "x": random.integers(0, 1_000, total),
        }
    )
    # Copies: each batch has memory of its own, as one that has just arrived.
    return [whole.take(np.arange(low, low + size)) for low in range(0, total, size)]


def latencies(text: str, tables: Sequence[pa.Table]) -> tuple[np.ndarray, int]:
    """Microseconds of each call but the first ones, which compile and load, and the matches."""
    session, matches, times = cep.query(text).session(), 0, []
    gc.collect()
    for batch in tables:
        begun = thread_time_ns()
        found = session.feed(batch)
        times.append(thread_time_ns() - begun)
        matches += len(found)
    return np.array(times[len(times) // 10 :]) / 1_000, matches


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feed_latency", description=__doc__)
    parser.add_argument("--batches", type=int, default=5_000)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for name, text in QUERIES.items():
        for size in SIZES:
            micros, matches = latencies(text, batches(given.batches, size))
            found = np.percentile(micros, PERCENTILES)
            shown = {f"p{p}_us": each for p, each in zip(PERCENTILES, found.tolist(), strict=True)}
            rows.append(
                {"query": name, "events": size, "matches": matches, "mean_us": micros.mean()}
                | shown
                | {"p50_us_per_event": float(found[1]) / size}
            )
    print_table("microseconds of processor time per batch", rows)
    settings = {"batches": given.batches, "seed": SEED}
    write_results(given.output, "feed_latency", rows, settings)


if __name__ == "__main__":
    main()
