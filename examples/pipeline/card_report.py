"""The report page: what was found, rejected and late, without scripts and links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

_STYLE = "body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;text-align:left}"
_NEWEST = 50


def write(path: Path, tables: dict[str, DataFrame], metrics: Path) -> Path:
    """Write the page about these tables and this metrics file."""
    counts = [(name, frame.count()) for name, frame in tables.items()]
    alerts = tables["alerts"]
    of_rules = alerts.groupBy("severity", "rule").count().orderBy("rule").collect()
    reasons = tables["rejected"].groupBy("reason").count().orderBy("reason").collect()
    newest = alerts.orderBy(alerts["end"].desc(), "match_id").limit(_NEWEST)
    shown = newest.select("end", "severity", "rule", "key", "values", "match_id").collect()
    batches = [json.loads(line) for line in metrics.read_text().splitlines()]
    times = sorted(each["batch_milliseconds"] for each in batches)
    state = max((each["state_bytes"] for each in batches), default=0)
    middle = times[len(times) // 2] if times else 0
    body = [
        "<h1>Card alerts</h1>",
        _table(("table", "rows"), counts),
        f"<p>{len(times)} micro-batches, median {middle} ms, state at most {state:,} bytes</p>",
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


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
