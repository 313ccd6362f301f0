"""Events that are in memory in pieces; only the columns that are read are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.computed_columns import column_of, sources_in
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.schema import PARTITION_INDEX, Schema


class EventView:
    """The events of consecutive pieces; ``last`` is an empty piece that knows all types.

    Matches usually show a few columns of a few events, while the pieces have all columns of all
    events in a window. ``numbers`` are their numbers in the stream, or that of the first one.
    The first ``skipped`` events of the first piece do not belong to them.
    """

    def __init__(
        self,
        pieces: Sequence[Events],
        last: Events,
        numbers: Int64s | int = 0,
        skipped: int = 0,
    ) -> None:
        self._numbers = numbers
        self._given = tuple(pieces) or (last,)
        self._skipped = skipped
        self._last = last
        self._columns: dict[str, pa.ChunkedArray] = {}

    @cached_property
    def _pieces(self) -> tuple[Events, ...]:
        first, *others = self._given
        return (first.slice(self._skipped, len(first)), *others) if self._skipped else self._given

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._last.time_axis

    @property
    def type_names(self) -> tuple[str, ...]:
        """The types of events, by their codes."""
        return self._last.type_names

    @property
    def schema(self) -> Schema:
        """What the events have."""
        return self._last.schema

    @property
    def column_names(self) -> list[str]:
        """The columns that results show, in order."""
        return [name for name in self._table.column_names if name != PARTITION_INDEX]

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all events, in one chunk."""
        if name not in self._columns:
            needed = sources_in(self._table, [name]).combine_chunks()
            self._columns[name] = column_of(needed, name, self._numbers)
        return self._columns[name]

    @cached_property
    def type_codes(self) -> npt.NDArray[np.int32]:
        """The type code of each event."""
        if len(self._pieces) == 1:
            return self._pieces[0].type_codes
        return np.concatenate([piece.type_codes for piece in self._pieces])

    @cached_property
    def rows(self) -> Int64s:
        """The input row of each event."""
        return np.concatenate([piece.rows for piece in self._pieces])

    @cached_property
    def events(self) -> Events:
        """The events as one object with all columns."""
        first, last = self._pieces[0], self._last
        if len(self._pieces) == 1 and first.type_names == last.type_names:
            return replace(first, numbers=self._numbers)
        return Events(
            self._table.combine_chunks(),
            self.rows,
            np.concatenate([piece.ticks for piece in self._pieces]),
            last.time_axis,
            self.type_codes,
            last.type_names,
            last.schema,
            self._numbers,
        )

    @cached_property
    def _table(self) -> pa.Table:
        """The columns of all pieces, in several chunks."""
        tables = [piece.table for piece in self._pieces]
        return (
            tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
        )
