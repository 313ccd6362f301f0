"""How much faster the runs of NFA^b are than the reference evaluation, which is plain Python.

    python -m benchmarks.beside_reference

The six queries of [Agrawal08 §6]. The reference evaluation is for streams of some windows at most:
it reads a short stream, in which both have to find the same matches, and NFA^b then reads a long
one of the same kind. What is compared is events per second.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

import cepheid as cep
from benchmarks.stocks import QUERIES, StockStream, query_text
from benchmarks.timing import print_table

WINDOW = 500
SEED = 8


def measure(few: int, many: int) -> Iterator[dict[str, Any]]:
    """A row for each query: events per second of both, and the ratio."""
    short, long = (StockStream(0.7, SEED).table(count) for count in (few, many))
    for name in QUERIES:
        query = cep.query(query_text(name, WINDOW))
        begun = process_time()
        expected = query.match(short, evaluation="reference")
        speed = few / (process_time() - begun)
        found = query.match(short, evaluation="nfa_b")
        if sorted(map(str, found)) != sorted(map(str, expected)):
            raise AssertionError(f"the matches of {name} are not those of the reference evaluation")
        query.match(long, evaluation="nfa_b")  # what is done once is no part of it
        begun = process_time()
        query.match(long, evaluation="nfa_b")
        speed_of_runs = many / (process_time() - begun)
        yield {
            "query": name,
            "matches": len(found),
            "reference_events_per_s": speed,
            "nfa_b_events_per_s": speed_of_runs,
            "ratio": speed_of_runs / speed,
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside_reference")
    parser.add_argument("--few", type=int, default=1_800, help="events for the reference")
    parser.add_argument("--many", type=int, default=200_000, help="events for NFA^b")
    given = parser.parse_args(arguments)
    rows = list(measure(given.few, given.many))
    print_table(f"{given.few:,} events and {given.many:,}, W = {WINDOW}", rows)


if __name__ == "__main__":
    main()
