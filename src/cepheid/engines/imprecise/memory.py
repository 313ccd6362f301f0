"""The events that a session has in memory, as its frames read them.

Their intervals and the columns that conditions read are kept between batches: a batch adds what is
new, so that one event takes little time however many there are. They follow from the events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.retained import Retained
from cepheid.engines.imprecise.frame import LONG_AGO, Frame
from cepheid.engines.imprecise.intervals import Declared, read_intervals
from cepheid.engines.imprecise.layout import Intervals
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.columns.list_columns import ListColumns
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.event_view import EventView
from cepheid.events.events import Events
from cepheid.events.read_options import UncertainTime
from cepheid.events.time_axis import TimeAxis


class FrameMemory:
    """What is known of the retained events, in the order in which they came."""

    def __init__(self, retained: Retained, uncertain: UncertainTime, strings: StringCodes) -> None:
        self._retained = retained
        self._uncertain = uncertain
        self._strings = strings
        self._declared: Declared | None = None
        # What is None, or missing, is read from all events when it is needed next.
        self._intervals: Intervals | None = None
        self._type_codes: npt.NDArray[np.int32] | None = None
        self._columns: dict[str, EncodedColumn] = {}

    def declared(self, axis: TimeAxis) -> Declared:
        """What is declared of uncertain times, for this time column."""
        known = self._declared
        if known is None or (known.axis is not axis and known.axis != axis):
            known = self._declared = Declared.of(axis, self._uncertain)
        return known

    def intervals_of(self, events: Events) -> Intervals:
        """The intervals of any events."""
        return read_intervals(events, self._uncertain, self.declared(events.time_axis))

    @property
    def intervals(self) -> Intervals:
        """The intervals of the retained events."""
        if self._intervals is None:
            self._intervals = self.intervals_of(self._retained.events)
        return self._intervals

    def append(self, batch: Events, intervals: Intervals) -> None:
        """Retain the events of a batch, which have these intervals."""
        before = len(self._retained)
        batch = self._retained.append(batch)
        if not len(batch):
            return
        if not before:
            self.clear()
            return
        if self._intervals is not None:
            self._intervals = _joined(self._intervals, intervals)
        if self._type_codes is not None:
            self._type_codes = np.concatenate([self._type_codes, batch.type_codes])
        added = EventBatch.of(batch, before, self._strings)
        names = {*batch.table.column_names}
        for name, known in self._columns.copy().items():
            longer = _longer(known, added.column(name)) if name in names else None
            if longer is None:
                del self._columns[name]
            else:
                self._columns[name] = longer

    def keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Drop the events that are not wanted."""
        self._retained.keep(wanted)
        self.clear()

    def clear(self) -> None:
        """Read everything again when it is needed, since other events are retained now."""
        self._intervals = self._type_codes = None
        self._columns = {}

    def frame(self, first_fresh: int, decided: int, settled: int) -> tuple[Frame, Int64s]:
        """The retained events as a frame, and the place in memory of each.

        Those from the number ``first_fresh`` on are fresh.
        """
        intervals, retained = self.intervals, self._retained
        count = len(intervals.lower)
        base = int(intervals.lower.min())
        fresh = np.zeros(count, dtype=np.int64)
        # Events are retained in the order in which they came.
        fresh[max(count - (retained.next_number - first_fresh), 0) :] = 1
        if bool((intervals.lower[1:] >= intervals.lower[:-1]).all()):
            order, is_sorted = np.arange(count), True
        else:
            order, is_sorted = np.argsort(intervals.lower, kind="stable"), False
            fresh = fresh[order]
        batch = self._batch(None if is_sorted else order)
        intervals = intervals.take(order, base)
        return Frame(batch, intervals, fresh, base, max(decided, LONG_AGO), settled), order

    def column(self, attribute: str, order: Int64s | None = None) -> EncodedColumn:
        """An attribute of the retained events, in this order."""
        known = self._columns.get(attribute)
        if known is None:
            view = self._retained.view
            batch = EventBatch(view.column, *self._described(view))
            known = self._columns[attribute] = batch.column(attribute)
        if order is None:
            return known
        valid = None if known.valid is None else known.valid[order]
        return EncodedColumn(known.values[order], valid, unit=known.unit)

    def _batch(self, order: Int64s | None) -> EventBatch:
        """The retained events in this order."""
        view = self._retained.view
        ticks, codes, *others = self._described(view)
        if order is None:
            return _FrameBatch(view.column, ticks, codes, *others).reading(self, None)
        ticks, codes = ticks[order], codes[order]
        batch = _FrameBatch(
            lambda attribute: one_array(view.column(attribute)).take(pa.array(order)),
            ticks,
            codes,
            *others,
        )
        return batch.reading(self, order)

    def _described(self, view: EventView) -> tuple[Any, ...]:
        """What an event batch has besides its columns, in the order in which events came."""
        if self._type_codes is None:
            self._type_codes = view.type_codes
        # A list is looked up by the place of its event in memory.
        lists = ListColumns(lambda: view.events.table, self._strings, 0)
        names, codes = view.type_names, self._type_codes
        return self._retained.ticks, codes, names, 0, view.schema, self._strings, lists


class _FrameBatch(EventBatch):
    """The events of a frame, whose columns are kept between frames."""

    __slots__ = ("_memory", "_order")
    _memory: FrameMemory
    _order: Int64s | None

    def reading(self, memory: FrameMemory, order: Int64s | None) -> _FrameBatch:
        """The same batch, whose columns are those of a memory in this order."""
        self._memory, self._order = memory, order
        return self

    def _encode(self, attribute: str) -> EncodedColumn:
        return self._memory.column(attribute, self._order)


def _joined(known: Intervals, added: Intervals) -> Intervals:
    """The intervals of both, one after the other."""
    mass_at, masses = np.concatenate([known.mass_at, added.mass_at]), known.masses
    if len(added.masses) > 1:
        mass_at[len(known.mass_at) :][added.mass_at >= 0] += len(masses)
        masses = np.concatenate([masses, added.masses])
    return Intervals(
        np.concatenate([known.lower, added.lower]),
        np.concatenate([known.upper, added.upper]),
        mass_at,
        masses,
    )


def _longer(known: EncodedColumn, added: EncodedColumn) -> EncodedColumn | None:
    """Both columns, one after the other; None if they are of different kinds."""
    if known.values.dtype != added.values.dtype or known.unit != added.unit:
        return None
    valid = None
    if known.valid is not None or added.valid is not None:
        valid = np.concatenate([_validity(known), _validity(added)])
    return EncodedColumn(np.concatenate([known.values, added.values]), valid, unit=known.unit)


def _validity(column: EncodedColumn) -> npt.NDArray[np.bool_]:
    return np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid
