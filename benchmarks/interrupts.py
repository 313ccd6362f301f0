"""How long Ctrl-C takes to end a running query: ``python -m benchmarks.interrupts``.

Each try is a process of its own. It runs a query on few events, so that everything is compiled,
and then on events for which it would take minutes.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
from math import ceil
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

import cepheid as cep

TRIES = 50
_EACH = 200_000
_FEW = 4_000
_NO_MATCH = "PATTERN SEQ(A a, B b, C c) WHERE a.x + b.x + c.x < 0"
_NO_PAIR = "PATTERN SEQ(A a, B b, C c) WHERE a.x + b.x < 0 AND c.x > b.x"
_NO_TIMES = "PATTERN SEQ(A a, B b, C c) WHERE a.ts + b.ts < 0 AND c.x > b.x"
_ALL = "PATTERN SEQ(A a, B b, C c)"
_ROWS = (
    "MATCH_RECOGNIZE (ORDER BY ts PATTERN ((A | B)* C) "
    "DEFINE A AS sum(A.x) > 0, B AS sum(B.x) > 0, C AS x > 1000)"
)
_SUMS = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A* C) DEFINE A AS sum(A.x) > 0, C AS x > 1000)"
_JOIN = "SELECT count(*) FROM events a, events b, events c WHERE a.x + b.x + c.x < 0"
_STEPS = {"max_steps": 10**15}

# The query, the method that runs it, its options, and the number of events of each type.
KINDS: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "nfa_b": (_NO_PAIR, "match", {"evaluation": "nfa_b"}, _EACH),
    "nfa_b backtrack": (
        _NO_PAIR,
        "match",
        {"evaluation": "nfa_b", "options": {"algorithm": "backtrack"}},
        _EACH,
    ),
    "nfa_b versioned": (
        _NO_PAIR,
        "match",
        {"evaluation": "nfa_b", "options": {"buffer": "versioned"}},
        _EACH,
    ),
    "instance_stacks": (_NO_MATCH, "match", {"evaluation": "instance_stacks"}, _FEW),
    "instance_stacks, many matches": (_ALL, "stream", {"evaluation": "instance_stacks"}, _FEW),
    "lazy_chain": (_NO_MATCH, "match", {"evaluation": "lazy_chain"}, _FEW),
    "lazy_tree": (_NO_MATCH, "match", {"evaluation": "lazy_tree"}, _FEW),
    "imprecise": (f"{_NO_MATCH} WITHIN 1000000", "match", {"uncertainty": 2}, _FEW),
    "reference": (_NO_MATCH, "match", {"evaluation": "reference"}, _FEW),
    "count": (_NO_PAIR, "count", {"evaluation": "nfa_b"}, _EACH),
    # Runs with equal values are merged, so that the values are times.
    "compressed": (_NO_TIMES, "match", {"evaluation": "nfa_b", "output": "compressed"}, _EACH),
    "negation": (
        "PATTERN SEQ(A a, ~(B b), C c) WHERE b.x > a.x + c.x",
        "stream",
        {},
        _EACH,
    ),
    "diagnosis": (_NO_PAIR, "diagnose", {}, _EACH),
    "session": (_NO_PAIR, "feed", {"evaluation": "nfa_b"}, _EACH),
    "corrections": (_NO_PAIR, "feed", {"evaluation": "nfa_b", "corrections": 5}, _EACH),
    "rules": (_NO_PAIR, "rules", {}, _EACH),
    "row_pattern": (_ROWS, "match", {"evaluation": "row_pattern", **_STEPS}, _FEW),
    "row_pattern, reference": (_SUMS, "match", {"evaluation": "reference", **_STEPS}, _FEW),
    "sql": (_JOIN, "sql", {}, _FEW),
}


def events(each: int) -> dict[str, Any]:
    """As many events of each type; those of one type come before those of the next."""
    types = np.repeat(np.array(["A", "B", "C"]), each)
    return {"ts": np.arange(3 * each), "type": types, "x": np.arange(3 * each) % 97 + 1}


def run(kind: str, each: int) -> None:
    """Run a query to its end."""
    text, method, options, _ = KINDS[kind]
    if method == "sql":
        cep.sql(text, events=events(each), **options)
        return
    if method == "rules":
        cep.rules({"one": text, "other": text}).match(events(each), **options)
        return
    query = cep.query(text)
    if method == "stream":
        for _ in query.match_stream(events(each), **options):
            pass
    elif method == "feed":
        query.session(**options).feed(events(each))
    else:
        getattr(query, method)(events(each), **options)


def delay(kind: str, number: int = signal.SIGINT, after: float = 0.5) -> tuple[float, int, str]:
    """Seconds from a signal to the end of the process, its exit code, and its stderr."""
    paths = [Path(cep.__file__).parents[1], Path(__file__).parents[1]]
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.interrupts", kind],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        sleep(after)
        begun = perf_counter()
        process.send_signal(number)
        _, errors = process.communicate()
        return perf_counter() - begun, process.returncode, errors


def main() -> None:
    """Interrupt each kind of query many times."""
    if len(sys.argv) > 1:
        run(sys.argv[1], 20)
        print("ready", flush=True)
        run(sys.argv[1], KINDS[sys.argv[1]][3])
        return
    print(f"seconds from Ctrl-C to the end of the process, {TRIES} tries\n")
    print(f"{'kind':30} {'median':>7} {'p95':>7} {'most':>7}")
    for kind in KINDS:
        seconds = sorted(delay(kind, after=0.3 + 0.02 * n)[0] for n in range(TRIES))
        p95 = seconds[ceil(0.95 * TRIES) - 1]
        print(f"{kind:30} {statistics.median(seconds):7.3f} {p95:7.3f} {seconds[-1]:7.3f}")


if __name__ == "__main__":
    main()
