"""How long it takes to the first match: with nothing compiled, and with a new query later.

``python -m benchmarks.first_use`` starts a process with an empty cache, which answers by the
definition, one that compiles the kernels that it needs, then others that find them there; and for
each kind of query over uncertain times one with an empty cache (not with ``--quick``). It measures
the installation of its interpreter, such as one of a wheel that brings its kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from benchmarks.timing import print_table, write_results

EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}
MORE_EVENTS = {"ts": [1, 2, 3, 4, 5, 6, 7], "type": ["A", "B", "B", "B", "B", "A", "B"]}
QUERY = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match {{ b[i].x > a.x + {number} }} WITHIN 9"

UNCERTAIN = {
    "any match": "PATTERN SEQ(A a, B b) WITHIN 9",
    "next match": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match WITHIN 9",
    "next match, tied": "PATTERN SEQ(B a, B b, B c) WHERE skip_till_next_match WITHIN 9",
    "negation": "PATTERN SEQ(A a, ~(B n), B b) WITHIN 9",
    "AND": "PATTERN AND(A a, B b) WITHIN 9",
}
"""Queries over uncertain times whose confidences are found in different ways."""

# Runs in a process of its own; what it prints is read by `first_match`.
_SCRIPT = """
import json, sys
from time import perf_counter, process_time
begun = perf_counter()
import cepheid
imported = perf_counter()
matches = cepheid.query(sys.argv[1]).match(json.loads(sys.argv[2]), **json.loads(sys.argv[3]))
assert len(matches) > 1, matches
query_s = perf_counter() - imported
print(json.dumps({"import_s": imported - begun, "query_s": query_s, "cpu_s": process_time()}))
"""


def first_match(
    query: str,
    cache: Path | None,
    events: Mapping[str, Any] = EVENTS,
    reading: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Seconds from the start of a process to its first match, and what they are spent on.

    Without a folder for the cache the process uses that of the user.
    """
    environment = dict(os.environ)
    if cache is not None:
        environment["CEPHEID_CACHE_DIR"] = str(cache)
    begun = perf_counter()
    answer = subprocess.run(
        [sys.executable, "-c", _SCRIPT, query, json.dumps(events), json.dumps(dict(reading))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    total = perf_counter() - begun
    return {**json.loads(answer.stdout), "total_s": total}


COMPILED = MappingProxyType({"evaluation": "nfa_b"})
"""Few events too are run by compiled code."""


def measure(cache: Path, rounds: int, *, is_quick: bool = False) -> list[dict[str, Any]]:
    """A row for each situation; what is repeated is a median."""
    known = QUERY.format(number=-1)
    soon = [first_match(known, cache / f"soon {n}") for n in range(rounds)]
    compiled = [first_match(known, cache / "own", EVENTS, COMPILED)]
    fresh = [
        first_match(QUERY.format(number=-2 - n), cache / "own", EVENTS, COMPILED)
        for n in range(rounds)
    ]
    again = [first_match(known, cache / "own", EVENTS, COMPILED) for _ in range(rounds)]
    situations = {
        "empty cache, by the definition": soon,
        "empty cache, compiled": compiled,
        "new query": fresh,
        "same query again": again,
    }
    rows: list[dict[str, Any]] = []
    for situation, found in situations.items():
        medians = {key: statistics.median(each[key] for each in found) for key in found[0]}
        rows.append({"situation": situation, **medians})
    for name, query in () if is_quick else UNCERTAIN.items():
        found = first_match(query, cache / name, MORE_EVENTS, {"uncertainty": 3})
        rows.append({"situation": f"empty cache, uncertain times, {name}", **found})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_use")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without uncertain times")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.rounds, is_quick=given.quick)
    print_table("seconds from the start of a process to its first match", rows)
    write_results(given.output, "first_use", rows, {"rounds": given.rounds})


if __name__ == "__main__":
    main()
