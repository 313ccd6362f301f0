"""``python -m benchmarks.peers``: the same questions, asked of cepheid and of its peers.

Each peer is installed from a package registry in an environment of its own, or skipped with a
word. It runs as a process that reads the events from a CSV file, finds all matches, and prints
their number and a sum that depends on all of them; these answers are compared. CPU time and peak
memory, which is read every few milliseconds, are those of the whole process. What a peer needs for
a handful of events, which is its start and the compilation of code, is measured as well, and shown
apart.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.peers.peers import ABSENT, CEPHEID, PEERS, WORKLOADS, CannotBeHad, Peer
from benchmarks.timing import print_table, write_results

SEED = 27
TYPES = "ABCDEF"
EVENTS_IN_WINDOW = 20
FEW = 100
PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class Run:
    """What one process did."""

    said: dict[str, Any]
    seconds: float
    mebibytes: float


def write_events(file: Path, count: int, ids: int) -> None:
    """So many events, one at each tick, without a header."""
    random = np.random.default_rng(SEED)
    table = pa.table(
        {
            "ts": np.arange(count),
            "type": random.choice(list(TYPES), count),
            "id": random.integers(0, ids, count),
        }
    )
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))


def run(command: Sequence[str], limit: float) -> Run:
    """Run a process to its end, but not longer than so many seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        timer = Timer(limit, process.kill)
        timer.start()
        peak, ended = 0, 0
        while not ended:
            sleep(PAUSE)
            peak = max(peak, peak_of(process.pid))
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        lines = output.read().decode().splitlines()
        failed = errors.read().decode(errors="replace").strip().splitlines()
    said: dict[str, Any] = {"cannot": f"took more than {limit:.0f} s"}
    if process.returncode == 0 and lines:
        said = json.loads(lines[-1])
    elif process.returncode != -9:
        said = {"cannot": failed[-1][:200] if failed else f"ended with {process.returncode}"}
    return Run(said, used.ru_utime + used.ru_stime, peak / 1024)


def peak_of(process: int) -> int:
    """The peak memory of a running process in KiB; 0 if it has ended.

    What getrusage says of a child includes the memory of the process that has started it.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def compare(
    peer: Peer, files: tuple[Path, Path], window: int, limit: float
) -> list[dict[str, Any]]:
    """What a peer answers to all questions; ``files`` are few events, and all of them."""
    try:
        command = peer.command()
    except CannotBeHad as error:
        return [{"peer": peer.name, "workload": name, "said": str(error)} for name in WORKLOADS]
    rows = []
    for name in WORKLOADS:
        few, all_events = (run([*command, str(file), name, str(window)], limit) for file in files)
        row: dict[str, Any] = {"peer": peer.name, "workload": name}
        if "cannot" in all_events.said:
            row["said"] = all_events.said["cannot"]
        else:
            row["matches"], row["sum"] = all_events.said["answer"]
            row["seconds"] = all_events.seconds
            row["seconds_of_start"] = few.seconds
            row["peak_MiB"] = all_events.mebibytes
        print(
            f"{peer.name}, {name}: {row.get('said') or round(row['seconds'], 2)}", file=sys.stderr
        )
        rows.append(row)
    return rows


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with whether the answer is that of cepheid, and the CPU time relative to it."""
    ours = {row["workload"]: row for row in rows if row["peer"] == CEPHEID.name}
    found = []
    for row in rows:
        own, more = ours[row["workload"]], {}
        if "seconds" in row:
            same = (row["matches"], row["sum"]) == (own["matches"], own["sum"])
            more["said"] = "the same answer" if same else "another answer"
            more["times_ours"] = row["seconds"] / own["seconds"]
        found.append({**row, **more})
    return found


def draw(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """CPU time and memory of each peer; False if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(row["peer"] for row in rows))
    figure, grid = pyplot.subplots(2, 1, figsize=(13, 10), layout="constrained")
    width = 0.85 / len(WORKLOADS)
    shown = (("seconds", "seconds of CPU time"), ("peak_MiB", "peak memory, MiB"))
    for axes, (column, label) in zip(grid, shown, strict=True):
        for place, workload in enumerate(WORKLOADS):
            own = {row["peer"]: row.get(column) for row in rows if row["workload"] == workload}
            places = [ix + width * place for ix, name in enumerate(names) if own.get(name)]
            values = [own[name] for name in names if own.get(name)]
            axes.bar(places, values, width=0.9 * width, label=workload.replace("_", " "))
        axes.set(yscale="log", ylabel=label)
        axes.set_xticks([ix + 0.4 for ix in range(len(names))], names)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask all peers, compare, print, write and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--ids", type=int, default=1_000)
    parser.add_argument("--limit", type=float, default=60, help="seconds for each process")
    parser.add_argument("--peers", nargs="+", help="only these, by their names")
    parser.add_argument("--name", default="peers", help="of the files of results")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    window = given.ids * EVENTS_IN_WINDOW
    wanted = [each for each in PEERS if given.peers is None or each.name in given.peers]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "few.csv", Path(folder) / "events.csv"
        for file, count in zip(files, (FEW, given.count), strict=True):
            write_events(file, count, given.ids)
        for peer in dict.fromkeys([CEPHEID, *wanted]):
            rows += compare(peer, files, window, given.limit)
    rows = judged(rows)
    print_table("The same questions, CPU seconds and peak memory of the whole process", rows)
    for name, why in ABSENT.items():
        print(f"\n{name} is skipped: {why}.")
    settings = {"events": given.count, "ids": given.ids, "window": window, "seed": SEED}
    settings["limit"] = given.limit
    write_results(given.output, given.name, rows, settings)
    drawn = draw(rows, given.output / f"{given.name}.svg")
    files = f"{given.output}/{given.name}.csv"
    print(f"\nResults are in {files} and .json{' and .svg' if drawn else ''}.")


if __name__ == "__main__":
    main()
