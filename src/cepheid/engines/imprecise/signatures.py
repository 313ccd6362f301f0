"""The signatures of one alternative of a query, by one of several methods that agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.codegen import layout
from cepheid.codegen.generated import predicate_address
from cepheid.codegen.steps import NfaB
from cepheid.engines.base.options import ANY_STATE, AUTO_METHOD, POINT, QUERY_ORDER, SELECTIVITY
from cepheid.engines.base.registers import Registers, step_tables
from cepheid.engines.imprecise.frame import Candidates, Frame, find_candidates, partitions_of
from cepheid.engines.imprecise.intervals import Floats
from cepheid.engines.imprecise.kernels import search
from cepheid.engines.imprecise.kernels import search as imprecise_search
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s

_IDS = 1 << 18
_MATCHES = 1 << 16
_DEPTH = 64
_RUNS = 1_024
_ENTRIES = 1_024

SKEW = 4
"""How much rarer than the first component another must be, for a search to begin there."""

Block = tuple[Int64s, Int64s, tuple[Floats, Int64s, Int64s] | None]
"""Tags and offsets of signatures; with their confidences, starts and ends where known."""


class SignatureSearch:
    """Finds the signatures whose events can lie in order in one window, and satisfy the query."""

    def __init__(self, automaton: NfaB, window: int, method: str, max_runs: int | None) -> None:
        self.automaton = automaton
        self.paths = 0
        self._window = window
        self._method = method
        self._max_runs = max_runs
        self.is_next = automaton.strategy == layout.NEXT
        self._steps, self._updates = step_tables(automaton.steps, automaton.columns)
        self._columns = tuple(name for name, _ in automaton.columns)
        self._tests = [
            test for step in automaton.steps for test in (step.begin_test, step.take_test)
        ]
        self.predicate = predicate_address(automaton.source)
        self._has_kleene = any(step.component.is_kleene for step in automaton.steps)
        # What the search of a frame found there, for those who look for rivals in it.
        self.candidates: Candidates
        self.partition_of: Int64s
        self.registers: Registers
        self._mask: Int64s
        # What kernels are told, and where they are.
        self.control: Int64s

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The steps and updates as arrays."""
        return self._steps, self._updates

    def found(self, frame: Frame, only_fresh: bool, least_confidence: Floats) -> Iterator[Block]:
        """The signatures, in blocks that are valid until the next.

        ``least_confidence[0]`` may rise in between: those that cannot reach it are left out.
        """
        if not self.begin(frame, only_fresh):
            return
        counts = self.candidates.counts[::2]
        method = self.choose_method(counts)
        if method == POINT:
            yield from self._points(frame)
        elif method == ANY_STATE:
            yield from self._any_state(frame)
        elif method == SELECTIVITY:
            order = np.argsort(counts, kind="stable").astype(np.int64)
            yield from self._in_order(frame, order, least_confidence)
        else:
            yield from self._in_query_order(frame, least_confidence)
        self.end()

    def begin(self, frame: Frame, only_fresh: bool) -> bool:
        """Find the candidates of a frame and prepare a search; False where it finds nothing."""
        automaton = self.automaton
        rows = max(len(automaton.steps), _DEPTH) + 2
        self.registers = Registers(
            automaton.registers, automaton.columns, automaton.constants, rows
        )
        self.partition_of, partitions = partitions_of(frame, automaton.partition_attributes)
        self.candidates, self._mask = find_candidates(
            frame,
            self._tests,
            self.registers,
            self._columns,
            self.predicate,
            self.partition_of,
            partitions,
        )
        if not self.candidates.counts[::2].all():
            return False
        self.control = int64s(search.CONTROL_SIZE)
        self.control[search.WINDOW] = self._window
        self.control[search.IS_NEXT] = self.is_next
        self.control[search.PREDICATE] = self.predicate
        self.control[search.CONTEXT] = self.registers.context.ctypes.data
        self.control[search.ONLY_FRESH] = only_fresh
        self.control[search.DEPTH] = -1
        self.control[search.LEAST_TIME] = frame.decided - frame.base
        if only_fresh:
            fresh = np.flatnonzero(frame.fresh)
            if not len(fresh):
                return False
            self.control[search.LEAST_TIME] = frame.intervals.lower[fresh[0]]
        return True

    def end(self) -> None:
        """Count what the search has looked at."""
        self.paths += int(self.control[search.PATHS])

    def choose_method(self, counts: Int64s) -> str:
        """The method that was asked for, or the one that these numbers of candidates suggest."""
        if self._method != AUTO_METHOD:
            return self._method
        if self._has_kleene or self.is_next or counts[1:].min(initial=counts[0]) * SKEW > counts[0]:
            return QUERY_ORDER
        return SELECTIVITY

    def _in_query_order(self, frame: Frame, least_confidence: Floats) -> Iterator[Block]:
        intervals, registers = frame.intervals, self.registers
        paths = np.zeros((9, _DEPTH), dtype=np.int64)
        ids, offsets = int64s(_IDS), int64s(_MATCHES)
        while True:
            status = imprecise_search.search_in_query_order(
                self.control,
                intervals.lower,
                intervals.upper,
                intervals.mass_at,
                intervals.masses,
                self.candidates.places,
                self.candidates.index,
                self.candidates.reach,
                self._steps,
                self._updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                frame.fresh,
                paths,
                least_confidence,
                ids,
                offsets,
            )
            if status == search.NEED_DEPTH:
                paths = np.concatenate([paths, np.zeros_like(paths)], axis=1)
                registers.resize(paths.shape[1] + 2)
                continue
            if status == search.NEED_OUTPUT and not self.control[search.MATCHES]:
                ids, offsets = int64s(2 * len(ids)), int64s(2 * len(offsets))
                continue
            yield self._drained(ids, offsets)
            if status == search.SEARCHED:
                return

    def _in_order(self, frame: Frame, order: Int64s, least_confidence: Floats) -> Iterator[Block]:
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels import orders as imprecise_orders

        intervals, registers = frame.intervals, self.registers
        count = len(order)
        events, vlb, vub = (np.zeros((count + 1, count), dtype=np.int64) for _ in range(3))
        levels = np.zeros((5, count + 1), dtype=np.int64)
        ids, offsets = int64s(max(_IDS, count)), int64s(_MATCHES)
        while True:
            status = imprecise_orders.search_in_order(
                self.control,
                intervals.lower,
                intervals.upper,
                intervals.mass_at,
                intervals.masses,
                self.candidates.places,
                self.candidates.index,
                self.candidates.reach,
                self._steps,
                self._updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                frame.fresh,
                order,
                events,
                vlb,
                vub,
                levels,
                least_confidence,
                ids,
                offsets,
            )
            yield self._drained(ids, offsets)
            if status == search.SEARCHED:
                return

    def _any_state(self, frame: Frame) -> Iterator[Block]:
        from cepheid.engines.imprecise.kernels import orders as imprecise_orders

        intervals, registers = frame.intervals, self.registers
        count, runs = len(self._steps), _RUNS
        events, vlb, vub = (np.zeros((runs + 1, count), dtype=np.int64) for _ in range(3))
        freshness, following = int64s(runs + 1), np.arange(1, runs + 2, dtype=np.int64)
        following[runs - 1] = layout.NONE
        free = np.array([0, runs], dtype=np.int64)
        first_of = np.full(self.candidates.index.shape[1], layout.NONE, dtype=np.int64)
        ids, offsets, at = int64s(_IDS), int64s(_MATCHES), int64s(1)
        while True:
            status = imprecise_orders.run_from_any_state(
                self.control,
                intervals.lower,
                intervals.upper,
                self._mask,
                self.partition_of,
                self._steps,
                self._updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                frame.fresh,
                events,
                vlb,
                vub,
                freshness,
                following,
                first_of,
                free,
                ids,
                offsets,
                at,
            )
            if status == search.NEED_RUNS:
                if self._max_runs is not None and 2 * runs > self._max_runs:
                    raise LimitError(
                        f"there are more than {self._max_runs} runs from any state; another "
                        "method, such as query_order, needs none, and max_runs allows more"
                    )
                larger = [np.zeros((2 * runs + 1, count), dtype=np.int64) for _ in range(3)]
                for old, new in zip((events, vlb, vub), larger, strict=True):
                    new[:runs] = old[:runs]
                events, vlb, vub = larger
                freshness = np.concatenate([freshness[:runs], int64s(runs + 1)])
                added = np.arange(runs + 1, 2 * runs + 2, dtype=np.int64)
                added[runs - 1] = free[0]
                following = np.concatenate([following[:runs], added])
                free[0], free[1], runs = runs, free[1] + runs, 2 * runs
                continue
            if status == search.NEED_OUTPUT and not self.control[search.MATCHES]:
                ids, offsets = int64s(2 * len(ids)), int64s(2 * len(offsets))
                continue
            yield self._drained(ids, offsets)
            if status == search.SEARCHED:
                return

    def _points(self, frame: Frame) -> Iterator[Block]:
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.variants.kernels import points as imprecise_points

        intervals, registers = frame.intervals, self.registers
        times, events, index = self._point_streams(frame)
        count, entries_room = len(self._steps), _ENTRIES
        table = int64s(4 * entries_room)
        entries = np.zeros((entries_room, count), dtype=np.int64)
        sums = np.zeros((4, max(entries_room, count)))
        paths = np.zeros((4, count + 1), dtype=np.int64)
        ids, offsets, at = int64s(_IDS), int64s(_MATCHES), int64s(1)
        confidences, starts, ends = np.zeros(_MATCHES), int64s(_MATCHES), int64s(_MATCHES)
        at[0] = self.candidates.index[0, 0]
        while True:
            status = imprecise_points.match_points(
                self.control,
                intervals.lower,
                intervals.upper,
                intervals.mass_at,
                intervals.masses,
                self.candidates.places,
                self.candidates.index,
                times,
                events,
                index,
                self._steps,
                self._updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                frame.fresh,
                paths,
                table,
                entries,
                sums,
                ids,
                offsets,
                confidences,
                starts,
                ends,
                self.partition_of,
                at,
            )
            if status == search.NEED_RUNS:
                entries_room *= 2
                table = int64s(4 * entries_room)
                entries = np.zeros((entries_room, count), dtype=np.int64)
                sums = np.zeros((4, max(entries_room, count)))
                continue
            if status == search.NEED_OUTPUT and not self.control[search.MATCHES]:
                ids, offsets = int64s(2 * len(ids)), int64s(2 * len(offsets))
                confidences, starts = np.zeros(len(offsets)), int64s(len(offsets))
                ends = int64s(len(offsets))
                continue
            tags, borders, _ = self._drained(ids, offsets)
            found = len(borders) - 1
            yield tags, borders, (confidences[:found], starts[:found], ends[:found])
            if status == search.SEARCHED:
                return

    def _point_streams(self, frame: Frame) -> tuple[Int64s, Int64s, np.ndarray]:
        """Every instant of every candidate of each component, by partition and time."""
        from cepheid.engines.imprecise.variants.kernels import points as imprecise_points

        lower, upper = frame.intervals.lower, frame.intervals.upper
        candidates, all_times, all_events = self.candidates, [], []
        index = np.zeros((len(self._steps), candidates.index.shape[1]), dtype=np.int64)
        begun = 0
        for component in range(len(self._steps)):
            row = candidates.index[2 * component]
            places = candidates.places[row[0] : row[-1]]
            sizes = upper[places] - lower[places] + 1
            times, events = int64s(int(sizes.sum())), int64s(int(sizes.sum()))
            imprecise_points.expand_points(
                lower, upper, candidates.places, row[0], row[-1], times, events
            )
            order = np.lexsort((times, self.partition_of[events]))
            all_times.append(times[order])
            all_events.append(events[order])
            ends = np.concatenate([[0], np.cumsum(sizes)])
            index[component] = ends[row - row[0]] + begun
            begun += len(times)
        return np.concatenate(all_times), np.concatenate(all_events), index

    def _drained(self, ids: Int64s, offsets: Int64s) -> Block:
        written, matches = self.control[search.IDS], self.control[search.MATCHES]
        self.control[search.IDS] = self.control[search.MATCHES] = 0
        return ids[:written], offsets[: matches + 1], None
