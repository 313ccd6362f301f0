"""The matches of positive components that no negated component violates.

One operator for all evaluations: it reads the events as they come, keeps those that can
violate, and tests matches when no later event can violate them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cepheid.codegen.expressions import Storage
from cepheid.codegen.generated import predicate_address
from cepheid.codegen.layout import TAG_SHIFT
from cepheid.codegen.steps import NegationTest, step_tables
from cepheid.engines.base.engine import Restored
from cepheid.engines.base.event_batch import Bools, EventBatch
from cepheid.engines.base.registers import Registers
from cepheid.engines.base.retained import Retained
from cepheid.engines.negation.index import NegationIndex, Span, taken
from cepheid.engines.negation.kernels.latest import note_latest
from cepheid.engines.negation.kernels.violations import find_violated
from cepheid.engines.negation.layout import MatchArrays, SpanArrays
from cepheid.events.arrays import Int64s, PositionArray, int64s
from cepheid.events.columns.computed_columns import sources_in
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.time_axis import MAX_TICKS
from cepheid.jit.drive import Drive
from cepheid.matches.bindings import Bindings
from cepheid.matches.positions import Column, ListPositions, greatest, least
from cepheid.matches.stored import tags_of
from cepheid.snapshots import Arrays


class NegationFilter:
    """Tests matches against one negated component.

    ``by_partition`` says that the window counts the events of a partition. ``own_window`` is the
    own window of the negation, in ticks.
    """

    def __init__(
        self, test: NegationTest, window: int, by_partition: bool, own_window: int | None = None
    ) -> None:
        self._test = test
        self._is_own = own_window is not None
        self._window = window if own_window is None else own_window
        self._tests = [test.test]
        self._tables = step_tables(test.steps, test.columns)
        # The events of a match are in other columns than those that can violate it.
        self._registers = Registers(test, 1)
        self._columns = Registers(test, 1)
        self._predicate = predicate_address(test.source)
        # An event of a component without a place may come a window before the last event of a
        # match, which is tested when a window has passed since its first.
        reach = 2 if test.waits and not test.after else 1
        reach = min(reach * self._window, MAX_TICKS)
        self._index = NegationIndex(reach, by_partition and not self._is_own)
        # The last event of each partition that can violate, or -1.
        self._latest = int64s(0)
        self.tests = 0
        """How often conditions across events were tested."""

    @property
    def edge_name(self) -> str:
        """The name of these tests in metrics."""
        return f"{self._test.component.variable}_negated"

    @property
    def waits(self) -> bool:
        """Whether a violation can still come after the last event of a match."""
        return self._test.waits

    @property
    def edge(self) -> int | None:
        """The edge of a sequence that violations close, as in :class:`Closing`.

        None if more than the order of events decides, or events that a run does not know yet.
        """
        test = self._test
        if test.is_across or self._is_own or self.waits or not test.after:
            return None
        if test.is_inside:
            return 2 * (test.after.bit_length() - 1) + 1
        return 2 * ((test.before & -test.before).bit_length() - 1)

    def read(
        self, batch: EventBatch, partitions: Int64s, axis: Int64s, closed: Int64s | None = None
    ) -> None:
        """Keep the events that can violate a match; ``closed`` is the row of the edge."""
        test = self._test
        axis = batch.ticks if self._is_own else axis
        columns = self._columns.read(batch)
        mask = batch.mask(self._tests, self._predicate, self._columns.context)
        if closed is not None and len(partitions):
            self._latest = _padded(self._latest, int(partitions.max()) + 1)
            note_latest(mask, partitions, batch.first_event, self._latest, closed)
        places = np.flatnonzero((mask != 0) & (partitions >= 0))
        if not len(places):
            return
        kept = [taken(column, places) for column in columns] if test.is_across else []
        arrays = SpanArrays(places + batch.first_event, partitions[places], axis[places])
        self._index.add(Span.of(arrays, kept))

    def violated(
        self, matches: Bindings, partitions: Int64s, retained: Retained, strings: StringCodes
    ) -> Bools:
        """Which of the matches, in these partitions, an event has violated."""
        violated = int64s(len(matches))
        if not len(matches):
            return np.zeros(0, dtype=np.bool_)
        test = self._test
        lower, upper = self._bounds(matches)
        if self._is_own:
            anchors = retained.ticks[retained.places(lower if test.after else upper)]
            firsts = lasts = anchors
        else:
            firsts = retained.axis[retained.places(matches.first_events())]
            lasts = retained.axis[retained.places(matches.last_events())]
        tags, begins, lists = int64s(0), int64s(0), None
        if test.is_across:
            lists = retained.lists(strings)
            tags, begins = tags_of(matches)
            tags = self._point_at(tags, retained, strings)
        listed = self._listed(matches)
        arrays = MatchArrays(lower, upper, tags, begins, partitions, firsts, lasts, *listed)
        predicate = self._predicate if test.is_across else 0
        conditions = self._registers.conditions(self._tables, predicate)
        # Registers are filled from the events of a match, and conditions read those of a span.
        conditions = conditions._replace(context=self._columns.context)
        drive = Drive()
        place = int(lower.min()), int(upper.max())
        reached = int(lasts.min()) - self._window, int(firsts.max()) + self._window
        for span in self._index.between(place, reached):
            if test.is_across:
                self._registers.point_at(span.columns, strings, lists)
            at = int64s(2)
            written = at, drive.pace, violated
            reach = np.array([self._window, span.from_axis, span.to_axis], dtype=np.int64)
            find = partial(find_violated, arrays, span.arrays, conditions, reach, *written)
            drive.run(find, {})
            self.tests += int(at[1])
        return np.asarray(violated != 0, dtype=np.bool_)

    def _bounds(self, matches: Bindings) -> tuple[Int64s, Int64s]:
        """The events of each match after and before which the negated component is."""
        columns = list(enumerate(matches.variables.values()))
        after = [each for ix, each in columns if (self._test.after >> ix) & 1]
        before = [each for ix, each in columns if (self._test.before >> ix) & 1]
        if self._test.is_inside:
            lower, upper = after[0].firsts(), before[0].lasts()
        else:
            lower, upper = _latest(after, len(matches)), _earliest(before, len(matches))
        return lower.astype(np.int64, copy=False), upper.astype(np.int64, copy=False)

    def _listed(self, matches: Bindings) -> tuple[Int64s, ...]:
        """The events of the list that the component is inside of, if they can be of its types."""
        test = self._test
        around = test.steps[test.after.bit_length() - 1].component
        if not test.is_inside or not {*around.types} & {*test.component.types}:
            return ()
        column = matches.variables[around.variable]
        assert isinstance(column, ListPositions)
        arrays = column.positions, column.offsets
        return tuple(np.ascontiguousarray(each, dtype=np.int64) for each in arrays)

    def _point_at(self, tags: Int64s, retained: Retained, strings: StringCodes) -> Int64s:
        """Point at the columns of the events of matches; the tags, with places in these columns."""
        places = retained.places(tags >> TAG_SHIFT)
        chosen, inverse = np.unique(places.astype(np.int64, copy=False), return_inverse=True)
        names = [name for name, _ in self._test.columns]
        events = replace(retained.events, table=sources_in(retained.events.table, names))
        batch = EventBatch.of(events.take(chosen), 0, strings, retained.lists(strings))
        columns = []
        for name, storage in self._test.columns:
            column = batch.column(name)
            if storage is Storage.LIST:
                column = EncodedColumn(retained.numbers[chosen], column.valid)
            columns.append(column)
        self._columns.point_at(columns, strings, retained.lists(strings))
        component = tags & ((1 << TAG_SHIFT) - 1)
        return np.ascontiguousarray((inverse.astype(np.int64) << TAG_SHIFT) | component)

    def evict(self, following: Int64s, earliest: int) -> None:
        """Drop the events that no later match can meet.

        ``following`` is the latest place of each partition on the axis of the window, and
        ``earliest`` the time of the first event that can be in a match.
        """
        # An own window begins or ends at an event of the match.
        self._index.evict(np.array([earliest]) if self._is_own else following)

    @property
    def latest(self) -> int | None:
        """The latest event that is kept for matches that have not begun."""
        waits_for_first = self._is_own and not self._test.after and self._index.spans
        return self._index.spans[-1].to_axis if waits_for_first else None

    @property
    def partitions(self) -> Int64s:
        """The partitions of the events that are kept."""
        return np.concatenate([int64s(0), *(span.arrays.partitions for span in self._index.spans)])

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give each partition p the number ``numbers[p]``; their order stays the same."""
        self._index.renumber_partitions(numbers)
        kept = np.flatnonzero(numbers[: len(self._latest)] >= 0)
        self._latest = self._latest[kept]

    def kept_codes(self, attributes: Collection[str]) -> Iterator[Int64s]:
        """The kept values of string attributes, as codes."""
        for span in self._index.spans:
            for (name, _), column in zip(self._test.columns, span.columns, strict=False):
                if name in attributes:
                    yield column.values.astype(np.int64, copy=False)

    def state(self) -> Arrays:
        """The events that can violate, for a snapshot."""
        return self._index.state()

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        columns = len(self._test.columns) if self._test.is_across else 0
        self._index.load(state, columns, restored)
        for span in self._index.spans:
            self._latest = _padded(self._latest, int(span.arrays.partitions.max()) + 1)
            np.maximum.at(self._latest, span.arrays.partitions, span.arrays.events)


def _padded(latest: Int64s, size: int) -> Int64s:
    """The array with at least ``size`` numbers; the new ones are -1."""
    if len(latest) >= size:
        return latest
    return np.concatenate([latest, np.full(size - len(latest), -1, dtype=np.int64)])


def _latest(columns: Sequence[Column], count: int) -> PositionArray:
    """The last event of some variables in each match; -1 without variables."""
    found = (each.lasts() for each in columns)
    return greatest(found) if columns else np.full(count, -1, dtype=np.int64)


def _earliest(columns: Sequence[Column], count: int) -> PositionArray:
    """The first event of some variables in each match; after all events without variables."""
    found = (each.firsts() for each in columns)
    return least(found) if columns else np.full(count, 1 << 62, dtype=np.int64)
