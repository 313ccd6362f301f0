"""The report page: what was found, rejected and late, without scripts and links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

_STYLE = (
    "body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;text-align:left}"
    ".charts{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}polyline{fill:none;stroke:#06c}"
)
_NEWEST = 50
_CHARTS = {
    "events": "events",
    "matches": "alerts",
    "late": "late events",
    "waiting": "events that wait",
    "state_bytes": "state, bytes",
    "batch_milliseconds": "micro-batch, ms",
}
"""What is shown of each micro-batch, with its title."""
_WIDTH, _HEIGHT = 260, 60


def write(path: Path, tables: dict[str, DataFrame], metrics: Path) -> Path:
    """Write the page about these tables and this metrics file."""
    counts = [(name, frame.count()) for name, frame in tables.items()]
    alerts = tables["alerts"]
    of_rules = alerts.groupBy("severity", "rule").count().orderBy("rule").collect()
    reasons = tables["rejected"].groupBy("reason").count().orderBy("reason").collect()
    newest = alerts.orderBy(alerts["end"].desc(), "match_id").limit(_NEWEST)
    shown = newest.select("end", "severity", "rule", "key", "values", "match_id").collect()
    # Spark tells the counts of a micro-batch a little later.
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    batches = [json.loads(line) for line in lines]
    times = sorted(each["batch_milliseconds"] for each in batches)
    state = max((each["state_bytes"] for each in batches), default=0)
    middle = times[len(times) // 2] if times else 0
    body = [
        "<h1>Card alerts</h1>",
        _table(("table", "rows"), counts),
        f"<p>{len(times)} micro-batches, median {middle} ms, state at most {state:,} bytes</p>",
        "<div class=charts>",
        *(_chart(title, [each[name] for each in batches]) for name, title in _CHARTS.items()),
        "</div>",
        "<h2>Alerts by rule</h2>",
        _table(("severity", "rule", "alerts"), of_rules),
        "<h2>Rejected lines</h2>",
        _table(("reason", "lines"), reasons),
        f"<h2>The newest {len(shown)} alerts</h2>",
        _table(("end", "severity", "rule", "key", "values", "match_id"), shown),
    ]
    page = f"<!doctype html><meta charset=utf-8><title>Card alerts</title><style>{_STYLE}</style>"
    path.write_text(page + "\n".join(body))
    return path


def _chart(title: str, values: Sequence[int]) -> str:
    """A line over the micro-batches, from 0 to the greatest value."""
    most = max([*values, 1])
    step = _WIDTH / max(len(values) - 1, 1)
    line = " ".join(
        f"{number * step:.1f},{_HEIGHT - value / most * _HEIGHT:.1f}"
        for number, value in enumerate(values)
    )
    return (
        f"<figure><figcaption>{escape(title)}: {values[-1] if values else 0:,}, at most {most:,}"
        f"</figcaption><svg width={_WIDTH} height={_HEIGHT + 2}><polyline points='{line}'/></svg>"
        "</figure>"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
