"""A cluster of computers: tasks that start and finish, and the load of each node.

A central clock logs tasks; it differs by up to half a second from the clock of a node. A load event
reports the peak of a fifteen-second interval. The peak may be at any time of that interval, up to
seven and a half seconds from the time of the event [Zhang10 §3.1, §6.2].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

QUERY = """\
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
WHERE a.task_id = c.task_id
  AND b.node_id = a.node_id
  AND d.node_id = a.node_id
  AND b.value > 95%
  AND d.value <= 70%
  AND skip_till_any_match(a, b, c, d)
WITHIN 15 seconds
RETURN a.task_id AS task, a.node_id AS node, b.value AS peak, d.value AS after
"""

UNCERTAINTY = {"TaskStart": "0.5 seconds", "TaskFinish": "0.5 seconds", "CPU": "7.5 seconds"}
GRANULARITY = "100 ms"
"""The options for a query over these events."""

OPENING_MS = 1_709_544_600_000  # 2024-03-04 09:30
SAMPLE_MS = 15_000
NODES = 10
BUSY_SHARE = 0.2


def generate(count: int, seed: int) -> pa.Table:
    """Generate ``count`` events: one task at a time on each node; some tasks keep it busy.

    While a busy task runs, the load of its node is above 95%, otherwise between 20% and 70%.

    >>> events = generate(1_000, seed=1)
    >>> events.num_rows, sorted(set(events["type"].to_pylist()))
    (1000, ['CPU', 'TaskFinish', 'TaskStart'])
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    # A round of fifteen seconds has a sample and at most one task on each node.
    for number in range(count // NODES + 1):
        begin = OPENING_MS + number * SAMPLE_MS
        for node_ix in range(NODES):
            node = f"node-{node_ix:02}"
            busy = rng.random() < BUSY_SHARE
            value = rng.uniform(0.96, 1.0) if busy else rng.uniform(0.2, 0.7)
            peak = {"type": "CPU", "value": round(value, 3)}
            rows.append({"ts": begin + SAMPLE_MS // 2 + 10 * node_ix, "node_id": node, **peak})
            if busy or rng.random() < 0.5:
                task = f"task-{number:05}-{node_ix:02}"
                start = begin + int(rng.integers(0, 5_000))
                finish = start + int(rng.integers(4_000, 9_000))
                for ts, name in ((start, "TaskStart"), (finish, "TaskFinish")):
                    rows.append({"ts": ts, "type": name, "node_id": node, "task_id": task})
    rows.sort(key=lambda row: row["ts"])
    strings = dict.fromkeys(("type", "node_id", "task_id"), pa.string())
    schema = pa.schema({"ts": pa.timestamp("ms"), **strings, "value": pa.float64()})
    return pa.Table.from_pylist(rows[:count], schema)
