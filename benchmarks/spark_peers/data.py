"""Events whose times are all different, so that every way orders them alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LETTERS = "ABCDEF"
KINDS = 20
"""How many values the second key has."""
AT_ONCE = 10_000_000
"""How many events are made in memory at once."""


def write_events(file: Path, count: int, ids: int, types: int, seed: int) -> None:
    """Write events of so many types and ids as Parquet, one at each tick."""
    random = np.random.default_rng(seed)
    pieces = (
        events(min(AT_ONCE, count - low), ids, types, random, low)
        for low in range(0, count, AT_ONCE)
    )
    first = next(pieces)
    with pq.ParquetWriter(file, first.schema) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece)


def events(count: int, ids: int, types: int, random: np.random.Generator, low: int = 0) -> pa.Table:
    """So many events, one at each tick from ``low`` on; no query asks for ``x``."""
    names = np.array([*LETTERS, *(f"T{number}" for number in range(max(types - len(LETTERS), 0)))])
    return pa.table(
        {
            "ts": np.arange(low, low + count, dtype=np.int64),
            "type": names[random.integers(0, types, count)],
            "id": random.integers(0, ids, count),
            "x": random.random(count),
            "kind": random.integers(0, KINDS, count),
        }
    )


def sequence_query(length: int, window: int, keys: Sequence[str] = ("id",)) -> str:
    """SEQ of so many components that agree on the keys, within so many ticks."""
    components = ", ".join(f"{name} {name.lower()}" for name in LETTERS[:length])
    items = ", ".join(f"{name.lower()}.ts AS {name.lower()}" for name in LETTERS[:length])
    return f"PATTERN SEQ({components}) WHERE [{', '.join(keys)}] WITHIN {window} RETURN {items}"
