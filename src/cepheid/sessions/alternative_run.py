"""One alternative of a query over a stream: its engine, its negations, its pending matches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.budget import OverBudget
from cepheid.codegen.layout import NONE
from cepheid.codegen.sequences import compile_negation
from cepheid.engines.base.engine import Chunk, EngineTask, Restored
from cepheid.engines.base.event_batch import Bools
from cepheid.engines.base.layout import Closing
from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, int64s, padded
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, MatchTimes, joined_bindings, no_matches
from cepheid.matches.held import charge_matches, over_budget, too_many_matches
from cepheid.matches.metrics import EngineMetrics
from cepheid.matches.stored import load_matches, store_matches
from cepheid.planning.registry import evaluation_named
from cepheid.snapshot_checks import FAR, check_arrays, expected
from cepheid.snapshots import Arrays, part, prefixed

if TYPE_CHECKING:
    from cepheid.engines.negation.filter import NegationFilter


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a stream has come.

    ``following`` has, for each partition, the least place on the axis of the window that a later
    event can have, and ``now`` is the least time of a later event.
    """

    following: Int64s
    now: int


def _after(ticks: Int64s, window: int) -> Int64s:
    """The times a window later; one that is longer than the axis ends with it."""
    return np.where(ticks > MAX_TICKS - window, MAX_TICKS, ticks + window)


_NOTHING = np.empty(0, np.int64)
_COPIES = 6
"""Pending matches are joined, compared, chosen from and ordered before they are reported."""


