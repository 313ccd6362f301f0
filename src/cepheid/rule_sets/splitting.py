"""A batch split by type once, so that a rule reads only events of its types.

It may, if events of other types change neither its matches nor when they are complete: a run skips
them, the window measures time, and no condition asks for the number of an event.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions


def types_read(query: ast.Query) -> frozenset[str] | None:
    """The types of events that a query has to read; None if it has to read all events.

    >>> from cepheid.language.parser import parse
    >>> sorted(types_read(parse("PATTERN SEQ(A a, ~(B b), C c) WITHIN 5")))
    ['A', 'B', 'C']
    >>> types_read(parse("PATTERN SEQ(A a, B b) WITHIN 5 EVENTS")) is None
    True
    """
    if not query.strategy.skips or query.measure is not ast.WindowMeasure.TIME:
        return None
    if reads_positions(query):
        return None
    return frozenset(name for part, _ in ast.components(query.pattern) for name in part.types)


def type_order(types: frozenset[str]) -> tuple[str, ...]:
    """The order in which the types of a rule are numbered, the same in every batch."""
    return tuple(sorted(types))


class SplitBatch:
    """The events of a batch, of all types or of some."""

    def __init__(self, batch: Events) -> None:
        self.whole = batch
        self._made: dict[frozenset[str], Events | None] = {}

    def of(self, types: frozenset[str] | None) -> Events | None:
        """The events of some types, in order; None if there are none."""
        if types is None:
            return self.whole
        if not len(self.whole):
            return None
        if types not in self._made:
            self._made[types] = self._taken(types)
        return self._made[types]

    @cached_property
    def _positions(self) -> dict[str, Int64s]:
        """The positions of the events of each type that occurs."""
        batch = self.whole
        order = np.argsort(batch.type_codes, kind="stable")
        ends = np.cumsum(np.bincount(batch.type_codes, minlength=len(batch.type_names)))
        parts = np.split(order, ends[:-1])
        return {name: part for name, part in zip(batch.type_names, parts, strict=True) if len(part)}

    @cached_property
    def _rows(self) -> pa.RecordBatch:
        """The table as one batch, from which rows are taken faster."""
        return self.whole.table.combine_chunks().to_batches()[0]

    def _taken(self, types: frozenset[str]) -> Events | None:
        """A copy of the events of these types, which alone are in its ``type_names``.

        These are the same in every batch, so that the session of a rule need not renumber them.
        """
        names = type_order(types)
        found = [(code, self._positions.get(name)) for code, name in enumerate(names)]
        parts = [(code, part) for code, part in found if part is not None]
        if not parts:
            return None
        positions = np.concatenate([part for _, part in parts])
        codes = np.repeat(
            np.array([code for code, _ in parts], dtype=np.int32), [len(part) for _, part in parts]
        )
        if len(parts) > 1:
            order = np.argsort(positions)
            positions, codes = positions[order], codes[order]
        batch = self.whole
        return Events(
            pa.Table.from_batches([self._rows.take(from_numpy(positions))]),
            batch.rows[positions],
            batch.ticks[positions],
            batch.time_axis,
            codes,
            names,
            batch.schema,
        )
