"""``python -m benchmarks.cluster_model``: time, memory and money of a job on a cluster.

Costs per row, byte and task are measured on one core. A simulation with these costs is compared
with runs on one, two and four workers of this machine, in one JVM and in a cluster with an
executor for each worker; the error is reported. Then it predicts what cannot be run here: 10 to
1,000 cores, and up to a trillion events.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cluster_model.measure import PLANS, Measured, costs_of, measured
from benchmarks.cluster_model.simulation import (
    Cluster,
    Costs,
    Job,
    StreamCosts,
    simulate,
    stream_seconds,
)
from benchmarks.timing import print_table, write_results

STREAMING = Path("benchmarks/results/spark_streaming.json")
CORES = (10, 30, 100, 300, 1_000)
EVENTS = (1e9, 1e10, 1e11, 1e12)
RATES = (1e5, 1e6, 1e7)
WINDOWS = (60, 3_600)
TRIGGER = 10


def check(found: Measured, costs: Costs) -> dict[str, Any]:
    """A run beside what the simulation says of it."""
    count = int(found.master.partition("[")[2].rstrip("]").split(",")[0])
    # More workers than the machine has cores share them.
    cores = min(count, os.cpu_count() or 1)
    job = Job(found.events, 100_000, rows_per_scan=found.events / 8, partitions=found.partitions)
    predicted = simulate(job, Cluster(cores, cores_per_node=cores), costs)
    return {
        "master": found.master,
        "events": found.events,
        "measured_s": found.wall,
        "predicted_s": predicted.seconds,
        "error": predicted.seconds / found.wall - 1,
        "measured_worker_MiB": found.worker / 2**20,
        "predicted_worker_MiB": predicted.worker_bytes / 2**20,
    }


def predictions(costs: Costs) -> list[dict[str, Any]]:
    """Jobs of each size on clusters of each size, and with a heavy key."""
    rows = []
    for heaviest in (0.0, 0.01):
        for events in EVENTS:
            for cores in CORES:
                # A hundred events of each key.
                job = Job(events, keys=events / 100, heaviest_key=heaviest)
                outcome = simulate(job, Cluster(cores), costs)
                rows.append(
                    {"events": events, "cores": cores, "heaviest_key": heaviest} | outcome.to_dict()
                )
    return rows


def stream_costs() -> tuple[StreamCosts, int] | None:
    """From the stored results of streams; and how many events they were."""
    if not STREAMING.exists():
        return None
    document = json.loads(STREAMING.read_text(encoding="utf-8"))
    events, rows = document["settings"]["events"], document["rows"]
    long, short = sorted(rows, key=lambda row: -row["window_s"])[:2]
    written = (long["state_written_MiB"] - short["state_written_MiB"]) * 2**20
    beyond = [row["query_cpu_s"] - row["nothing_cpu_s"] for row in (long, short)]
    byte = (beyond[0] - beyond[1]) / written
    state_row = long["state_written_MiB"] * 2**20 / events
    row = (short["query_cpu_s"] - short["state_written_MiB"] * 2**20 * byte) / events
    return StreamCosts(0.5, row, byte, state_row), events


def stream_rows() -> list[dict[str, Any]]:
    """The cores that streams need to keep up, and their state."""
    known = stream_costs()
    if known is None:
        return []
    costs, _ = known
    rows = []
    for rate in RATES:
        for window in WINDOWS:
            enough = next((n for n in range(1, 5_000) if _keeps_up(rate, window, n, costs)), None)
            state = rate * window * costs.state_row / 2**30
            rows.append({"events_per_s": rate, "window_s": window, "cores": enough, "GiB": state})
    return rows


def _keeps_up(rate: float, window: float, cores: int, costs: StreamCosts) -> bool:
    """With a quarter of the time to spare."""
    return stream_seconds(rate, window, TRIGGER, cores, costs) <= 0.75 * TRIGGER


def draw(rows: Sequence[dict[str, Any]], checks: Sequence[dict[str, Any]], path: Path) -> bool:
    """Time over cores, and measured beside predicted; False if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for events in EVENTS:
        for heaviest, style in ((0.0, "-"), (0.01, ":")):
            own = [r for r in rows if (r["events"], r["heaviest_key"]) == (events, heaviest)]
            label = f"{events:.0e} events" if heaviest == 0 else None
            left.plot(
                [r["cores"] for r in own], [r["seconds"] / 60 for r in own], style, label=label
            )
    left.set(xscale="log", yscale="log", xlabel="cores", ylabel="minutes (predicted)")
    left.set_title("dotted: one key has 1 % of the events")
    left.legend()
    right.plot([c["measured_s"] for c in checks], [c["predicted_s"] for c in checks], "o")
    most = max(max(c["measured_s"], c["predicted_s"]) for c in checks)
    right.plot([0, most], [0, most], "k--", linewidth=1)
    right.set(xlabel="seconds, measured here", ylabel="seconds, predicted")
    figure.savefig(path)
    pyplot.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, check, predict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_model")
    parser.add_argument("--few", type=int, default=500_000)
    parser.add_argument("--many", type=int, default=4_000_000)
    parser.add_argument("--partitions", type=int, nargs=2, default=[8, 64])
    parser.add_argument("--costs", type=Path, help="JSON: use these costs, measure nothing")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    checks: list[dict[str, Any]] = []
    if given.costs is not None:
        costs = Costs(**json.loads(given.costs.read_text(encoding="utf-8"))["settings"]["costs"])
    else:
        data = Path("build/benchmarks").absolute()
        low, high = given.partitions
        runs = [(count, low, plan) for count in (given.few, given.many) for plan in PLANS]
        runs.append((given.few, high, "match"))
        found = []
        for events, partitions, plan in runs:
            found.append(measured("local[1]", events, partitions, plan, data))
            print(asdict(found[-1]), file=sys.stderr)
        costs = costs_of(found)
        masters = ["local[1]", "local[2]", "local[4]", *_standalone()]
        for master in masters:
            events = given.many * 2
            checks.append(check(measured(master, events, low, "match", data), costs))
            print(checks[-1], file=sys.stderr)
        print_table("The simulation beside runs on this machine", checks)
        error = statistics.median(abs(each["error"]) for each in checks)
        print(f"\nMedian error {error:.0%}, worst {max(abs(c['error']) for c in checks):.0%}")
    rows = predictions(costs)
    print_table("Predicted, with a hundred events of each key", rows)
    streams = stream_rows()
    if streams:
        print_table(f"Cores for a stream with a micro-batch every {TRIGGER} s", streams)
    settings = {"costs": costs.to_dict(), "checks": checks, "streams": streams}
    write_results(given.output, "cluster_model", rows, settings)
    if checks:
        draw(rows, checks, given.output / "cluster_model.svg")


def _standalone() -> list[str]:
    """Clusters with executors of their own, where Spark can start them."""
    return ["local-cluster[1,1,2048]", "local-cluster[2,1,2048]"]


if __name__ == "__main__":
    main()
