"""Copies of events for rules that share a session: how they are made, and the events behind them.

A copy has the columns of its event, the number of the rule, its time, and the end of the rule's
window.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy, one_array, to_numpy
from cepheid.events.event_types import read_types
from cepheid.events.events import Events
from cepheid.events.time_axis import MAX_TICKS
from cepheid.rule_sets.sharing.shape import SLOT, TICK, UNTIL
from cepheid.schema import Kind

ADDED = "cepheid."
"""The beginning of the names of the columns that only copies have."""


def copied(batch: Events, places: Int64s, slots: Int64s, extents: Int64s) -> Events:
    """Copies of the events at these places for rules with these numbers and windows."""
    ticks = batch.ticks[places]
    rows = batch.table.combine_chunks().to_batches()  # Rows are taken faster from one batch.
    table = batch.table.slice(0, 0)
    if rows:
        table = pa.Table.from_batches([rows[0].take(from_numpy(places))])
    for name, values in ((SLOT, slots), (TICK, ticks), (UNTIL, later(ticks, extents))):
        table = table.append_column(name, from_numpy(values))
    kinds = dict.fromkeys((SLOT, TICK, UNTIL), Kind.INTEGER)
    return replace(
        batch,
        table=table,
        row_numbers=batch.rows[places],
        ticks=ticks,
        type_codes=batch.type_codes[places],
        schema=replace(batch.schema, attributes={**batch.schema.attributes, **kinds}),
    )


def later(ticks: Int64s, extents: Int64s) -> Int64s:
    """The times later by these extents; at most the greatest time."""
    found: Int64s = ticks + np.minimum(extents, MAX_TICKS - np.maximum(ticks, 0))
    return found


def slots_of(copies: Events) -> Int64s:
    """The number of the rule of each copy."""
    numbers: Int64s = to_numpy(one_array(copies.column(SLOT)))
    return numbers


def originals(copies: Events, places: Int64s, type_column: str) -> Events:
    """The events behind the copies at these places."""
    names = [name for name in copies.table.column_names if not name.startswith(ADDED)]
    table = copies.table.select(names).take(from_numpy(places))
    codes, types = read_types(type_column, table.column(type_column))
    kinds = copies.schema.attributes.items()
    attributes = {name: kind for name, kind in kinds if not name.startswith(ADDED)}
    return replace(
        copies,
        table=table,
        row_numbers=copies.rows[places],
        ticks=copies.ticks[places],
        type_codes=codes,
        type_names=types,
        schema=replace(copies.schema, attributes=attributes),
        numbers=0,
    )
