"""The events that a session still needs: those that a match to come can contain or be refused by.

Events are numbered in the order in which they come. The retained ones are a part of the
stream in order; where they stand in it is their *place*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import EventError
from cepheid.kernels.nfa_b_layout import TAG_SHIFT
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.encoding import StringCodes
from cepheid.runtime.events import Events
from cepheid.runtime.list_columns import ListColumns
from cepheid.runtime.match_list import MatchList
from cepheid.runtime.snapshot import Arrays, table_bytes, table_from
from cepheid.runtime.time_axis import TimeAxis
from cepheid.schema import Schema


class Retained:
    """The events in memory, with what the window measures for each."""

    def __init__(self) -> None:
        self.next_number = 0
        self.numbers: Int64s = np.empty(0, dtype=np.int64)
        self.axis: Int64s = np.empty(0, dtype=np.int64)
        self.partition: Int64s = np.empty(0, dtype=np.int64)
        self._events: Events | None = None
        self._lists: ListColumns | None = None
        self._type_names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def events(self) -> Events:
        """The retained events; positions in it are places."""
        if self._events is None:
            raise EventError("a session must be fed, if only with no events, before it advances")
        return self._events

    def append(self, batch: Events) -> None:
        """Add a batch, whose events are numbered from ``next_number`` on.

        What the window measures for them and their partitions are to be filled in.
        """
        axis, partition = np.empty_like(batch.ticks), np.empty_like(batch.ticks)
        numbers = np.arange(self.next_number, self.next_number + len(batch), dtype=np.int64)
        self.next_number += len(batch)
        self._lists = None
        batch = self._with_known_types(batch)
        if not len(self.numbers) or self._events is None:
            self._events, self.numbers, self.axis, self.partition = batch, numbers, axis, partition
            return
        old = self._events
        self._events = Events(
            pa.concat_tables([old.table, batch.table]).combine_chunks(),
            np.concatenate([old.rows, batch.rows]),
            np.concatenate([old.ticks, batch.ticks]),
            batch.time_axis,
            np.concatenate([old.type_codes, batch.type_codes]),
            batch.type_names,
            batch.schema,
        )
        self.numbers = np.concatenate([self.numbers, numbers])
        self.axis = np.concatenate([self.axis, axis])
        self.partition = np.concatenate([self.partition, partition])

    def keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Forget the events that are not wanted."""
        if self._events is None or wanted.all():
            return
        places = np.flatnonzero(wanted)
        old = self._events
        self._lists = None
        self._events = Events(
            old.table.take(pa.array(places)),
            old.rows[places],
            old.ticks[places],
            old.time_axis,
            old.type_codes[places],
            old.type_names,
            old.schema,
        )
        self.numbers = self.numbers[places]
        self.axis = self.axis[places]
        self.partition = self.partition[places]

    @property
    def are_consecutive(self) -> bool:
        """Whether no event between the first and the last one was dropped."""
        return bool(self.numbers[-1] - self.numbers[0] + 1 == len(self.numbers))

    def lists(self, strings: StringCodes) -> ListColumns:
        """The list attributes of all retained events."""
        if self._lists is None:
            first = int(self.numbers[0]) if len(self) else self.next_number
            numbers = self.numbers if len(self) and not self.are_consecutive else None
            self._lists = ListColumns(self.events.table, strings, first, numbers)
        return self._lists

    def at(self, tags: Int64s) -> Int64s:
        """The places of tagged events."""
        numbers = tags >> TAG_SHIFT
        if self.are_consecutive:
            return np.asarray(numbers - self.numbers[0], dtype=np.int64)
        places: Int64s = np.searchsorted(self.numbers, numbers)
        return places

    def places_of(self, matches: MatchList) -> Int64s:
        """The tags of the matches, with places in the stead of numbers."""
        if len(self.numbers) and self.numbers[0] == 0 and self.numbers[-1] == len(self) - 1:
            return matches.ids
        component = matches.ids & ((1 << TAG_SHIFT) - 1)
        return np.ascontiguousarray((self.at(matches.ids) << TAG_SHIFT) | component)

    def state(self) -> Arrays:
        """The retained events as arrays, for a snapshot."""
        events = self.events
        return {
            "next_number": np.array([self.next_number]),
            "numbers": self.numbers,
            "axis": self.axis,
            "partition": self.partition,
            "table": table_bytes(events.table),
            "rows": events.rows,
            "ticks": events.ticks,
            "type_codes": events.type_codes,
        }

    def load(
        self, state: Arrays, type_names: Sequence[str], axis: TimeAxis, schema: Schema
    ) -> None:
        """Take the state of a snapshot."""
        self.next_number = int(state["next_number"][0])
        self.numbers, self.axis = state["numbers"], state["axis"]
        self.partition = state["partition"]
        self._type_names = {name: code for code, name in enumerate(type_names)}
        self._events = Events(
            table_from(state["table"]),
            state["rows"],
            state["ticks"],
            axis,
            state["type_codes"],
            tuple(type_names),
            schema,
        )

    def _with_known_types(self, batch: Events) -> Events:
        """The batch with the session's numbers for types, which stay the same for good."""
        for name in batch.type_names:
            self._type_names.setdefault(name, len(self._type_names))
        codes = np.array([self._type_names[name] for name in batch.type_names], dtype=np.int32)
        type_codes = codes[batch.type_codes] if len(codes) else batch.type_codes
        names = tuple(self._type_names)
        schema: Schema = batch.schema
        return Events(
            batch.table, batch.rows, batch.ticks, batch.time_axis, type_codes, names, schema
        )
