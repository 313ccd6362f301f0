"""A day in a store: tags of items are read at shelves, registers and exits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

QUERY = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE skip_till_next_match(a, b, c) {
    [tag_id]
}
WITHIN 12 hours
RETURN a.tag_id AS item, a.product AS product,
       a.ts AS picked_up, c.ts AS left_store
"""

SCRIPT = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE skip_till_next_match(a, b, c) {
    [tag_id]
}
WITHIN 12 hours
RETURN Theft(item = a.tag_id, product = a.product, door = c.zone);

PATTERN SEQ(Theft s, Theft+ more[])
WHERE skip_till_next_match(s, more[]) {
    [door]
}
WITHIN 2 hours
RETURN Series(door = s.door, first = s.item, thefts = more.LEN + 1, products = more[].product)
"""
"""The thefts of :data:`QUERY` as composite events, and series of them at one door."""

# 2024-03-01 08:00. The last item is picked up 11 hours later and leaves within another 40
# minutes, so no journey is longer than the query's window.
OPENING_MS = 1_709_280_000_000
MINUTE_MS = 60_000
EVENTS_PER_THEFT = 100

PRODUCTS = ("batteries", "coffee", "headphones", "lipstick", "perfume", "razor", "steak", "whisky")
ZONES = {
    "Shelf": ("aisle 1", "aisle 2", "aisle 3", "aisle 4", "aisle 5", "aisle 6"),
    "Register": ("register 1", "register 2", "register 3", "register 4"),
    "Exit": ("north door", "south door"),
}

# Each step of an item: where it is read, and how many minutes after the previous step.
PICKED_UP = ("Shelf", 0, 660)
JOURNEYS = {
    "looked at": (PICKED_UP,),
    "bought": (PICKED_UP, ("Register", 2, 35), ("Exit", 1, 5)),
    "stolen": (PICKED_UP, ("Exit", 2, 25)),
}


def generate(count: int, seed: int) -> pa.Table:
    """Generate the readings of one day: items are bought, stolen, or only looked at.

    There is one theft in every 100 events. An item is read at a shelf once and is picked up by
    one customer, so the query has exactly one match for each theft.

    >>> events = generate(400, seed=1)
    >>> events.num_rows, sorted(set(events["type"].to_pylist()))
    (400, ['Exit', 'Register', 'Shelf'])
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    fates = _fates(count)
    rows: list[dict[str, int | str]] = []
    for tag, fate in zip(rng.permutation(len(fates)), fates, strict=True):
        product = str(rng.choice(PRODUCTS))
        ts = OPENING_MS
        for type_name, least_minutes, most_minutes in JOURNEYS[fate]:
            ts += int(rng.integers(least_minutes * MINUTE_MS, most_minutes * MINUTE_MS))
            rows.append(
                {
                    "ts": ts,
                    "type": type_name,
                    "tag_id": f"T{tag:05d}",
                    "product": product,
                    "zone": str(rng.choice(ZONES[type_name])),
                }
            )
    rows.sort(key=lambda row: row["ts"])
    strings = dict.fromkeys(("type", "tag_id", "product", "zone"), pa.string())
    return pa.Table.from_pylist(rows, pa.schema({"ts": pa.timestamp("ms"), **strings}))


def _fates(count: int) -> list[str]:
    """The fate of each item; all items together have ``count`` steps.

    >>> [_fates(200).count(fate) for fate in ("looked at", "bought", "stolen")]
    [49, 49, 2]
    """
    stolen = count // EVENTS_PER_THEFT
    bought = (count - 2 * stolen) // 4
    looked_at = count - 2 * stolen - 3 * bought
    return ["looked at"] * looked_at + ["bought"] * bought + ["stolen"] * stolen
