"""The events of a diagnosis: their positions, their place in the window, their text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.reference import attributes_tested, python_events
from cepheid.errors import plural
from cepheid.events.arrays import Int64s
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.events.kernels.partition_ids import count_within
from cepheid.events.own_windows import own_windows
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.explain.diagnosis.prefixes import equivalences_of
from cepheid.language import syntax as ast
from cepheid.language.units import NANOSECONDS_PER
from cepheid.reference.interpreter import Event, all_bound

_LARGEST_FIRST = tuple(reversed(NANOSECONDS_PER.items()))

Positions = Mapping[str, "int | list[int]"]
"""A binding of variables to positions in the stream."""

T = TypeVar("T")


@dataclass(eq=False)
class Stream:
    """The events of a query and its window: None or a number of ticks or events."""

    query: ast.Query
    events: Events
    window: int | None
    _positions: dict[tuple[str, ...], Int64s] = field(default_factory=dict)
    _by_value: dict[tuple[Any, ...], dict[tuple[Any, ...], list[int]]] = field(default_factory=dict)
    _read: dict[int, Event] = field(default_factory=dict)

    @property
    def measure(self) -> ast.WindowMeasure:
        """The measure of the window."""
        return self.query.measure

    @cached_property
    def attributes(self) -> set[str]:
        """The attributes that conditions name."""
        return attributes_tested(self.query)

    @cached_property
    def partition(self) -> Int64s:
        """The number of the partition of each event; negative if it has none."""
        batch = EventBatch.of(self.events, 0, StringCodes())
        columns = [batch.column(test.attribute) for test in equivalences_of(self.query)]
        return PartitionNumbers().number(columns, len(self.events))

    @cached_property
    def axis(self) -> Int64s:
        """The value of each event on the axis of the window."""
        if self.measure is ast.WindowMeasure.TIME:
            return self.events.ticks
        if self.measure is ast.WindowMeasure.EVENTS:
            return np.arange(len(self.events), dtype=np.int64)
        axis = np.zeros(len(self.events), dtype=np.int64)
        counts = np.zeros(max(int(self.partition.max(initial=0)) + 1, 1), dtype=np.int64)
        count_within(self.partition, counts, axis, 0)
        return axis

    def extent(self, run: Positions, *more: int) -> int:
        """The distance from the first to the last event of a run and more events, on the axis."""
        taken = (*all_positions(run), *more)
        return int(self.axis[max(taken)]) - int(self.axis[min(taken)])

    def fits(self, run: Positions, *more: int) -> bool:
        """Whether a run and more events are in one window."""
        return self.window is None or self.extent(run, *more) < self.window

    def reach(self, run: Positions) -> tuple[int, int]:
        """The range of positions that can be in one window with a run."""
        if self.window is None or self.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            return 0, len(self.events)
        taken = all_positions(run)
        # In Python's numbers, which do not overflow.
        first, last = int(self.axis[taken[0]]), int(self.axis[taken[-1]])
        return bisect_right(self.axis, last - self.window), bisect_left(
            self.axis, first + self.window
        )

    @cached_property
    def own_windows(self) -> Mapping[ast.Window, int]:
        """The own windows of negations, in ticks."""
        return own_windows(self.query, self.events.time_axis)

    def own_reach(self, window: ast.Window, earlier: int, later: int) -> tuple[int, int]:
        """The range of positions less than a negation's own window after an event.

        If the earlier event is -1, less than the window before the later one.
        """
        ticks, extent = self.events.ticks, self.own_windows[window]
        if earlier >= 0:
            return earlier + 1, bisect_left(ticks, int(ticks[earlier]) + extent)
        return bisect_right(ticks, int(ticks[later]) - extent), later

    def of_types(self, types: Iterable[str]) -> Int64s:
        """The positions of the events of these types."""
        wanted = tuple(sorted(types))
        if wanted not in self._positions:
            codes = [ix for ix, name in enumerate(self.events.type_names) if name in wanted]
            found = np.isin(self.events.type_codes, np.array(codes, dtype=np.int32))
            self._positions[wanted] = np.flatnonzero(found).astype(np.int64, copy=False)
        return self._positions[wanted]

    def with_values(
        self, types: tuple[str, ...], wanted: Sequence[tuple[str, Any]]
    ) -> Sequence[int] | Int64s:
        """The positions of the events of these types that have these values of attributes."""
        if not wanted:
            return self.of_types(types)
        attributes, values = zip(*wanted, strict=True)
        key = (types, attributes)
        if key not in self._by_value:
            positions = self.of_types(types)
            columns = self.events.table.select(list(dict.fromkeys(attributes)))
            taken = columns.take(pa.array(positions))
            lists = [taken.column(name).to_pylist() for name in attributes]
            index: dict[tuple[Any, ...], list[int]] = {}
            for position, found in zip(positions.tolist(), zip(*lists, strict=True), strict=True):
                index.setdefault(found, []).append(position)
            self._by_value[key] = index
        return self._by_value[key].get(values, [])

    # --- events as Python values

    def tested(self, positions: Int64s) -> Events:
        """The events at these positions, with the columns that conditions name."""
        events = self.events
        wanted = self.attributes | {events.time_axis.column}
        names = [name for name in events.table.column_names if name in wanted]
        return replace(events, table=events.table.select(names)).take(positions)

    def read(self, positions: Iterable[int], *, afresh: bool = False) -> None:
        """Read events that are needed soon, all in one call; ``afresh`` drops all others."""
        if afresh:
            self._read.clear()
        unread = {position for position in positions if position not in self._read}
        if unread:
            missing = np.array(sorted(unread), dtype=np.int64)
            found = python_events(self.tested(missing), self.attributes)
            for position, event in zip(missing.tolist(), found, strict=True):
                self._read[position] = replace(event, position=position)

    def event(self, position: int) -> Event:
        """An event as the interpreter reads it."""
        if position not in self._read:
            self.read([position])
        return self._read[position]

    def bound(self, run: Positions) -> dict[str, Event | list[Event]]:
        """A run with events instead of positions."""
        self.read(all_positions(run))
        return {
            name: [self._read[each] for each in bound]
            if isinstance(bound, list)
            else self._read[bound]
            for name, bound in run.items()
        }

    # --- in words

    def row(self, position: int) -> int:
        """The input row of an event."""
        return int(self.events.row_numbers[position])

    def type_of(self, position: int) -> str:
        """The name of the type of an event."""
        return self.events.type_names[int(self.events.type_codes[position])]

    def time(self, ticks: int) -> str:
        """A point on the time axis."""
        return str(self.events.time_axis.decode_one(ticks))

    def length(self, extent: int) -> str:
        """A distance on the axis of the window in words, such as '3 minutes' or '12 events'."""
        if self.measure is not ast.WindowMeasure.TIME:
            return plural(extent, "event")
        axis = self.events.time_axis
        if axis.tick_ns is None:
            return f"{extent / axis.ticks_per_unit:.12g}"
        return duration(extent * axis.tick_ns)


def duration(nanoseconds: Fraction | int) -> str:
    """A length of time in at most two units.

    >>> duration(180_000_000_000), duration(5_430_000_000_000), duration(1_500_000)
    ('3 minutes', '1 hour 30 minutes', '1.5 milliseconds')
    """
    for place, (unit, size) in enumerate(_LARGEST_FIRST):
        if nanoseconds >= size:
            number = nanoseconds / size
            if size < NANOSECONDS_PER["minutes"]:
                return _amount(f"{float(number):.4g}", unit)
            whole = int(number)
            smaller, small_size = _LARGEST_FIRST[place + 1]
            rest = int((nanoseconds - whole * size) / small_size)
            return _amount(str(whole), unit) + (f" {_amount(str(rest), smaller)}" if rest else "")
    return "0 seconds"


def _amount(number: str, unit: str) -> str:
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def all_positions(binding: Positions) -> list[int]:
    """The positions of all events of a binding, in order."""
    return sorted(all_bound(binding))


def positions_of(binding: Positions, variable: str) -> list[int]:
    """The positions of the events of a variable."""
    bound = binding.get(variable, [])
    return bound if isinstance(bound, list) else [bound]


def extended(
    binding: Mapping[str, T | list[T]], component: ast.Component, event: T
) -> dict[str, T | list[T]]:
    """A binding, of events or of their positions, with one more event of a component."""
    if not component.is_kleene:
        return {**binding, component.variable: event}
    bound = binding.get(component.variable, [])
    assert isinstance(bound, list)
    return {**binding, component.variable: [*bound, event]}
