"""One alternative of a query over a stream: its runs, and the matches that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.automata.nfa_b import compile_negation
from cepheid.errors import LimitError
from cepheid.kernels import match_lists
from cepheid.kernels.nfa_b_layout import TAG_SHIFT
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.runtime.bindings import Int64s
from cepheid.runtime.encoding import StringCodes
from cepheid.runtime.engines import EngineTask, make_engine
from cepheid.runtime.event_batch import EventBatch
from cepheid.runtime.kernel_tables import int64s
from cepheid.runtime.match_list import (
    WINDOW_END,
    MatchList,
    empty_list,
    joined,
)
from cepheid.runtime.metrics import EngineMetrics
from cepheid.runtime.negation_filter import NegationFilter
from cepheid.runtime.nfa_b_engine import NfaBEngine
from cepheid.runtime.partition_numbers import PartitionNumbers
from cepheid.runtime.retained import Retained
from cepheid.runtime.snapshot import Arrays, part, prefixed
from cepheid.runtime.time_axis import MAX_TICKS


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive events with their partitions and what the window measures for them."""

    events: EventBatch
    partition: Int64s
    partitions: int
    axis: Int64s


def too_many_matches(limit: int, components: Sequence[ast.Component]) -> LimitError:
    """What to say when there are more matches than allowed: what multiplies them, what helps."""
    lists = [print_pattern(each) for each in components if each.is_kleene]
    cause = (
        f"every choice of events for '{lists[0]}' is a match of its own"
        if lists
        else "every combination of events in the window is a match of its own"
    )
    return LimitError(
        f"there are more than {limit} matches: {cause}; a shorter window, an equivalence test such "
        "as [id], another condition, skip_till_next_match or output='non_overlapping' makes them "
        "fewer, and max_matches allows more"
    )


class AlternativeRun:
    """One alternative of a query: its runs, and the matches that wait for its negations."""

    def __init__(
        self,
        evaluation: str,
        task: EngineTask,
        measure: ast.WindowMeasure,
        numbers: dict[str, int],
    ) -> None:
        query, alternative, window = task.query, task.alternative, task.window
        self._engine = make_engine(evaluation, task)
        self._lists = PartitionNumbers()
        self._filters = [
            NegationFilter(compile_negation(query, alternative, negated), window)
            for negated in alternative.negations
        ]
        self._window = window
        self._by_test = self._engine.partition_attributes == tuple(
            test.attribute for test in query.equivalences
        )
        self.waits = alternative.waits
        self.looks_back = self.waits and any(not negated.after for negated in alternative.negations)
        self._ends_by_time = self.waits and measure is ast.WindowMeasure.TIME
        self._places = np.array(
            [numbers[component.variable] for component in alternative.components], dtype=np.int64
        )
        self._pending = empty_list()
        self._max_matches = task.options.max_matches
        self._components = alternative.components

    @property
    def reads_tests(self) -> bool:
        """Whether the runs are kept apart by the equivalence tests of the query."""
        return self._engine.reads_partitions and self._by_test

    @property
    def buffer(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], int]:
        """The nodes and finals of the runs, and the length of the longest match."""
        assert isinstance(self._engine, NfaBEngine)
        return self._engine.buffer

    @property
    def metrics(self) -> EngineMetrics:
        """What the runs have done so far."""
        return self._engine.metrics

    def state(self) -> Arrays:
        """The runs and waiting matches as arrays, for a snapshot."""
        return {
            **prefixed("engine", self._engine.state()),
            **prefixed("lists", self._lists.state()),
            **prefixed("pending", self._pending.state()),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        self._engine.load(part("engine", state))
        self._lists.load(part("lists", state))
        self._pending = MatchList(**part("pending", state))

    def read(self, chunk: Chunk, retained: Retained) -> None:
        """Advance the runs over a chunk, which is retained; what they find waits for release."""
        for found in self.found(chunk, retained):
            kept = found.copy()
            self._pending = joined([self._pending, kept]) if len(self._pending) else kept

    def found(self, chunk: Chunk, retained: Retained) -> Iterator[MatchList]:
        """The matches of the positive components, in blocks that are valid until the next."""
        events = chunk.events
        if not self._engine.reads_partitions:
            lists, count = int64s(len(events)), 1
        elif self._by_test:
            lists, count = chunk.partition, chunk.partitions
        else:
            keys = [events.column(name) for name in self._engine.partition_attributes]
            lists = self._lists.number(keys, len(events))
            count = self._lists.count
        for ids, offsets in self._engine.feed(events, lists, count, chunk.axis):
            self._check_limit()
            yield self._completed(retained, ids, offsets)

    def _check_limit(self) -> None:
        found = self._engine.metrics.matches
        if self._max_matches is not None and found > self._max_matches:
            raise too_many_matches(self._max_matches, self._components)

    @property
    def has_pending(self) -> bool:
        """Whether matches wait."""
        return len(self._pending) > 0

    def first_completion(self) -> tuple[int, int]:
        """The (ticks, position) at which the first of the waiting matches is complete."""
        ticks = int(self._pending.ends.min())
        return ticks, int(self._pending.end_positions[self._pending.ends == ticks].min())

    def release(
        self, retained: Retained, following: Int64s, strings: StringCodes, at_end: bool
    ) -> MatchList:
        """The matches that nothing to come can violate, and nothing has violated."""
        if not len(self._pending):
            return self._pending
        ready = self._pending
        self._pending = empty_list()
        if self.waits and not at_end:
            first = retained.at(ready.ids[ready.offsets[:-1]])
            partition = np.maximum(retained.partition[first], 0)
            closed = following[partition] - retained.axis[first] >= self._window
            self._pending = ready.pick(np.flatnonzero(~closed))
            ready = ready.pick(np.flatnonzero(closed))
        if self._filters and len(ready):
            ready = self._filtered(ready, retained, strings)
        renamed = ready.ids.copy()
        match_lists.rename_variables(renamed, self._places)
        return MatchList(renamed, ready.offsets, ready.starts, ready.ends, ready.end_positions)

    def _filtered(self, matches: MatchList, retained: Retained, strings: StringCodes) -> MatchList:
        events = retained.events
        batch = EventBatch.of(events, 0, strings)
        ids = retained.places_of(matches)
        if self._by_test:
            partition, count = retained.partition, int(retained.partition.max()) + 1
        else:
            numbers = PartitionNumbers()
            keys = [batch.column(name) for name in self._engine.partition_attributes]
            partition = numbers.number(keys, len(batch))
            count = numbers.count
        keep = np.ones(len(matches), dtype=np.bool_)
        for test in self._filters:
            keep &= ~test.violated(batch, partition, count, retained.axis, ids, matches.offsets)
        return matches if keep.all() else matches.pick(np.flatnonzero(keep))

    def _completed(self, retained: Retained, ids: Int64s, offsets: Int64s) -> MatchList:
        first, last = retained.at(ids[offsets[:-1]]), retained.at(ids[offsets[1:] - 1])
        ticks = retained.ticks
        starts, ends, positions = ticks[first], ticks[last], ids[offsets[1:] - 1] >> TAG_SHIFT
        if self._ends_by_time:
            # A window longer than the axis ends with it.
            ends = np.where(starts > MAX_TICKS - self._window, MAX_TICKS, starts + self._window)
            positions = np.full(len(first), WINDOW_END, dtype=np.int64)
        return MatchList(ids, offsets, starts, ends, positions)
