"""How fast sets of rules run: events per second of CPU time, for 1 to 1,000 rules.

``python -m benchmarks.rules`` runs rules of 10 templates over events of 100 types, and rules of
200 different shapes, in batches of several sizes. ``--alone`` also runs a session of each query, as
a user without rule sets would. ``--flink N …`` runs that many rules as one job of Flink CEP each,
one after the other, if Maven and Java are installed: those of the eight templates that mean the
same there, whose matches are compared. A plot of all speeds is written beside the figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

import cepheid as cep
from benchmarks.peers.peers import CannotBeHad, JavaPeer
from benchmarks.timing import print_table, write_results

SET, ALONE, FLINK = "rule set", "session per query", "Flink CEP job per rule"
FLINK_CEP = JavaPeer("Flink CEP", "FlinkRules", "flink.xml", reads=("Answer",))
NOT_IN_FLINK = (4, 9)
"""The templates with lists, of which Flink CEP finds other matches."""
TYPES = 100
KEYS = 1_000
TEMPLATES = (
    "PATTERN SEQ({a} a, {b} b) WHERE [id] AND a.x > {x} WITHIN {w}",
    "PATTERN SEQ({a} a, {b} b) WHERE [id] AND a.x > {x} AND b.y < {y} WITHIN {w}",
    "PATTERN SEQ({a} a, {b} b, {c} c) WHERE [id] AND a.x > {x} WITHIN {w}",
    "PATTERN SEQ({a} a, ~({c} n), {b} b) WHERE [id] AND a.x > {x} WITHIN {w}",
    "PATTERN SEQ({a} a, {b}+ b[], {c} c) WHERE skip_till_next_match {{ [id] AND a.x > {x} }} "
    "WITHIN {w}",
    "PATTERN SEQ({a} a, {b} b) WHERE [id] AND b.x > a.x + {x} WITHIN {w}",
    "PATTERN SEQ({a} a, {b} b) WHERE [id] AND b.y - a.y > {y} WITHIN {w}",
    "PATTERN SEQ({a} a, {b} b, {c} c) WHERE [id] AND c.x > a.x + {x} WITHIN {w}",
    "PATTERN {a} a WHERE a.x > {x} AND a.y < {y} WITHIN {w}",
    "PATTERN SEQ({a} a, {b}{{2}} b[]) WHERE skip_till_next_match {{ [id] AND a.x > {x} }} "
    "WITHIN {w}",
)


def parameters(count: int) -> list[dict[str, Any]]:
    """The template, the types, the constants and the window of each rule."""
    random, found = Random(7), []
    for number in range(count):
        types = random.sample(range(TYPES), 3)
        found.append(
            {
                "template": number % len(TEMPLATES),
                **{name: f"T{each}" for name, each in zip("abc", types, strict=True)},
                "x": random.randint(950, 998),
                "y": random.randint(1, 50),
                "w": random.choice((500, 1_000, 2_000)),
            }
        )
    return found


def rules_of_templates(count: int) -> dict[str, str]:
    """Rules of ten templates, with types, constants and windows of their own."""
    return {
        f"rule {number}": TEMPLATES[each["template"]].format(**each)
        for number, each in enumerate(parameters(count))
    }


def rules_of_shapes(count: int, shapes: int = 200) -> dict[str, str]:
    """Rules of different shapes: conditions on different attributes and numbers of components."""
    random, rules = Random(11), {}
    for number in range(count):
        shape = number % shapes
        size, mask = 2 + shape % 3, 1 + shape // 3
        chosen = random.sample(range(TYPES), size)
        parts = [f"T{each} {name}" for each, name in zip(chosen, "abcd", strict=False)]
        tests = [
            f"{name}.{attribute} > {random.randint(950, 998)}"
            for bit, (name, attribute) in enumerate(
                [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", "z"), ("b", "z"), ("b", "v")]
            )
            if mask >> bit & 1
        ]
        window = random.choice((500, 1_000, 2_000))
        rules[f"rule {number}"] = (
            f"PATTERN SEQ({', '.join(parts)}) WHERE [id] AND {' AND '.join(tests)} WITHIN {window}"
        )
    return rules


def stream(events: int) -> pa.Table:
    """Events of 100 types, one per unit of time."""
    rng = np.random.default_rng(3)
    names = pa.array([f"T{number}" for number in range(TYPES)])
    columns: dict[str, Any] = {"ts": np.arange(events, dtype=np.int64)}
    columns["type"] = names.take(pa.array(rng.integers(0, TYPES, events)))
    columns["id"] = rng.integers(0, KEYS, events)
    columns |= {name: rng.integers(0, 1_000, events) for name in "xyzv"}
    return pa.table(columns)


def measure(rules: dict[str, str], table: pa.Table, batch: int, alone: bool) -> dict[str, Any]:
    """Speed and matches of rules over a stream; the first batch compiles and is not counted."""
    begun, worked = perf_counter(), process_time()
    sessions: list[Any] = [cep.rules(rules).session()]
    if alone:
        sessions = [cep.query(text).session() for text in rules.values()]
    matches = 0
    for session in sessions:
        matches += len(session.feed(table.slice(0, batch)))
    ready, ready_cpu = perf_counter() - begun, process_time() - worked
    started = process_time()
    for start in range(batch, len(table), batch):
        part = table.slice(start, batch)
        for session in sessions:
            matches += len(session.feed(part))
    seconds = process_time() - started
    return {
        "ready_s": ready,
        "ready_cpu_s": ready_cpu,
        "events_per_s": (len(table) - batch) / seconds,
        "matches": matches,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure_flink(count: int, table: pa.Table) -> dict[str, Any]:
    """The speed of as many rules as jobs of Flink CEP; they find what a set of them finds.

    Time is the CPU time of the Java process, without its start.

    Raises:
        CannotBeHad: Flink cannot be installed here.
    """
    every = (each for each in parameters(2 * count + 2) if each["template"] not in NOT_IN_FLINK)
    chosen = [each for each, _ in zip(every, range(count), strict=False)]
    texts = {f"r{ix}": TEMPLATES[each["template"]].format(**each) for ix, each in enumerate(chosen)}
    with tempfile.TemporaryDirectory() as folder:
        events, rules = Path(folder) / "events.csv", Path(folder) / "rules.csv"
        bare = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(table.select(["ts", "type", "id", "x", "y"]), events, bare)
        rules.write_text("".join(",".join(map(str, each.values())) + "\n" for each in chosen))
        command = [*FLINK_CEP.command(), str(events), str(rules)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer, timed = map(json.loads, said.splitlines()[-2:])
    matches = len(cep.rules(texts).match(table))
    assert answer["answer"][0] == matches, f"Flink finds {answer}, and cepheid {matches}"
    return {"events_per_s": len(table) / timed["seconds"], "matches": matches}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """Events per second over the number of rules; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for way, batch in dict.fromkeys((row["way"], row["batch"]) for row in rows):
        own = [row for row in rows if (row["way"], row["batch"]) == (way, batch)]
        axes.plot(
            [row["rules"] for row in own],
            [row["events_per_s"] for row in own],
            "o-" if way == SET else "o--",
            label=f"{way}, batches of {batch:,}" if batch else way,
        )
    axes.set(xlabel="rules", ylabel="events/s", xscale="log", yscale="log")
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rules", type=int, nargs="+", default=[1, 10, 100, 1_000])
    parser.add_argument("--batches", type=int, nargs="+", default=[65_536, 10_000, 1_000])
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--shapes", action="store_true", help="rules of 200 different shapes")
    parser.add_argument("--alone", action="store_true", help="also a session for each query")
    parser.add_argument("--flink", type=int, nargs="+", default=[], metavar="RULES")
    given = parser.parse_args(arguments)
    make = rules_of_shapes if given.shapes else rules_of_templates
    rows = []
    for count, batch in product(given.rules, given.batches):
        table = stream(min(given.events, batch * 41))
        for way in (SET, ALONE) if given.alone else (SET,):
            found = measure(make(count), table, batch, alone=way == ALONE)
            rows.append({"way": way, "rules": count, "batch": batch, **found})
            print(json.dumps(rows[-1]), flush=True)
    for count in given.flink:
        try:
            found = measure_flink(count, stream(given.events))
        except CannotBeHad as error:
            print(f"Flink CEP: {error}")
            break
        rows.append({"way": FLINK, "rules": count, "batch": None, **found})
        print(json.dumps(rows[-1]), flush=True)
    print_table("Sets of rules", rows)
    name = "rules_of_shapes" if given.shapes else "rules"
    write_results(given.out, name, rows, vars(given) | {"out": str(given.out)})
    draw(rows, given.out / f"{name}.svg")


if __name__ == "__main__":
    main()
