"""Matches as a timeline: their start, end, events and number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import EventError

MOST_SHOWN = 2_000
"""The number of matches that are drawn; more would be a solid band of colour."""
MOST_EVENTS = 200
"""The number of events of a match that are drawn; a longer match shows its number of events."""
BINS = 200

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The data that the page draws; times are numbers, milliseconds since 1970 if ``is_date``.

    ``matches`` is a sample of all ``total`` matches, at equal distances in the result. ``counts``
    has the number of matches that end in each of equally long parts of ``span``.
    """

    total: int
    is_date: bool
    span: tuple[float, float]
    counts: list[int]
    variables: list[str]
    matches: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The timeline as JSON values for the page."""
        return {
            "total": self.total,
            "isDate": self.is_date,
            "span": self.span,
            "counts": self.counts,
            "variables": self.variables,
            "matches": self.matches,
        }


def draw_timeline(
    results: Iterable[pa.RecordBatch],
    total: int,
    *,
    time: str = "ts",
    type: str | None = "type",
) -> Timeline:
    """The timeline of a result with columns start and end, structs of events and other values.

    ``time`` and ``type`` are the fields of an event that hold its time and its type.

    >>> event = pa.array([{"ts": 1, "type": "A"}, {"ts": 5, "type": "A"}])
    >>> batch = pa.record_batch({"start": [1, 5], "end": [4, 9], "a": event})
    >>> timeline = draw_timeline([batch], 2)
    >>> timeline.span, sum(timeline.counts), timeline.matches[0]["events"]
    ((1.0, 9.0), 2, [{'variable': 'a', 'time': 1.0, 'type': 'A', 'values': {}}])
    """
    chosen = np.unique(np.linspace(0, max(total - 1, 0), MOST_SHOWN).astype(np.int64))
    starts: list[Floats] = []
    ends: list[Floats] = []
    rows: list[dict[str, Any]] = []
    schema: pa.Schema | None = None
    before = 0
    for batch in results:
        schema = batch.schema
        _check_columns(schema)
        starts.append(_numbers(batch.column("start")))
        ends.append(_numbers(batch.column("end")))
        here = chosen[(chosen >= before) & (chosen < before + batch.num_rows)] - before
        rows.extend(batch.take(pa.array(here)).to_pylist())
        before += batch.num_rows
    if schema is None or not before:
        return Timeline(0, False, (0.0, 1.0), [0] * BINS, [], [])
    all_ends = np.concatenate(ends)
    low, high = float(np.concatenate(starts).min()), float(all_ends.max())
    high = high if high > low else low + 1
    variables = [field.name for field in schema if _is_of_events(field.type, time)]
    return Timeline(
        before,
        not _is_number(schema.field("end").type),
        (low, high),
        np.histogram(all_ends, BINS, (low, high))[0].tolist(),
        variables,
        [_match(row, variables, time, type) for row in rows],
    )


def _match(
    row: dict[str, Any], variables: list[str], time: str, type: str | None
) -> dict[str, Any]:
    events: list[dict[str, Any]] = [
        {
            "variable": name,
            "time": number(event[time]),
            "type": text(event.get(type)) if type is not None and type in event else "",
            "values": {key: shown(each) for key, each in event.items() if key not in (time, type)},
        }
        for name in variables
        for event in _events(row[name])
        if event.get(time) is not None
    ]
    events.sort(key=lambda event: event["time"])
    columns = [name for name in row if name not in (*variables, "start", "end")]
    return {
        "start": number(row["start"]),
        "end": number(row["end"]),
        "count": len(events),
        "events": events[:MOST_EVENTS],
        "values": {name: shown(row[name]) for name in columns},
    }


def _events(bound: Any) -> Iterator[dict[str, Any]]:
    if isinstance(bound, dict):
        yield bound
    elif isinstance(bound, list):
        yield from (each for each in bound if each is not None)


def _check_columns(schema: pa.Schema) -> None:
    for name in ("start", "end"):
        if name not in schema.names:
            raise EventError(
                f"these are not matches: there is no column {name!r} among "
                f"{', '.join(schema.names)}. A report needs a file written by `cepheid match`, "
                "or a query and events"
            )
        kind = schema.field(name).type
        if not is_time(kind):
            raise EventError(f"the column {name!r} of the matches is {kind}, which is not a time")


def is_time(kind: pa.DataType) -> bool:
    """Whether values of this type can be drawn on a timeline."""
    return _is_number(kind) or bool(arrow.is_timestamp(kind) or arrow.is_date(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(arrow.is_integer(kind) or arrow.is_floating(kind))


def _is_of_events(kind: pa.DataType, time: str) -> bool:
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        kind = kind.value_type
    return bool(arrow.is_struct(kind)) and kind.get_field_index(time) >= 0


def _numbers(column: pa.Array) -> Floats:
    """Times as numbers: dates as milliseconds since 1970."""
    if _is_number(column.type):
        numbers = pc.cast(column, pa.float64(), safe=False)
    else:
        # Microseconds first: milliseconds would lose times within a millisecond.
        micros = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
        numbers = pc.divide(pc.cast(micros, pa.float64(), safe=False), 1000.0)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def number(moment: Any) -> float:
    """A time as the number that the page draws.

    >>> number(datetime(1970, 1, 1, 0, 0, 1)), number(7)
    (1000.0, 7.0)
    """
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp() * 1000
    if isinstance(moment, date):
        return datetime.combine(moment, time(), UTC).timestamp() * 1000
    return float(moment)


def shown(value: Any) -> str | dict[str, float]:
    """A value for the page, which writes all times in one format.

    >>> shown(datetime(1970, 1, 1, 0, 0, 1)), shown(7)
    ({'at': 1000.0}, '7')
    """
    return {"at": number(value)} if isinstance(value, date) else text(value)


def text(value: Any) -> str:
    """A value as the text that the page shows.

    >>> text(0.1 + 0.2), text([1, None]), text(None)
    ('0.3', '1, –', '–')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}"
        case list():
            shown = ", ".join(map(text, value[:20]))
            return f"{shown}, … ({len(value)} in all)" if len(value) > 20 else shown
        case dict():
            return ", ".join(f"{name} {text(each)}" for name, each in value.items())
    return str(value)
