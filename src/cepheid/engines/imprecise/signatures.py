"""The signatures of one alternative of a query, by one of several methods that agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.layout import NEXT, NONE, PARTITION_CONTIGUITY, STRICT
from cepheid.codegen.sequences import compile_joint_tests, compile_nfa_b
from cepheid.codegen.steps import JointTests
from cepheid.engines.base.kernels.conditions import Conditions
from cepheid.engines.base.options import (
    ANY_STATE,
    AUTO_METHOD,
    POINT,
    QUERY_ORDER,
    SELECTIVITY,
    Options,
)
from cepheid.engines.base.registers import Registers
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.frame import LONG_AGO, Frame, FrameTests
from cepheid.engines.imprecise.kernels.interval_masses import FAR
from cepheid.engines.imprecise.kernels.search import PATH_ROWS, search_in_query_order
from cepheid.engines.imprecise.layout import (
    Batch,
    Candidates,
    Floats,
    Int64Rows,
    OrderLevels,
    Scores,
    Signatures,
)
from cepheid.engines.imprecise.plan import as_sequence
from cepheid.events.arrays import Int64s, int64s
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.jit.drive import Drive
from cepheid.tuning import tuning

SKEW = 4
"""How much rarer than the first component another must be, for a search to begin there."""

_FEW = 64
"""The size of the first block of a search for the top k, besides k."""
_NEW_EVENTS = "new_events"
"""The method of a session that has searched earlier frames."""

Block = tuple[Signatures, Scores | None]
"""Signatures, with their scores if the search knows them."""


class SignatureSearch:
    """Finds the signatures whose events can lie in order in one window, and satisfy the query."""

    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, window: int, options: Options
    ) -> None:
        # Conditions are tested in the order of the components, whatever that of their times.
        self.automaton = compile_nfa_b(query, as_sequence(alternative))
        self.window = window
        self.max_runs = options.max_runs
        self.paths = 0
        self.is_next = self.automaton.strategy == NEXT
        self.is_contiguous = self.automaton.strategy <= PARTITION_CONTIGUITY
        self._compile_joint = partial(compile_joint_tests, query, as_sequence(alternative))
        self._waits = alternative.waits
        self.apart = least_distances(alternative.before, len(alternative.components), window)
        steps = self.automaton.steps
        self.tests = FrameTests(
            self.automaton, [test for step in steps for test in (step.begin_test, step.take_test)]
        )
        self._method, self._top_k = options.method, options.top_k
        self._has_kleene = any(step.component.is_kleene for step in steps)
        self._is_next_by_type = self.is_next and all(step.begin == NONE for step in steps)
        self.drive = Drive()
        # The frame that is searched, as kernels read it, and the tests that each event passes.
        self.batch: Batch
        self.mask: Int64s
        # All events, if those of a match must be adjacent.
        self.others: Batch
        self._frame: Frame
        self._joint: FrameTests | None = None
        # What the search is given, and where it is.
        self.control: Int64s
        self.conditions: Conditions
        self._registers: Registers
        self._joint_registers: Registers

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that signatures depend on; None for all."""
        return None if self.is_contiguous else self.tests.types

    def found(self, frame: Frame, only_fresh: bool, least_confidence: Floats) -> Iterator[Block]:
        """The signatures, in blocks that are valid until the next.

        ``least_confidence[0]`` may rise in between: signatures that cannot reach it are left out.
        """
        if not self.begin(frame, only_fresh):
            return
        counts = self.batch.candidates.counts[::2]
        method = self.choose_method(counts)
        if method == POINT:
            # Loaded when it is needed first, since it takes a while to compile.
            from cepheid.engines.imprecise.variants.points import search_points

            yield from search_points(self)
        else:
            if method == ANY_STATE:
                from cepheid.engines.imprecise.variants.any_state import search_from_any_state

                blocks = search_from_any_state(self, least_confidence)
            elif method == SELECTIVITY:
                order = self._order_from(int(np.argmin(counts)), counts, by_count=True)
                blocks = self.in_order(order, least_confidence)
            elif method == _NEW_EVENTS:
                blocks = self._from_new_events(counts, least_confidence)
            else:
                blocks = self._in_query_order(least_confidence)
            for signatures in blocks:
                yield signatures, None
        self.end()

    def begin(self, frame: Frame, only_fresh: bool) -> bool:
        """Find the candidates of a frame and prepare a search; False if it finds nothing."""
        if self.apart.diagonal().any():
            return False
        self._frame = frame
        self._registers = self.tests.registers(
            frame, max(len(self.automaton.steps), tuning().signature_depth) + 2
        )
        numbers = PartitionNumbers()
        keys = [frame.batch.column(name) for name in self.automaton.partition_attributes]
        partition_of = numbers.number(keys, len(frame.batch))
        candidates, self.mask = self.tests.candidates(
            frame, self._registers, partition_of, max(numbers.count, 1)
        )
        self.batch = Batch(
            frame.intervals, candidates, partition_of, frame.fresh, pace=self.drive.pace
        )
        if not candidates.counts[::2].all():
            return False
        if self.is_contiguous:
            self.others = self._all_events()
            self.batch = self.batch._replace(nelt=latest_next(self.others))
        self.conditions = self.tests.conditions(self._registers)
        self.control = int64s(layout.CONTROL_SIZE)
        self.control[layout.WINDOW] = self.window
        self.control[layout.IS_NEXT] = self.is_next
        self.control[layout.ONLY_FRESH] = only_fresh
        self.control[layout.DEPTH] = -1
        self.control[[layout.ENDS_FROM, layout.LAST_FROM]] = -FAR
        self.control[[layout.ENDS_BEFORE, layout.BEGINS_BEFORE]] = FAR
        self.control[layout.LEAST_TIME] = frame.decided - frame.base
        if only_fresh:
            fresh = np.flatnonzero(frame.fresh)
            if not len(fresh):
                return False
            self.control[layout.LEAST_TIME] = frame.intervals.lower[fresh[0]]
        return True

    def _all_events(self) -> Batch:
        """The events of each partition, of which none may be between those of a match.

        Under strict_contiguity all are in one.
        """
        partition_of = self.batch.partition_of
        if self.automaton.strategy == STRICT:
            partition_of = np.zeros_like(partition_of)
        places = np.argsort(partition_of, kind="stable")
        places = places[partition_of[places] >= 0]
        count = int(partition_of.max(initial=-1)) + 1
        borders = np.searchsorted(partition_of[places], np.arange(count + 1))[np.newaxis]
        reach = np.array([self.batch.intervals.longest])
        candidates = Candidates(places, borders, reach)
        return self.batch._replace(candidates=candidates, partition_of=partition_of)

    def end(self) -> None:
        """Count the paths that the search has looked at."""
        self.paths += int(self.control[layout.PATHS])

    def choose_method(self, counts: Int64s) -> str:
        """The requested method, or the one that these numbers of candidates suggest."""
        if self._method != AUTO_METHOD:
            return self._method
        is_next = self.is_contiguous or (self.is_next and not self._is_next_by_type)
        if self._has_kleene or is_next:
            return QUERY_ORDER
        if self._has_searched():
            return _NEW_EVENTS
        if self.is_next:
            return QUERY_ORDER
        is_skewed = counts[1:].min(initial=counts[0]) * SKEW <= counts[0]
        return SELECTIVITY if is_skewed else QUERY_ORDER

    def _has_searched(self) -> bool:
        """Whether an earlier search has seen some of the events."""
        if self.control[layout.ONLY_FRESH]:
            return not self._frame.fresh.all()
        return self._frame.decided > LONG_AGO

    def run(
        self,
        kernel: Callable[[Signatures], int],
        provide: Mapping[int, Callable[[], None]],
    ) -> Iterator[Signatures]:
        """Run a kernel that writes signatures; they come in blocks that are valid until the next.

        ``provide`` makes room for whatever else the kernel lacks.
        """
        most, size = tuning().signature_matches, tuning().signature_ids
        if self._top_k is not None and most > _FEW + self._top_k:
            # The first blocks are small: their confidences bound those of all others.
            most = _FEW + self._top_k
            size = most * len(self.automaton.steps)
        out = Signatures(int64s(size), int64s(most))

        def more_output() -> list[Signatures]:
            nonlocal out
            found = [self._drained(out)] if self.control[layout.MATCHES] else []
            if not found or len(out.offsets) < tuning().signature_matches:
                out = Signatures(int64s(2 * len(out.ids)), int64s(2 * len(out.offsets)))
            return found

        yield from self.drive(lambda: kernel(out), {layout.NEED_OUTPUT: more_output, **provide})
        yield self._drained(out)

    def _drained(self, out: Signatures) -> Signatures:
        written, matches = self.control[layout.IDS], self.control[layout.MATCHES]
        self.control[layout.IDS] = self.control[layout.MATCHES] = 0
        return Signatures(out.ids[:written], out.offsets[: matches + 1])

    def _in_query_order(self, least_confidence: Floats) -> Iterator[Signatures]:
        paths = np.zeros((PATH_ROWS, tuning().signature_depth), dtype=np.int64)

        def longer_paths() -> None:
            nonlocal paths
            paths = np.concatenate([paths, np.zeros_like(paths)], axis=1)
            self._registers.resize(paths.shape[1] + 2)
            self.conditions = self.tests.conditions(self._registers)

        return self.run(
            lambda out: search_in_query_order(
                self.control, self.batch, self.conditions, paths, least_confidence, out
            ),
            {layout.NEED_DEPTH: longer_paths},
        )

    def any_order(self, least_confidence: Floats) -> Iterator[Signatures]:
        """The signatures, found in the order of the components or from new events on."""
        counts = self.batch.candidates.counts[::2]
        if self._has_searched():
            return self._from_new_events(counts, least_confidence)
        return self.in_order(np.arange(len(counts)), least_confidence)

    def _from_new_events(self, counts: Int64s, least_confidence: Floats) -> Iterator[Signatures]:
        """The signatures that no earlier search could find: those with a fresh event."""
        if not self.control[layout.ONLY_FRESH]:
            yield from self._decided_now(counts, least_confidence)
            return
        self.control[layout.FRESH_FIRST] = 1
        fresh = int(np.bitwise_or.reduce(self.mask[self._frame.fresh > 0], initial=0))
        for slot in range(len(counts)):
            if fresh >> (2 * slot) & 1:
                yield from self._from_slot(slot, counts, least_confidence)

    def _decided_now(self, counts: Int64s, least_confidence: Floats) -> Iterator[Signatures]:
        """The signatures that can be decided now, and could not be before.

        That is a window after the latest time of the first event if they wait. Otherwise it is the
        latest time of the last event: its end, or that of the window if it is over earlier. The
        window ends when the first event that is too early for the others ends.
        """
        control, last, width = self.control, len(counts) - 1, self.window - 1
        since = max(self._frame.decided - self._frame.base, -FAR)
        until = min(self._frame.settled - self._frame.base, FAR)
        if not self._waits:
            control[layout.ENDS_FROM], control[layout.ENDS_BEFORE] = since, until
            yield from self._from_slot(last, counts, least_confidence)
            control[layout.LAST_FROM] = until
        if not self._waits and until == FAR:
            return
        control[layout.DECIDES] = 1
        for slot in range(last + self._waits):
            ahead = width - int(self.apart[0, slot])
            ends_before = FAR if until == FAR else until - ahead
            control[layout.ENDS_FROM], control[layout.ENDS_BEFORE] = since - ahead, ends_before
            control[layout.BEGINS_BEFORE] = ends_before
            yield from self._from_slot(slot, counts, least_confidence)

    def _from_slot(
        self, slot: int, counts: Int64s, least_confidence: Floats
    ) -> Iterator[Signatures]:
        """The signatures, binding this component first.

        If the next event is taken, it says most about the component before it.
        """
        if not self._may_begin(slot):
            return
        order = self._order_from(slot, counts, by_count=not self.is_next)
        self.control[layout.PARTITION], self.control[layout.DEPTH] = 0, -1
        yield from self.in_order(order, least_confidence)

    def _may_begin(self, slot: int) -> bool:
        """Whether the component has an event that can be bound first."""
        ends = self.batch.intervals.upper[self.batch.candidates.of(2 * slot)]
        since, before = self.control[[layout.ENDS_FROM, layout.ENDS_BEFORE]]
        return bool(((ends >= since) & (ends < before)).any())

    def _order_from(self, slot: int, counts: Int64s, *, by_count: bool) -> Int64s:
        """All components, this one first: then those compared with an earlier one, then rare ones.

        If not ``by_count``, the others follow from the last to the first.
        """
        order, bound = [slot], 1 << slot
        tests = [test.bound for test in self._joint_compiled.tests]
        while len(order) < len(counts):
            reached = 0
            for test in tests:
                reached |= test if test & bound else 0
            rest = [each for each in range(len(counts)) if not bound >> each & 1]
            likely = [(not reached >> each & 1, int(counts[each]), each) for each in rest]
            order.append(min(likely)[-1] if by_count else rest[-1])
            bound |= 1 << order[-1]
        return np.array(order, dtype=np.int64)

    def joint_tests(self, runs: int) -> tuple[Conditions, Int64Rows]:
        """The conditions across events for any order of binding, with registers of some runs."""
        compiled = self._joint_compiled
        if self._joint is None:
            self._joint = FrameTests(compiled)
        registers = self._joint.registers(self._frame, runs)
        rows = [(test.bound, test.slot, test.predicate) for test in compiled.tests]
        joint = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self._joint_registers = registers
        return self._joint.conditions(registers), joint

    @cached_property
    def _joint_compiled(self) -> JointTests:
        return self._compile_joint()

    def in_order(self, order: Int64s, least_confidence: Floats) -> Iterator[Signatures]:
        """The signatures, found by binding the components in this order."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.orders import LEVEL_ROWS, search_in_order

        count = len(order)
        events, vlb, vub = (np.zeros((count + 1, count), dtype=np.int64) for _ in range(3))
        levels = np.zeros((LEVEL_ROWS, count + 1), dtype=np.int64)
        bound = OrderLevels(order, self.apart, events, vlb, vub, levels)
        conditions, joint = self.joint_tests(count + 1)
        self.control[layout.IS_NEXT] = self._is_next_by_type
        return self.run(
            lambda out: search_in_order(
                self.control, self.batch, conditions, joint, bound, least_confidence, out
            ),
            {},
        )


def latest_next(batch: Batch) -> Int64s:
    """For each event the latest time that one next to it can begin at.

    It is the earliest end of an event of its partition that is certain to be later: the NELT.
    """
    lower, upper = batch.intervals.lower, batch.intervals.upper
    found = np.full(len(lower), FAR, dtype=np.int64)
    places, borders = batch.candidates.places, batch.candidates.borders[0].tolist()
    for begin, end in pairwise(borders):
        own = places[begin:end]
        earliest_end = np.minimum.accumulate(upper[own][::-1])[::-1]
        after = np.searchsorted(lower[own], upper[own], side="right")
        found[own] = np.append(earliest_end, FAR)[after]
    return found


def least_distances(before: Iterable[tuple[int, int]], count: int, window: int) -> Int64Rows:
    """How many instants an event of component j is at least after one of component i.

    It follows from the pairs of components with an order, and from the window. A component is at a
    distance of more than 0 from itself if no events can be in this order in the window.
    """
    apart = np.full((count, count), 1 - window, dtype=np.int64)
    np.fill_diagonal(apart, 0)
    for earlier, later in before:
        apart[earlier, later] = 1
    for via in range(count):
        apart = np.maximum(apart, apart[:, via, np.newaxis] + apart[via])
    return apart
