"""Alternatives of a query with AND, or with the same variables, over uncertain times.

Their signatures are found without an order, and each is scored with all orders that allow it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.layout import TAG_SHIFT
from cepheid.codegen.sequences import compile_nfa_b
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.alternative import Threshold
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.kernels.partial_orders import (
    LEVEL_ROWS,
    score_partial_orders,
    search_partial_order,
)
from cepheid.engines.imprecise.layout import Scores
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.engines.imprecise.tables import as_sequence
from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, MatchTimes
from cepheid.matches.positions import SinglePositions


class PartialOrders:
    """Finds and scores the signatures of alternatives that have the same variables."""

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
        """The number of partial matches that were looked at."""
        return sum(each.signatures.paths for each in self._searches)

    def found(self, frame: Frame, place_of: Int64s) -> Bindings:
        """The signatures of a frame with a high enough confidence.

        ``place_of`` is the place in memory of each event of the frame.
        """
        parts = [each.found(frame) for each in self._searches]
        bits = np.repeat(1 << np.arange(len(parts)), [len(part) for part in parts])
        events, number = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        found_by = int64s(len(events))
        np.bitwise_or.at(found_by, number.reshape(-1), bits)
        events = np.ascontiguousarray(events)
        scores = Scores.room(len(events))
        score_partial_orders(
            events,
            found_by,
            frame.intervals,
            self._window,
            self._predecessors,
            self._sequences,
            np.zeros(1 << len(self._variables)),
            scores,
        )
        chosen = np.flatnonzero(self._threshold.passed(scores.confidences))
        self.count += len(chosen)
        if self._max_matches is not None and self.count > self._max_matches:
            raise too_many_matches(self._max_matches, self._components, self._strategy)
        places = np.ascontiguousarray(place_of[events[chosen]].T)
        ends = scores.ends[chosen]
        return Bindings(
            {name: SinglePositions(row) for name, row in zip(self._variables, places, strict=True)},
            len(chosen),
            MatchTimes.of(scores.starts[chosen], ends),
            completed_at=ends,
            confidences=scores.confidences[chosen],
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
        """A row of events for each signature that has a fresh event."""
        count, search = len(self._columns), self.signatures
        if not search.begin(frame, only_fresh=True):
            return np.zeros((0, count), dtype=np.int64)
        levels = np.zeros((LEVEL_ROWS, count + 1), dtype=np.int64)
        blocks = search.run(
            lambda out: search_partial_order(
                search.control, search.batch, search.conditions, self._predecessors, levels, out
            ),
            {},
        )
        ids = np.concatenate([block.ids.copy() for block in blocks])
        search.end()
        return np.ascontiguousarray((ids >> TAG_SHIFT).reshape(-1, count)[:, self._columns])


def _orders_together(
    orders: Sequence[set[tuple[int, int]]], count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each set of orders, what comes before each component when all hold, and a sequence.

    The first number is -1 if they contradict one another.
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
