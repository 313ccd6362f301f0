"""``python -m benchmarks.workers``: what a second thread gives whole streams, counts and sessions.

Wall-clock time, the fastest of the rounds, in which both run in turn. The events are in memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import print_table, write_results

SEED = 1
BATCH = 500_000
QUERIES = {
    "every match": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 20000",
    "next match": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] } WITHIN 20000",
    "Kleene closure": "PATTERN SEQ(A a, B+ b[], C c) "
    "WHERE skip_till_next_match { [id] AND b[i].x > b[i-1].x } WITHIN 20000",
    "conditions": "PATTERN SEQ(A a, B b, C c) "
    "WHERE [id] AND b.x > a.x + 0.3 AND c.x > b.x + 0.3 WITHIN 30000",
    "negation": "PATTERN SEQ(A a, ~(B b), C c) WHERE [id] WITHIN 20000",
    "no key": "PATTERN SEQ(A a, B b, C c) "
    "WHERE a.id % 500 = 0 AND b.x > a.x + 0.9 AND c.id = a.id WITHIN 2000",
}


def events(count: int) -> pa.Table:
    """One event at each tick, of three types and a thousand ids."""
    random = np.random.default_rng(SEED)
    return pa.table(
        {
            "ts": np.arange(count),
            "type": pa.array(random.choice(list("ABC"), count)).dictionary_encode(),
            "id": random.integers(0, 1_000, count),
            "x": random.random(count),
        }
    )


def fed(query: cep.CompiledQuery, table: pa.Table, workers: int) -> int:
    """The number of matches that a session finds in batches."""
    session = query.session(workers=workers)
    return sum(len(session.feed(table.slice(low, BATCH))) for low in range(0, len(table), BATCH))


WAYS: dict[str, Callable[[cep.CompiledQuery, pa.Table, int], int]] = {
    "match": lambda query, table, workers: len(query.match(table, workers=workers)),
    "count": lambda query, table, workers: query.count(table, workers=workers),
    "session": fed,
}


def compare(name: str, way: str, table: pa.Table, rounds: int) -> dict[str, Any]:
    """One query with one thread and with two."""
    query, run = cep.query(QUERIES[name]), WAYS[way]
    seconds: dict[int, list[float]] = {1: [], 2: []}
    found: dict[int, int] = {}
    for _ in range(rounds + 1):
        for workers, own in seconds.items():
            begun = perf_counter()
            found[workers] = run(query, table, workers)
            own.append(perf_counter() - begun)
    assert found[1] == found[2]
    one, two = (min(own[1:]) for own in seconds.values())
    return {
        "query": name,
        "way": way,
        "events": len(table),
        "matches": found[1],
        "seconds_1": one,
        "seconds_2": two,
        "gain": one / two,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers")
    parser.add_argument("--count", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    table = events(given.count)
    rows = [
        compare(name, way, table, given.rounds)
        for name in QUERIES
        for way in WAYS
        if name != "no key" or way != "session"
    ]
    print_table("One thread and two, seconds of wall-clock time", rows)
    write_results(given.output, "workers", rows, {"rounds": given.rounds, "seed": SEED})


if __name__ == "__main__":
    main()
