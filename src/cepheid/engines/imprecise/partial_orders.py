"""Alternatives of a query with AND, or with the same variables, over uncertain times.

Their signatures are found without an order, and each is scored with all orders that allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.kernels.partial_orders import score_partial_orders
from cepheid.engines.imprecise.layout import Floats, Int64Rows, Scores, Signatures
from cepheid.engines.imprecise.signatures import Block, SignatureSearch, least_distances
from cepheid.events.arrays import int64s
from cepheid.tuning import tuning


class PartialOrderSearch:
    """Finds and scores the signatures of alternatives that have the same variables."""

    def __init__(
        self,
        query: AnalysedQuery,
        alternatives: Sequence[Alternative],
        window: int,
        options: Options,
    ) -> None:
        self._window = window
        self._searches = [SignatureSearch(query, each, window, options) for each in alternatives]
        names = [[part.variable for part in each.components] for each in alternatives]
        self._columns = [[each.index(name) for name in names[0]] for each in names]
        orders = [
            {(names[0].index(each[i]), names[0].index(each[j])) for i, j in alternative.before}
            for each, alternative in zip(names, alternatives, strict=True)
        ]
        self._predecessors, self._sequences = _orders_together(orders, len(names[0]), window)

    @property
    def paths(self) -> int:
        """The number of partial matches that were looked at."""
        return sum(each.paths for each in self._searches)

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that signatures depend on."""
        return frozenset().union(*(each.tests.types for each in self._searches))

    def found(self, frame: Frame, only_fresh: bool, least_confidence: Floats) -> Iterator[Block]:
        """The signatures with their scores, as one block; events are as in the first alternative.

        If several alternatives can find the same signature, their confidences add up, so that
        none is too low.
        """
        least = least_confidence if len(self._searches) == 1 else np.zeros(1)
        parts = [
            self._events(search, columns, frame, only_fresh, least)
            for search, columns in zip(self._searches, self._columns, strict=True)
        ]
        bits = np.repeat(1 << np.arange(len(parts)), [len(part) for part in parts])
        events, number = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        found_by = int64s(len(events))
        np.bitwise_or.at(found_by, number.reshape(-1), bits)
        scores, count = Scores.room(len(events)), events.shape[1]
        # In parts, so that signals are handled in between.
        for low in range(0, len(events), tuning().scored_matches):
            part = slice(low, low + tuning().scored_matches)
            score_partial_orders(
                np.ascontiguousarray(events[part]),
                found_by[part],
                frame.intervals,
                self._window,
                self._predecessors,
                self._sequences,
                np.zeros(1 << count),
                Scores(scores.confidences[part], scores.starts[part], scores.ends[part]),
            )
        tags = (events << TAG_SHIFT) | np.arange(count)
        yield Signatures(tags.reshape(-1), np.arange(len(events) + 1) * count), scores

    def _events(
        self,
        search: SignatureSearch,
        columns: list[int],
        frame: Frame,
        only_fresh: bool,
        least: Floats,
    ) -> Int64Rows:
        """A row of events for each signature that an alternative has."""
        count = len(columns)
        if not search.begin(frame, only_fresh):
            return np.zeros((0, count), dtype=np.int64)
        blocks = search.any_order(least)
        ids = np.concatenate([int64s(0), *(block.ids.copy() for block in blocks)])
        search.end()
        return (ids >> TAG_SHIFT).reshape(-1, count)[:, columns]


def _orders_together(
    orders: Sequence[set[tuple[int, int]]], count: int, window: int
) -> tuple[Int64Rows, Int64Rows]:
    """For each set of orders, what comes before each component when all hold, and a sequence.

    The first number is -1 if they contradict one another.
    """
    predecessors = np.zeros((1 << len(orders), count), dtype=np.int64)
    sequences = np.zeros_like(predecessors)
    for together in range(1, 1 << len(orders)):
        chosen = [order for bit, order in enumerate(orders) if (together >> bit) & 1]
        apart = least_distances(set().union(*chosen), count, window)
        is_before = apart > 0
        if is_before.diagonal().any():
            predecessors[together] = -1
            continue
        predecessors[together] = (is_before << np.arange(count)[:, np.newaxis]).sum(axis=0)
        sequences[together] = np.argsort(is_before.sum(axis=0), kind="stable")
    return predecessors, sequences
