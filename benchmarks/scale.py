"""``python -m benchmarks.scale [--full]``: speed and memory as streams grow in every direction.

More events, more keys, longer windows, more matches: each case in a process of its own, which
feeds a session with batches and drops the matches. What a case costs is the processor time of
feeding; making the events is not in it, but its memory is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.streaming_memory import MEBI, peak_bytes
from benchmarks.timing import print_table, write_results

SEED = 16
SERIES = ("events", "keys", "window", "matches")
COLUMNS = ("M_events_per_s", "matches_per_event", "peak_MiB", "snapshot_KiB")


@dataclass(frozen=True, slots=True)
class Case:
    """A stream of so many events and types, and SEQ of three over it; a tick is an event."""

    series: str
    events: int
    keys: int = 10_000
    window: int = 10_000
    types: int = 20
    unit: str = ""
    batch: int = 250_000

    @property
    def text(self) -> str:
        """The query: three of the types, of one key."""
        return f"PATTERN SEQ(T0 a, T1 b, T2 c) WHERE [id] WITHIN {self.window} {self.unit}"


def cases(full: bool, shrink: int = 1) -> Iterator[Case]:
    """All cases; ``shrink`` divides the numbers of events."""
    for events in (1_000_000, 10_000_000, *([100_000_000] if full else [])):
        yield Case("events", events // shrink)
    # A key keeps 20 events, however many keys there are: the state is 20 events for each.
    for keys in (1, 100, 10_000, 1_000_000):
        case = Case("keys", 4_000_000 // shrink, keys, 20, 6, "EVENTS PER PARTITION")
        yield replace(case, events=case.events * 5) if full else case
    for window in (100, 1_000, 10_000, 100_000):
        yield Case("window", 2_000_000 // shrink, window=window)
    # 200 events to combine, of one key: the fewer types, the more of them match.
    for types in (2_000, 200, 40, 20, 12, 6, *([3] if full else [])):
        yield Case("matches", 500_000 // shrink, 1, 200, types, batch=25_000)


def run(case: Case) -> dict[str, Any]:
    """Do it in this process."""
    random = np.random.default_rng(SEED)
    names = pa.array([f"T{number}" for number in range(case.types)])
    session = cep.query(case.text).session()
    seconds, matches = 0.0, 0
    largest = min(case.batch, -(-case.events // 4))
    for low in range(0, case.events, largest):
        size = min(largest, case.events - low)
        types = pa.array(random.integers(0, case.types, size).astype(np.int32))
        batch = pa.table(
            {
                "ts": np.arange(low, low + size),
                "type": pa.DictionaryArray.from_arrays(types, names),
                "id": random.integers(0, case.keys, size),
            }
        )
        begun = process_time()
        matches += len(session.feed(batch))
        # The first batch loads compiled code.
        seconds += process_time() - begun if low else 0.0
    timed = case.events - largest
    return {
        "matches": matches,
        "matches_per_event": matches / case.events,
        "M_events_per_s": timed / max(seconds, 1e-9) / 1e6,
        "M_matches_per_s": matches * timed / case.events / max(seconds, 1e-9) / 1e6,
        "peak_MiB": peak_bytes() / MEBI,
        "snapshot_KiB": len(session.snapshot()) / 1024,
    }


def measure(case: Case) -> dict[str, Any]:
    """Do it in a process of its own, whose peak is then that of this case alone."""
    command = [sys.executable, "-m", "benchmarks.scale", "--case", json.dumps(asdict(case))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {**asdict(case), **json.loads(done.stdout)}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """Speed above and memory below, for each series; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(2, 4, figsize=(16, 7), layout="constrained")
    for speed, memory, series in zip(*grid, SERIES, strict=True):
        own = [row for row in rows if row["series"] == series]
        column = "matches_per_event" if series == "matches" else series
        places = [max(row[column], 1e-3) for row in own]
        speed.plot(places, [row["M_events_per_s"] for row in own], marker="o", label="events")
        if series == "matches":
            speed.plot(places, [row["M_matches_per_s"] for row in own], marker="s", label="matches")
        speed.set(xscale="log", yscale="log", ylabel="million per second of processor time")
        speed.set_ylim(0.05, 200)  # the same for all, so that noise does not look like a slope
        speed.legend()
        memory.plot(places, [row["peak_MiB"] for row in own], marker="o", label="peak of process")
        states = [row["snapshot_KiB"] / 1024 for row in own]
        memory.plot(places, states, marker="s", label="state (snapshot)")
        memory.set(xscale="log", yscale="log", xlabel=column.replace("_", " "), ylabel="MiB")
        memory.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cases, or run one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--full", action="store_true", help="100 million events, not 10")
    parser.add_argument("--series", choices=SERIES, nargs="+", default=SERIES)
    parser.add_argument("--shrink", type=int, default=1, help="divide the numbers of events")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    if given.case:
        print(json.dumps(run(Case(**json.loads(given.case)))))
        return
    rows = []
    for series in given.series:
        chosen = [case for case in cases(given.full, given.shrink) if case.series == series]
        own = [measure(case) for case in chosen]
        shown = [] if series in ("events", "matches") else [series]
        print_table(f"More {series}", own, ["events", *shown, *COLUMNS])
        rows += own
    write_results(given.output, "scale", rows, {"seed": SEED, "full": given.full})
    drawn = draw(rows, given.output / "scale.svg")
    print(f"\nResults are in {given.output}/scale.csv and .json{' and .svg' if drawn else ''}.")


if __name__ == "__main__":
    main()
