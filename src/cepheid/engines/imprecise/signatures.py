"""The signatures of one alternative of a query, by one of several methods that agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.layout import NEXT
from cepheid.codegen.sequences import compile_nfa_b
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
from cepheid.engines.imprecise.frame import Frame, FrameTests
from cepheid.engines.imprecise.kernels.search import PATH_ROWS, search_in_query_order
from cepheid.engines.imprecise.layout import (
    Batch,
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
        self.apart = least_distances(alternative.before, len(alternative.components), window)
        steps = self.automaton.steps
        self.tests = FrameTests(
            self.automaton, [test for step in steps for test in (step.begin_test, step.take_test)]
        )
        self._method = options.method
        self._has_kleene = any(step.component.is_kleene for step in steps)
        self.drive = Drive()
        # The frame that is searched, as kernels read it, and the tests that each event passes.
        self.batch: Batch
        self.mask: Int64s
        # What the search is given, and where it is.
        self.control: Int64s
        self.conditions: Conditions
        self._registers: Registers

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

                blocks = search_from_any_state(self)
            elif method == SELECTIVITY:
                order = np.argsort(counts, kind="stable").astype(np.int64)
                blocks = self.in_order(order, least_confidence)
            else:
                blocks = self._in_query_order(least_confidence)
            for signatures in blocks:
                yield signatures, None
        self.end()

    def begin(self, frame: Frame, only_fresh: bool) -> bool:
        """Find the candidates of a frame and prepare a search; False if it finds nothing."""
        if self.apart.diagonal().any():
            return False
        self._registers = self.tests.registers(
            frame, max(len(self.automaton.steps), tuning().signature_depth) + 2
        )
        numbers = PartitionNumbers()
        keys = [frame.batch.column(name) for name in self.automaton.partition_attributes]
        partition_of = numbers.number(keys, len(frame.batch))
        candidates, self.mask = self.tests.candidates(
            frame, self._registers, partition_of, max(numbers.count, 1)
        )
        self.batch = Batch(frame.intervals, candidates, partition_of, frame.fresh, self.drive.pace)
        if not candidates.counts[::2].all():
            return False
        self.conditions = self.tests.conditions(self._registers)
        self.control = int64s(layout.CONTROL_SIZE)
        self.control[layout.WINDOW] = self.window
        self.control[layout.IS_NEXT] = self.is_next
        self.control[layout.ONLY_FRESH] = only_fresh
        self.control[layout.DEPTH] = -1
        self.control[layout.LEAST_TIME] = frame.decided - frame.base
        if only_fresh:
            fresh = np.flatnonzero(frame.fresh)
            if not len(fresh):
                return False
            self.control[layout.LEAST_TIME] = frame.intervals.lower[fresh[0]]
        return True

    def end(self) -> None:
        """Count the paths that the search has looked at."""
        self.paths += int(self.control[layout.PATHS])

    def choose_method(self, counts: Int64s) -> str:
        """The requested method, or the one that these numbers of candidates suggest."""
        if self._method != AUTO_METHOD:
            return self._method
        if self._has_kleene or self.is_next or counts[1:].min(initial=counts[0]) * SKEW > counts[0]:
            return QUERY_ORDER
        return SELECTIVITY

    def run(
        self,
        kernel: Callable[[Signatures], int],
        provide: Mapping[int, Callable[[], None]],
    ) -> Iterator[Signatures]:
        """Run a kernel that writes signatures; they come in blocks that are valid until the next.

        ``provide`` makes room for whatever else the kernel lacks.
        """
        out = Signatures(int64s(tuning().signature_ids), int64s(tuning().signature_matches))

        def more_output() -> list[Signatures]:
            nonlocal out
            if self.control[layout.MATCHES]:
                return [self._drained(out)]
            out = Signatures(int64s(2 * len(out.ids)), int64s(2 * len(out.offsets)))
            return []

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

    def in_order(self, order: Int64s, least_confidence: Floats) -> Iterator[Signatures]:
        """The signatures, found by binding the components in this order."""
        # Loaded when it is needed first, since it takes a while to compile.
        from cepheid.engines.imprecise.kernels.orders import LEVEL_ROWS, search_in_order

        count = len(order)
        events, vlb, vub = (np.zeros((count + 1, count), dtype=np.int64) for _ in range(3))
        levels = np.zeros((LEVEL_ROWS, count + 1), dtype=np.int64)
        bound = OrderLevels(order, self.apart, events, vlb, vub, levels)
        return self.run(
            lambda out: search_in_order(
                self.control, self.batch, self.conditions, bound, least_confidence, out
            ),
            {},
        )


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
