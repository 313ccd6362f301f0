"""Events in columns as the reference evaluation reads them, and its matches as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, bindings_from_rows
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match
from cepheid.schema import Position, sources_of


def bindings_of(query: ast.Query, matches: Sequence[Match], timed_out: bool = False) -> Bindings:
    """The matches of the definition as columns; with ``timed_out``, some may be partial."""
    rows = [
        {
            name: [event.position for event in bound] if isinstance(bound, list) else bound.position
            for name, bound in match.binding.items()
        }
        for match in matches
    ]
    starts = [match.events()[0].ticks for match in matches]
    # A window longer than the axis ends with it.
    ends = [min(match.ended, MAX_TICKS) for match in matches]
    completed_at = np.array([match.completed[1] for match in matches], dtype=np.int64)
    partial = np.array([match.timed_out for match in matches], dtype=np.bool_)
    found = bindings_from_rows(query.pattern, rows, starts, ends)
    return replace(found, completed_at=completed_at, timed_out=partial if timed_out else None)


def attributes_tested(query: ast.Query) -> set[str]:
    """The attributes that the conditions of a query name."""
    nodes = query.condition.walk() if query.condition is not None else ()
    names = {getattr(node, "attribute", None) for node in nodes}
    return {source for name in names if name is not None for source in sources_of(name)}


def python_events(
    events: Events, attributes: set[str], numbers: Int64s | None = None
) -> list[Event]:
    """The events as Python values, each with the attributes that its type has.

    Their positions are these numbers, or count from 0.
    """
    names = events.table.column_names
    present = [name for name in names if name in attributes]
    present += [each for each in attributes if isinstance(each, Position) and each not in names]
    columns = {name: plain_values(events.column(name)) for name in present}
    names_of_type = [
        [name for name in present if events.schema.has_attribute(type_name, name)]
        for type_name in events.type_names
    ]
    positions = range(len(events)) if numbers is None else numbers.tolist()
    ticks, codes = events.ticks.tolist(), events.type_codes.tolist()
    return [
        Event(
            position,
            ticks[place],
            events.type_names[codes[place]],
            {name: columns[name][place] for name in names_of_type[codes[place]]},
        )
        for place, position in enumerate(positions)
    ]


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Plain Python values: decimals as numbers, NaN as null, times to the microsecond."""
    kind = column.type
    if arrow.is_dictionary(kind):
        return plain_values(column.cast(kind.value_type))
    if arrow.is_decimal(kind):
        plain = float if kind.scale > 0 else int
        return [None if value is None else plain(value) for value in column.to_pylist()]
    if arrow.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    if arrow.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False)
    values: list[Any] = column.to_pylist()
    if arrow.is_nested(kind):
        return list(map(_plain_part, values))
    if arrow.is_floating(column.type):
        return [None if value is None or value != value else value for value in values]
    return values


def _plain_part(value: Any) -> Any:
    """A struct or a list of plain values."""
    if isinstance(value, dict):
        return {name: _plain_part(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_plain_part, value))
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    return None if value != value else value
