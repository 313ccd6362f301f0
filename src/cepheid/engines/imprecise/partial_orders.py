"""Alternatives of a query with AND, or with the same variables, over uncertain times.

Their signatures are found without an order, and each is weighed with all orders that allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.layout import TAG_SHIFT
from cepheid.codegen.sequences import compile_nfa_b
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.alternative import Threshold
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.kernels import partial_orders, search
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.engines.imprecise.tables import as_sequence
from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, MatchTimes, SinglePositions

_MATCHES = 1 << 16


class PartialOrders:
    """Finds and weighs the signatures of alternatives that have the same variables."""

    has_rivals = False
    looks_back = False

    def __init__(
        self,
        query: AnalysedQuery,
        alternatives: Sequence[Alternative],
        window: int,
        threshold: Threshold,
        options: Options,
    ) -> None:
        named = {component.variable for component in alternatives[0].components}
        pattern = dict.fromkeys(each.variable for each, _ in ast.components(query.query.pattern))
        self._variables = [name for name in pattern if name in named]
        self._searches = [
            _Search(query, alternative, window, self._variables, options)
            for alternative in alternatives
        ]
        self._predecessors, self._sequences = _orders_together(
            [each.order for each in self._searches], len(self._variables)
        )
        self._components = alternatives[0].components
        self._strategy = query.query.strategy
        self._window = window
        self._threshold = threshold
        self._max_matches = options.max_matches
        self.count = 0

    @property
    def paths(self) -> int:
        """How many partial matches were looked at."""
        return sum(each.signatures.paths for each in self._searches)

    def found(self, frame: Frame, place_of: Int64s) -> Bindings:
        """The signatures of a frame that pass the threshold, with their confidences.

        ``place_of`` is where each event of the frame is among those in memory.
        """
        parts = [each.found(frame) for each in self._searches]
        bits = np.repeat(1 << np.arange(len(parts)), [len(part) for part in parts])
        events, number = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        found_by = int64s(len(events))
        np.bitwise_or.at(found_by, number.reshape(-1), bits)
        events = np.ascontiguousarray(events)
        confidences = np.zeros(len(events))
        starts, ends = int64s(len(events)), int64s(len(events))
        partial_orders.weigh_partial_orders(
            events,
            found_by,
            frame.intervals.lower,
            frame.intervals.upper,
            frame.intervals.mass_at,
            frame.intervals.masses,
            self._window,
            self._predecessors,
            self._sequences,
            np.zeros(1 << len(self._variables)),
            confidences,
            starts,
            ends,
        )
        chosen = np.flatnonzero(self._threshold.passed(confidences))
        self.count += len(chosen)
        if self._max_matches is not None and self.count > self._max_matches:
            raise too_many_matches(self._max_matches, self._components, self._strategy)
        places = np.ascontiguousarray(place_of[events[chosen]].T)
        return Bindings(
            {name: SinglePositions(row) for name, row in zip(self._variables, places, strict=True)},
            len(chosen),
            MatchTimes.of(starts[chosen], ends[chosen]),
            completed_at=ends[chosen],
            confidences=confidences[chosen],
        )


class _Search:
    """Finds the signatures of one alternative, its events in the order of the query's variables."""

    def __init__(
        self,
        query: AnalysedQuery,
        alternative: Alternative,
        window: int,
        variables: Sequence[str],
        options: Options,
    ) -> None:
        names = [component.variable for component in alternative.components]
        self._columns = [names.index(name) for name in variables]
        self._predecessors = int64s(len(names))
        for before, after in alternative.before:
            self._predecessors[after] |= 1 << before
        self.order = {
            (variables.index(names[before]), variables.index(names[after]))
            for before, after in alternative.before
        }
        # Conditions are tested in the order of the components, whatever that of their times.
        automaton = compile_nfa_b(query, as_sequence(alternative))
        self.signatures = SignatureSearch(automaton, window, options.method, options.max_runs)

    def found(self, frame: Frame) -> npt.NDArray[np.int64]:
        """A row of events for each signature, of which one is fresh."""
        rows = [
            (ids >> TAG_SHIFT).reshape(-1, len(self._columns))[:, self._columns]
            for ids in self._blocks(frame)
        ]
        return np.concatenate([np.zeros((0, len(self._columns)), dtype=np.int64), *rows])

    def _blocks(self, frame: Frame) -> Iterator[Int64s]:
        signatures = self.signatures
        if not signatures.begin(frame, only_fresh=True):
            return
        steps, updates = signatures.tables
        registers, candidates, control = (
            signatures.registers,
            signatures.candidates,
            signatures.control,
        )
        levels = np.zeros((5, len(steps) + 1), dtype=np.int64)
        ids, offsets = int64s(_MATCHES * len(steps)), int64s(_MATCHES)
        status = search.NEED_OUTPUT
        while status != search.SEARCHED:
            status = partial_orders.search_partial_order(
                control,
                frame.intervals.lower,
                frame.intervals.upper,
                candidates.places,
                candidates.index,
                candidates.reach,
                steps,
                updates,
                registers.context,
                registers.ints,
                registers.floats,
                registers.valid,
                frame.fresh,
                self._predecessors,
                levels,
                ids,
                offsets,
            )
            yield ids[: control[search.IDS]]
            control[search.IDS] = control[search.MATCHES] = 0
        signatures.end()


def _orders_together(
    orders: Sequence[set[tuple[int, int]]], count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each set of orders, what comes before each component when all hold, and a sequence.

    The first number is -1 where they contradict one another.
    """
    predecessors = np.zeros((1 << len(orders), count), dtype=np.int64)
    sequences = np.zeros_like(predecessors)
    for together in range(1, 1 << len(orders)):
        own = np.zeros((count, count), dtype=np.int64)
        for bit, order in enumerate(orders):
            for before, after in order if (together >> bit) & 1 else ():
                own[before, after] = 1
        for _ in range(count):
            own = np.minimum(own + own @ own, 1)
        if own.diagonal().any():
            predecessors[together] = -1
            continue
        predecessors[together] = (own << np.arange(count)[:, np.newaxis]).sum(axis=0)
        sequences[together] = np.argsort(own.sum(axis=0), kind="stable")
    return predecessors, sequences
