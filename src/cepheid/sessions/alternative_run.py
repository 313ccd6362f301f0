"""One alternative of a query over a stream: its engine, its negations, its pending matches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.codegen.sequences import compile_negation
from cepheid.engines.base.engine import Chunk, Engine, EngineTask, StandingStacks
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, int64s, padded
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import (
    WINDOW_END,
    Bindings,
    MatchTimes,
    joined_bindings,
    no_matches,
)
from cepheid.matches.layout import Chains
from cepheid.matches.metrics import EngineMetrics
from cepheid.matches.stored import load_matches, store_matches
from cepheid.planning.registry import evaluation_named
from cepheid.snapshots import Arrays, part, prefixed

if TYPE_CHECKING:
    from cepheid.engines.negation.filter import NegationFilter


def replace_partitions(chunk: Chunk, partition_of: Int64s, partitions: int) -> Chunk:
    """The chunk with the partitions that an engine reads."""
    return replace(chunk, partition_of=partition_of, partitions=partitions)


class _Waiting:
    """Pending matches, and the partitions in which events can violate their negations."""

    def __init__(self, matches: Bindings, partitions: Int64s) -> None:
        self._parts = [matches]
        self._partitions = [partitions]

    def add(self, found: Bindings, partitions: Int64s) -> None:
        """Add matches."""
        if len(found):
            self._parts.append(found)
            self._partitions.append(partitions)

    @property
    def matches(self) -> Bindings:
        """All pending matches."""
        with_matches = [part for part in self._parts if len(part)]
        self._parts = [joined_bindings(with_matches or self._parts[:1])]
        return self._parts[0]

    @property
    def partitions(self) -> Int64s:
        """The partition of each pending match."""
        self._partitions = [np.concatenate(self._partitions)]
        return self._partitions[0]

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give each partition p the number ``numbers[p]``."""
        partitions = self.partitions
        self._partitions = [np.where(partitions >= 0, numbers[partitions], partitions)]


def _filtered(
    filters: Sequence[NegationFilter],
    matches: Bindings,
    partitions: Int64s,
    retained: Retained,
    strings: StringCodes,
) -> tuple[Bindings, Int64s]:
    """The matches that violate none of the negations, and their partitions."""
    for test in filters:
        if len(matches):
            kept = np.flatnonzero(~test.violated(matches, partitions, retained, strings))
            if len(kept) < len(matches):
                matches, partitions = matches.pick(kept), partitions[kept]
    return matches, partitions


def _negation_filters(task: EngineTask) -> list[NegationFilter]:
    if not task.alternative.negations:
        return []
    # Imported here because the import compiles kernels, and most queries have no negation.
    from cepheid.engines.negation.filter import NegationFilter

    return [
        NegationFilter(
            compile_negation(task.query, task.alternative, negated), task.window, task.by_partition
        )
        for negated in task.alternative.negations
    ]


def _make_engine(evaluation: str, task: EngineTask) -> Engine:
    make = evaluation_named(evaluation).make_engine
    assert make is not None
    return make(task)


