"""A few days of a food supply chain: shipments between sites, and alerts at sites."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

QUERY = """\
PATTERN SEQ(Alert a, Shipment+ b[])
WHERE skip_till_any_match(a, b[]) {
    a.kind = 'contaminated'
    AND b[1].from = a.site
    AND b[i].from = b[i-1].to
}
WITHIN 3 hours
RETURN a.site AS source, a.ts AS alerted,
       b[].to AS reached, b[b.LEN].ts AS last_shipment
"""

START_MS = 1_709_510_400_000  # 2024-03-04 00:00
MINUTE_MS = 60_000
MINUTES_PER_EVENT = 5
EVENTS_PER_OUTBREAK = 200

# Goods only move from one tier to the next, so a chain has at most three shipments. With
# this many sites, a site sends about one shipment within the query's window.
TIERS = (
    tuple(f"farm {number}" for number in range(1, 13)),
    tuple(f"plant {number}" for number in range(1, 9)),
    tuple(f"depot {number}" for number in range(1, 9)),
    tuple(f"shop {number}" for number in range(1, 21)),
)
HARMLESS_KINDS = ("delay", "power cut", "temperature")
HARMLESS_ALERT_SHARE = 0.1

Row = dict[str, int | str]


def generate(count: int, seed: int) -> pa.Table:
    """Generate random shipments and alerts, and outbreaks that travel from a farm to a shop.

    There is one outbreak in every 200 events. Its three shipments give the query at least three
    matches, one for each step. Other shipments from the sites that it reaches give more.

    >>> events = generate(400, seed=1)
    >>> events["kind"].to_pylist().count("contaminated")
    2
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    span_ms = count * MINUTES_PER_EVENT * MINUTE_MS
    rows: list[Row] = []
    for _ in range(count // EVENTS_PER_OUTBREAK):
        rows += _outbreak(rng, START_MS + int(rng.integers(span_ms)))
    while len(rows) < count:
        rows.append(_everyday_event(rng, START_MS + int(rng.integers(span_ms))))
    rows.sort(key=lambda row: row["ts"])
    strings = dict.fromkeys(("type", "kind", "site", "from", "to"), pa.string())
    return pa.Table.from_pylist(rows, pa.schema({"ts": pa.timestamp("ms"), **strings}))


def _outbreak(rng: np.random.Generator, ts: int) -> list[Row]:
    """An alert at a farm, and a chain of shipments from it that fits into the query's window."""
    route = [str(rng.choice(tier)) for tier in TIERS]
    rows = [_alert(ts, "contaminated", route[0])]
    for sender, receiver in pairwise(route):
        ts += int(rng.integers(10 * MINUTE_MS, 55 * MINUTE_MS))
        rows.append(_shipment(ts, sender, receiver))
    return rows


def _everyday_event(rng: np.random.Generator, ts: int) -> Row:
    """A shipment unrelated to an outbreak, or an alert of a harmless kind."""
    tier = int(rng.integers(len(TIERS) - 1))
    sender, receiver = str(rng.choice(TIERS[tier])), str(rng.choice(TIERS[tier + 1]))
    if rng.random() < HARMLESS_ALERT_SHARE:
        return _alert(ts, str(rng.choice(HARMLESS_KINDS)), sender)
    return _shipment(ts, sender, receiver)


def _alert(ts: int, kind: str, site: str) -> Row:
    return {"ts": ts, "type": "Alert", "kind": kind, "site": site}


def _shipment(ts: int, sender: str, receiver: str) -> Row:
    return {"ts": ts, "type": "Shipment", "from": sender, "to": receiver}
