"""A job on a cluster: its tasks are scheduled on cores, and its bytes cross the network.

A batch job has two stages. The first reads the rows and writes those that matter for the shuffle;
the second reads them, sorts them and runs the query in Python. A stage begins when the one before
it has ended, and a task takes the core that is free first.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SEED = 27
MANY_TASKS = 200_000
"""More tasks than this are simulated in groups, since their lengths hardly differ."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured on one core; times are in seconds."""

    job: float
    """Planning and starting a job."""
    task: float
    """Starting and ending a task."""
    scan_row: float
    """Reading a row, and dropping those that do not matter."""
    shuffle_row: float
    """Writing a row that matters for the shuffle, reading it, sorting it, sending it to Python."""
    match_row: float
    """Finding the matches, and sending them back, for each row that matters."""
    shuffle_bytes_row: float
    relevant: float
    """The share of the rows that matter."""
    worker_base: float
    """Bytes of an idle worker."""
    worker_row: float
    """Bytes of a worker for each row of its partition."""

    def to_dict(self) -> dict[str, float]:
        """The costs by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines that are alike. ``gbit`` is the network of one, ``price`` an hour of one core."""

    cores: int
    cores_per_node: int = 16
    gbit: float = 10.0
    price: float = 0.05

    @property
    def nodes(self) -> int:
        """The number of machines."""
        return math.ceil(self.cores / self.cores_per_node)


@dataclass(frozen=True, slots=True)
class Job:
    """A query over so many rows of so many keys; one key may have a share of its own."""

    rows: float
    keys: float
    heaviest_key: float = 0.0
    rows_per_scan: float = 5e6
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job takes: seconds, the peak memory of a worker in bytes, and money."""

    seconds: float
    scan_seconds: float
    network_seconds: float
    match_seconds: float
    busy: float
    worker_bytes: float
    money: float

    def to_dict(self) -> dict[str, Any]:
        """The outcome by name."""
        return asdict(self)


def simulate(job: Job, cluster: Cluster, costs: Costs) -> Outcome:
    """One run of a job.

    >>> costs = Costs(1, 0, 1e-6, 1e-6, 1e-6, 20, 0.5, 1e8, 100)
    >>> one = simulate(Job(1e6, 1e4, partitions=64), Cluster(1), costs)
    >>> round(one.seconds, 1), one.network_seconds
    (3.0, 0.0)
    >>> many = simulate(Job(1e6, 1e4, partitions=64, rows_per_scan=1e5), Cluster(8), costs)
    >>> one.seconds / 8 < many.seconds < one.seconds
    True
    """
    random = np.random.default_rng(SEED)
    scans = max(math.ceil(job.rows / job.rows_per_scan), 1)
    scan = costs.task + job.rows / scans * costs.scan_row
    scan_seconds = _span(np.full(min(scans, MANY_TASKS), scan), scans, cluster.cores)
    relevant = job.rows * costs.relevant
    crossing = 1 - 1 / cluster.nodes
    per_node = relevant * costs.shuffle_bytes_row * crossing / cluster.nodes
    network_seconds = per_node / (cluster.gbit * 1e9 / 8)
    partitions = job.partitions or max(3 * cluster.cores, math.ceil(relevant / 5e6))
    rows = _rows_of_partitions(random, job, relevant, partitions)
    tasks = costs.task + rows * (costs.shuffle_row + costs.match_row)
    match_seconds = _span(tasks, partitions, cluster.cores)
    work = scans * scan + float(tasks.sum()) * partitions / len(tasks)
    # Reading from the network overlaps with the work of other tasks on the same machine.
    seconds = costs.job + scan_seconds + max(match_seconds, network_seconds)
    return Outcome(
        seconds,
        scan_seconds,
        network_seconds,
        match_seconds,
        work / (seconds * cluster.cores),
        costs.worker_base + costs.worker_row * float(rows.max()),
        seconds / 3600 * cluster.cores * cluster.price,
    )


def _rows_of_partitions(
    random: np.random.Generator, job: Job, relevant: float, partitions: int
) -> npt.NDArray[np.float64]:
    """The rows of each partition: keys are put into partitions by a hash."""
    shown = min(partitions, MANY_TASKS)
    even = relevant * (1 - job.heaviest_key)
    keys = random.poisson(job.keys / partitions, shown).astype(np.float64)
    rows = keys * (even / job.keys)
    rows[0] += relevant * job.heaviest_key
    return rows


def _span(tasks: npt.NDArray[np.float64], count: int, cores: int) -> float:
    """The seconds until the last of the tasks has ended; ``tasks`` may be a sample of them."""
    if count > len(tasks):
        return float(tasks.mean()) * count / cores + float(tasks.max())
    if len(tasks) <= cores:
        return float(tasks.max())
    free = [0.0] * cores
    for task in tasks.tolist():
        heapq.heappush(free, heapq.heappop(free) + task)
    return max(free)


@dataclass(frozen=True, slots=True)
class StreamCosts:
    """What a micro-batch costs, from the benchmark of streams; times are in seconds."""

    trigger: float
    row: float
    state_byte: float
    """For each byte of state that a micro-batch writes."""
    state_row: float
    """Bytes of state for each event of the window."""


def stream_seconds(
    rate: float, window: float, trigger: float, cores: int, costs: StreamCosts
) -> float:
    """How long the micro-batches of a stream take; more than ``trigger`` means that it falls back.

    Args:
        rate: events a second.
        window: the length of the window in seconds.
        trigger: the seconds between micro-batches.
        cores: of the cluster.
        costs: what was measured.

    >>> stream_seconds(1e6, 60, 10, 10, StreamCosts(0.5, 1e-6, 1e-8, 20))
    1.9
    """
    rows = rate * trigger
    # New events are appended to a log; a window of several micro-batches is also rewritten.
    written = rate * min(window, trigger) * (2 if window > trigger else 1) * costs.state_row
    return costs.trigger + (rows * costs.row + written * costs.state_byte) / cores