class AlternativeRun:
    """One alternative of a query: its engine, and the matches pending on its negations."""

    def __init__(self, evaluation: str, task: EngineTask, measure: ast.WindowMeasure) -> None:
        query, alternative, window = task.query, task.alternative, task.window
        self._engine = _make_engine(evaluation, task)
        self._is_sequence = alternative.is_sequence
        self._lists = PartitionNumbers()
        self._filters = _negation_filters(task)
        self._window = window
        self._by_test = self._engine.partition_attributes == tuple(
            test.attribute for test in query.equivalences
        )
        self.waits = alternative.waits
        self._ends_by_time = self.waits and measure is ast.WindowMeasure.TIME
        self._components = alternative.components
        self._pending = self._nothing_waits()
        self._max_matches = task.options.max_matches
        self._strategy = query.query.strategy

    @property
    def reads_tests(self) -> bool:
        """Whether the runs are partitioned by the equivalence tests of the query."""
        return self._engine.reads_partitions and self._by_test

    def used_partitions(self, now: int) -> Int64s | None:
        """For each partition of the equivalence tests, 1 if it is in use; None if unknown."""
        return self._used(now, self._by_test)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move the runs and negations of partition p to partition ``numbers[p]``."""
        self._renumber(numbers, self._by_test)

    def evict_keys(self, now: int, to_store: bool) -> None:
        """Free the numbers of unused keys, except those of equivalence tests."""
        if not self._lists.are_many(to_store):
            return
        used = self._used(now, not self._by_test)
        if used is not None:
            self._renumber(self._lists.keep(padded(used, self._lists.count)), not self._by_test)

    def _used(self, now: int, is_numbered: bool) -> Int64s | None:
        """The partitions in use; ``is_numbered`` if the caller numbers them."""
        if not is_numbered:
            return int64s(0)
        used = int64s(0)
        if self._engine.reads_partitions:
            used = self._engine.used_partitions(now)
        kept = [each.partitions for each in self._filters]
        waiting = self._pending.partitions
        for partitions in (*kept, waiting[waiting >= 0]) if self._filters else ():
            used = padded(used, max(len(used), int(partitions.max(initial=-1)) + 1))
            used[partitions] = 1
        return used

    def _renumber(self, numbers: Int64s, is_numbered: bool) -> None:
        if not is_numbered:
            return
        if self._engine.reads_partitions:
            self._engine.renumber_partitions(numbers)
        for each in self._filters:
            each.renumber_partitions(numbers)
        if self._filters:
            self._pending.renumber_partitions(numbers)

    def kept_codes(self, attributes: Collection[str]) -> list[Int64s]:
        """The codes of the string attributes that negations keep."""
        return [codes for each in self._filters for codes in each.kept_codes(attributes)]

    @property
    def counted(self) -> float:
        """The number of matches, if the engine counts them."""
        return self._engine.counted

    @property
    def buffer(self) -> Chains:
        """The matches of an engine that keeps all of them."""
        return self._engine.buffer

    def stacks(self, now: int) -> StandingStacks:
        """The instance stacks at a time, if the engine has them."""
        return self._engine.standing(now)

    @property
    def metrics(self) -> EngineMetrics:
        """Metrics of the runs so far."""
        return self._engine.metrics

    def state(self) -> Arrays:
        """The runs and pending matches as arrays, for a snapshot."""
        arrays = {
            **prefixed("engine", self._engine.state()),
            **prefixed("lists", self._lists.state()),
            **prefixed("pending", store_matches(self._pending.matches)),
            "pending_partitions": self._pending.partitions,
        }
        for number, test in enumerate(self._filters):
            arrays |= prefixed(f"negation{number}", test.state())
        return arrays

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        self._engine.load(part("engine", state))
        self._lists.load(part("lists", state))
        waiting = load_matches(part("pending", state), self._components)
        waiting = replace(waiting, in_order=self._is_sequence)
        self._pending = _Waiting(waiting, state["pending_partitions"])
        for number, test in enumerate(self._filters):
            test.load(part(f"negation{number}", state))

    def read(self, chunk: Chunk, retained: Retained) -> None:
        """Feed a retained chunk to the engine; its matches stay pending until release.

        Negations inside a match are tested immediately, negations after its last event later.
        """
        lists = self._partitions_of(chunk)
        partitions = chunk.partition_of if self._by_test else lists[0]
        for test in self._filters:
            test.read(chunk.events, partitions, chunk.axis)
        direct = [test for test in self._filters if not test.waits]
        strings, first_event = chunk.events.strings, chunk.events.first_event
        for found in self._found(chunk, retained, lists):
            last = found.last_events() - first_event
            self._pending.add(*_filtered(direct, found, partitions[last], retained, strings))

    def _found(
        self, chunk: Chunk, retained: Retained, lists: tuple[Int64s, int]
    ) -> Iterator[Bindings]:
        """The matches of the positive components, with their completion."""
        for block in self._engine.feed(replace_partitions(chunk, *lists), 0):
            self._check_limit()
            yield self._completed(retained, replace(block, in_order=self._is_sequence))

    def found(self, chunk: Chunk, retained: Retained) -> Iterator[Bindings]:
        """The matches of the positive components, as places in the retained events.

        Without negations, they are the answer.
        """
        base = retained.first_number if retained.are_consecutive else 0
        read = replace_partitions(chunk, *self._partitions_of(chunk))
        for block in self._engine.feed(read, base):
            self._check_limit()
            if not retained.are_consecutive:
                block = block.moved(retained.places)
            block = replace(block, in_order=self._is_sequence)
            yield replace(block, known_times=retained.times_of(block))

    def _partitions_of(self, chunk: Chunk) -> tuple[Int64s, int]:
        """The partition of each event as the engine reads it, and the number of partitions."""
        events = chunk.events
        if self._by_test and self._engine.reads_partitions:
            return chunk.partition_of, chunk.partitions
        if self._engine.reads_partitions or (self._filters and not self._by_test):
            keys = [events.column(name) for name in self._engine.partition_attributes]
            return self._lists.number(keys, len(events)), self._lists.count
        return int64s(len(events)), 1

    def _check_limit(self) -> None:
        limit = self._max_matches
        if limit is not None and self._engine.metrics.matches > limit:
            raise too_many_matches(limit, self._components, self._strategy)

    @property
    def has_pending(self) -> bool:
        """Whether matches are pending."""
        return len(self._pending.matches) > 0

    def first_completion(self) -> tuple[int, int]:
        """The (ticks, position) at which the first pending match is complete."""
        waiting = self._pending.matches
        ticks = int(waiting.ends.min())
        return ticks, int(waiting.completion_positions[waiting.ends == ticks].min())

    def release(
        self, retained: Retained, following: Int64s, strings: StringCodes, at_end: bool
    ) -> Bindings:
        """The pending matches that no event has violated and no later event can violate."""
        ready, partitions = self._pending.matches, self._pending.partitions
        if self.waits and not at_end and len(ready):
            first = retained.places(ready.first_events())
            counted = np.maximum(retained.partition[first], 0)
            is_closed = following[counted] - retained.axis[first] >= self._window
            open_, closed = np.flatnonzero(~is_closed), np.flatnonzero(is_closed)
            self._pending = _Waiting(ready.pick(open_), partitions[open_])
            ready, partitions = ready.pick(closed), partitions[closed]
        else:
            self._pending = self._nothing_waits()
        waiting = [test for test in self._filters if test.waits]
        ready, _ = _filtered(waiting, ready, partitions, retained, strings)
        for test in self._filters:
            test.evict(following)
        return ready

    def _nothing_waits(self) -> _Waiting:
        return _Waiting(no_matches(self._components), int64s(0))

    def _completed(self, retained: Retained, block: Bindings) -> Bindings:
        """The block with the times and the completion of its matches."""
        last = block.last_events().astype(np.int64, copy=False)
        starts = retained.ticks[retained.places(block.first_events())]
        if self._ends_by_time:
            # A window longer than the axis ends with it.
            ends = np.where(starts > MAX_TICKS - self._window, MAX_TICKS, starts + self._window)
            last = np.full(len(starts), WINDOW_END, dtype=np.int64)
        else:
            ends = retained.ticks[retained.places(last)]
        return replace(block, known_times=MatchTimes.of(starts, ends), completed_at=last)