class AlternativeRun:
    """One alternative of a query: its engine, and the matches pending on its negations."""

    def __init__(self, evaluation: str, task: EngineTask) -> None:
        query, alternative = task.query, task.alternative
        make_engine = evaluation_named(evaluation).make_engine
        assert make_engine is not None
        self.engine = make_engine(task)
        self.waits = alternative.waits
        self._is_sequence = alternative.is_sequence
        self._components = alternative.components
        self._strategy = query.query.strategy
        self._max_matches = task.options.max_matches
        self._budget, self._query = task.budget, query.query
        self._charged = 0
        self._window = task.window
        waiting = [each for each in alternative.negations if each.waits]
        own_waits = [query.own_windows[each.own_window] for each in waiting if each.own_window]
        # Matches wait for the query's window, for a time after their last event, or for both.
        self._waits_for_window = len(own_waits) < len(waiting)
        self._own_wait = max(own_waits, default=0)
        self._has_own = any(each.own_window for each in alternative.negations)
        is_time = query.query.measure is ast.WindowMeasure.TIME
        self._ends_with_window = self._waits_for_window and is_time
        self.is_decided_by_time = is_time or not self._waits_for_window
        self._filters: list[NegationFilter] = []
        if alternative.negations:
            # Imported here because the import compiles kernels, and most queries have no negation.
            from cepheid.engines.negation.filter import NegationFilter

            self._filters = [
                NegationFilter(
                    compile_negation(query, alternative, negated),
                    task.window,
                    task.by_partition,
                    query.own_windows[negated.own_window] if negated.own_window else None,
                )
                for negated in alternative.negations
            ]
        # The row of each negation, and of each edge, in what closes the edges of the engine.
        closes = self.engine.closes_edges and self._is_sequence
        edges = [each.edge if closes else None for each in self._filters]
        closed = sorted({edge for edge in edges if edge is not None})
        self._rows = [None if edge is None else closed.index(edge) for edge in edges]
        self._edge_rows = np.full(2 * len(self._components) + 2 if closed else 0, NONE)
        self._edge_rows[closed] = range(len(closed))
        self._by_test = self.engine.partition_attributes == tuple(
            test.attribute for test in query.equivalences
        )
        # The numbers of partitions, unless they are those of the equivalence tests.
        self._lists = PartitionNumbers()
        # How many matches negations have excluded, and how many events these had.
        self._violated = int64s(2)
        # The partition of each event, if the matches are kept together.
        self._keeps_all = task.keeps_all
        self._partition_of: list[Int64s] = []
        # Pending matches, and the partitions in which events can violate their negations.
        self._nothing = no_matches(self._components), int64s(0)
        self._parts = [self._nothing]

    @property
    def reads_tests(self) -> bool:
        """Whether the runs are partitioned by the equivalence tests of the query."""
        return self.engine.reads_partitions and self._by_test

    def used_partitions(self, now: int) -> Int64s:
        """For each partition of the equivalence tests, 1 if it is in use."""
        return self._used(now) if self._by_test else int64s(0)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move the runs and negations of partition p to partition ``numbers[p]``."""
        if self._by_test:
            self._renumber(numbers)

    def evict_keys(self, now: int, to_store: bool) -> None:
        """Free the numbers of unused keys, except those of equivalence tests."""
        if not self._by_test and self._lists.are_many(to_store):
            self._renumber(self._lists.keep(padded(self._used(now), self._lists.count)))

    def _used(self, now: int) -> Int64s:
        used = self.engine.used_partitions(now) if self.engine.reads_partitions else int64s(0)
        waiting = self._pending[1]
        kept = (*(each.partitions for each in self._filters), waiting[waiting >= 0])
        for partitions in kept if self._filters else ():
            used = padded(used, max(len(used), int(partitions.max(initial=-1)) + 1))
            used[partitions] = 1
        return used

    def _renumber(self, numbers: Int64s) -> None:
        if self.engine.reads_partitions:
            self.engine.renumber_partitions(numbers)
        for each in self._filters:
            each.renumber_partitions(numbers)
        if self._filters:
            matches, waiting = self._pending
            self._parts = [(matches, np.where(waiting >= 0, numbers[waiting], waiting))]

    def kept_codes(self, attributes: Collection[str]) -> list[Int64s]:
        """The codes of the string attributes that negations keep."""
        return [codes for each in self._filters for codes in each.kept_codes(attributes)]

    def state(self) -> Arrays:
        """The runs and pending matches as arrays, for a snapshot."""
        matches, partitions = self._pending
        arrays = {
            **prefixed("engine", self.engine.state()),
            **prefixed("lists", self._lists.state()),
            **prefixed("pending", store_matches(matches)),
            "pending_partitions": partitions,
        }
        for number, test in enumerate(self._filters):
            arrays |= prefixed(f"negation{number}", test.state())
        if self._filters:
            arrays["excluded"] = np.append(self._violated, [each.tests for each in self._filters])
        return arrays

    def load(self, state: Arrays, restored: Restored) -> None:
        """Restore the state of a snapshot."""
        self._lists.load(part("lists", state))
        partitions = restored.partitions if self._by_test else self._lists.count
        restored = replace(restored, partitions=max(partitions, 1))
        matches = load_matches(part("pending", state), self._components, restored.events)
        described = {"pending_partitions": expected(np.int64, "matches", each=(-1, "partitions"))}
        negations = {f"negation{number}": test for number, test in enumerate(self._filters)}
        parts = ["engine", "lists", "pending", *negations]
        sizes = {"matches": len(matches), "partitions": restored.partitions}
        if "excluded" in state:  # Older snapshots do not count them.
            described["excluded"] = expected(np.int64, 2 + len(self._filters), each=(0, FAR))
        check_arrays(state, described, parts, **sizes)
        if "excluded" in state:
            self._violated, tests = state["excluded"][:2], state["excluded"][2:].tolist()
            for each, count in zip(self._filters, tests, strict=True):
                each.tests = count
        self.engine.load(part("engine", state), restored)
        matches = replace(matches, in_order=self._is_sequence)
        self._parts = [(matches, state["pending_partitions"])]
        for name, test in negations.items():
            test.load(part(name, state), restored)

    def read(self, chunk: Chunk, retained: Retained) -> None:
        """Feed a retained chunk to the engine; its matches stay pending until release.

        Negations inside a match are tested immediately, negations after its last event later.
        """
        own = self._with_own_partitions(chunk)
        partitions = chunk.partition_of if self._by_test else own.partition_of
        if self._keeps_all:
            self._partition_of.append(partitions)
        rows = len(set(self._rows) - {None})
        latest = np.full((rows, len(chunk.events)), 2 * NONE, dtype=np.int64)
        for test, row in zip(self._filters, self._rows, strict=True):
            closed = None if row is None else latest[row]
            test.read(chunk.events, partitions, chunk.axis, closed)
        own = replace(own, closing=Closing(self._edge_rows, latest))
        direct = [test for test in self._filters if not test.waits]
        strings, first_event = chunk.events.strings, chunk.events.first_event
        for block in self._blocks(own, 0):
            found = self._completed(retained, replace(block, in_order=self._is_sequence))
            last = found.last_events() - first_event
            kept = self._filtered(direct, found, partitions[last], retained, strings)
            if len(kept[0]):
                self._charged += charge_matches(self._budget, kept[0], self._query, _COPIES)
                self._parts.append(kept)

    def allow_matches(self, count: int) -> None:
        """Fail when more than this many matches are found from now on."""
        self._max_matches = self.engine.metrics.matches + count

    def found(self, chunk: Chunk, retained: Retained) -> Iterator[Bindings]:
        """The matches of the positive components, as places in the retained events.

        Without negations, they are the answer.
        """
        base = retained.first_number if retained.are_consecutive else 0
        for block in self._blocks(self._with_own_partitions(chunk), base):
            if not retained.are_consecutive:
                block = block.moved(retained.places)
            yield block.timed(retained.times_of(block), self._is_sequence)

    def _blocks(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """The matches of the positive components, in blocks without times."""
        limit = self._max_matches
        blocks = self.engine.feed(chunk, first_event)
        while (block := self._next(blocks)) is not None:
            if limit is not None and self.engine.metrics.matches > limit:
                raise too_many_matches(limit, self._components, self._strategy)
            yield block

    def _next(self, blocks: Iterator[Bindings]) -> Bindings | None:
        """The next block, if there is one; what the engine allocates is charged to the budget."""
        try:
            with self._budget.in_force():
                return next(blocks, None)
        except OverBudget:
            crowded = self.engine.crowded()
            variable = None if crowded is None else crowded.variable
            raise over_budget(self._budget, self._query, variable) from None

    def _with_own_partitions(self, chunk: Chunk) -> Chunk:
        """The chunk with the partitions that the engine reads."""
        events, engine = chunk.events, self.engine
        if self._by_test and engine.reads_partitions:
            return chunk
        if not self._by_test and (engine.reads_partitions or self._filters):
            keys = [events.column(name) for name in engine.partition_attributes]
            partition_of = self._lists.number(keys, len(events))
            return replace(chunk, partition_of=partition_of, partitions=self._lists.count)
        return replace(chunk, partition_of=int64s(len(events)), partitions=1)

    @property
    def _pending(self) -> tuple[Bindings, Int64s]:
        """All pending matches, and their partitions."""
        if len(self._parts) > 1:
            parts = [each for each in self._parts if len(each[0])]
            matches, partitions = zip(*parts, strict=True)
            self._parts = [(joined_bindings(matches), np.concatenate(partitions))]
        return self._parts[0]

    def live_starts(self) -> Int64s | None:
        """The first events of runs and of pending matches; None if the engine does not know."""
        live = self.engine.live_starts()
        if live is None:
            return None
        waiting, _ = self._pending
        return np.union1d(live, waiting.first_events()) if len(waiting) else live

    @property
    def outlasting(self) -> Int64s:
        """The first events of the pending matches that can outlast the window of the query."""
        if not self._own_wait:
            return _NOTHING
        waiting, _ = self._pending
        firsts = waiting.first_events() if len(waiting) else _NOTHING
        return firsts.astype(np.int64, copy=False)

    @property
    def latest_kept(self) -> list[int]:
        """The times of the last events that negations keep for matches that have not begun."""
        return [each.latest for each in self._filters if each.latest is not None]

    def first_completion(self) -> tuple[int, int] | None:
        """The (ticks, position) at which the first pending match is complete."""
        waiting, _ = self._pending
        if not len(waiting):
            return None
        ticks = int(waiting.ends.min())
        return ticks, int(waiting.completion_positions[waiting.ends == ticks].min())

    def release(
        self, retained: Retained, reached: Reached, strings: StringCodes, at_end: bool
    ) -> Bindings:
        """The pending matches that no event has violated and no later event can violate."""
        waiting = [test for test in self._filters if test.waits]
        ready, partitions = self._pending
        self._parts = [self._nothing]
        self._budget.release(self._charged)
        self._charged = 0
        if self.waits and not at_end and len(ready):
            if self._own_wait and self._waits_for_window:
                # A match may wait longer than an event is kept that violates it.
                ready, partitions = self._filtered(waiting, ready, partitions, retained, strings)
            is_closed = self._are_decided(ready, retained, reached)
            open_, closed = np.flatnonzero(~is_closed), np.flatnonzero(is_closed)
            self._parts = [(ready.pick(open_), partitions[open_])]
            self._charged = charge_matches(self._budget, self._parts[0][0], self._query, _COPIES)
            ready, partitions = ready.pick(closed), partitions[closed]
        ready, _ = self._filtered(waiting, ready, partitions, retained, strings)
        earliest = int(retained.ticks[0]) if self._has_own and len(retained) else reached.now
        for test in self._filters:
            test.evict(reached.following, earliest)
        return ready

    def take_all(self) -> Bindings:
        """The pending matches, if there are no negations."""
        matches, _ = self._pending
        self._parts = [self._nothing]
        self._budget.release(self._charged)
        self._charged = 0
        return matches

    def _are_decided(self, matches: Bindings, retained: Retained, reached: Reached) -> Bools:
        """Which matches no later event can violate."""
        decided = np.ones(len(matches), dtype=np.bool_)
        if self._waits_for_window:
            first = retained.places(matches.first_events())
            counted = np.maximum(retained.partition[first], 0)
            decided = reached.following[counted] - retained.axis[first] >= self._window
        if self._own_wait:
            last = retained.ticks[retained.places(matches.last_events())]
            decided = decided & (reached.now - last >= self._own_wait)
        return decided

    def _filtered(
        self,
        filters: Sequence[NegationFilter],
        matches: Bindings,
        partitions: Int64s,
        retained: Retained,
        strings: StringCodes,
    ) -> tuple[Bindings, Int64s]:
        """The matches that violate none of the negations, and their partitions."""
        found = matches
        for test in filters:
            if len(matches):
                kept = np.flatnonzero(~test.violated(matches, partitions, retained, strings))
                if len(kept) < len(matches):
                    matches, partitions = matches.pick(kept), partitions[kept]
        if matches is not found:
            self._violated += np.array([len(found) - len(matches), found.events - matches.events])
        return matches, partitions

    @property
    def metrics(self) -> EngineMetrics:
        """What the engine has done; matches that negations exclude are not counted."""
        found = self.engine.metrics
        if not self._filters:
            return found
        tests = {each.edge_name: each.tests for each in self._filters if each.tests}
        return replace(
            found,
            matches=found.matches - int(self._violated[0]),
            events_in_matches=found.events_in_matches - int(self._violated[1]),
            evaluations=found.evaluations | tests,
        )

    def _completed(self, retained: Retained, block: Bindings) -> Bindings:
        """The block with the times and the completion of its matches."""
        last = block.last_events().astype(np.int64, copy=False)
        starts = retained.ticks[retained.places(block.first_events())]
        ends = self.ends(starts, retained.ticks[retained.places(last)])
        return replace(block, known_times=MatchTimes.of(starts, ends), completed_at=last)

    def ends(self, starts: Int64s, lasts: Int64s) -> Int64s:
        """The end times of matches with these times of their first and last events."""
        deadlines = [_after(lasts, self._own_wait)] if self._own_wait else []
        deadlines += [_after(starts, self._window)] if self._ends_with_window else []
        return np.maximum.reduce(deadlines) if deadlines else lasts

    def kept_together(
        self, found: Callable[[], Bindings], retained: Retained, strings: StringCodes
    ) -> Int64s | None:
        """Which of the matches that stand for others no event violates; None if all are kept.

        A match and those for which it stands are judged alike. The events are a whole stream.
        """
        tests = [test for test, row in zip(self._filters, self._rows, strict=True) if row is None]
        if not tests:
            return None
        matches = found()
        kept = np.arange(len(matches))
        partition_of = np.concatenate([int64s(0), *self._partition_of])
        partitions = partition_of[matches.last_events()]
        for test in tests:
            violated = test.violated(matches.pick(kept), partitions[kept], retained, strings)
            kept = kept[~violated]
        return kept
