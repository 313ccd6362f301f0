"""Events whose times are all different, so that every way orders them alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

LETTERS = "ABCDEF"


def events(count: int, ids: int, types: int, seed: int) -> pa.Table:
    """Events of so many types and ids, one at each tick; no query asks for ``x`` and ``y``."""
    random = np.random.default_rng(seed)
    names = np.array([*LETTERS, *(f"T{number}" for number in range(max(types - len(LETTERS), 0)))])
    return pa.table(
        {
            "ts": np.arange(count, dtype=np.int64),
            "type": names[random.integers(0, types, count)],
            "id": random.integers(0, ids, count),
            "x": random.random(count),
            "y": random.integers(0, 100, count),
        }
    )


def sequence_query(length: int, window: int) -> str:
    """SEQ of so many components with one id, within so many ticks."""
    components = ", ".join(f"{name} {name.lower()}" for name in LETTERS[:length])
    items = ", ".join(f"{name.lower()}.ts AS {name.lower()}" for name in LETTERS[:length])
    return f"PATTERN SEQ({components}) WHERE [id] WITHIN {window} RETURN {items}"
