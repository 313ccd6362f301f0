"""One alternative of a query over events with uncertain times: its matches and confidences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.sequences import compile_negation, compile_nfa_b
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.confidences import Weighing
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.intervals import Floats
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s
from cepheid.matches.bindings import (
    Bindings,
    MatchTimes,
    joined_bindings,
    no_matches,
    picked_places,
)

_SLACK = 1 - 1e-9
"""So that rounding never leaves out a signature that is just sure enough."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How sure a match must be: more than ``more_than``, and at least ``at_least``."""

    more_than: float
    at_least: float

    def passed(self, confidences: Floats) -> np.ndarray:
        """Which of these are sure enough; those of no world never are."""
        return (confidences > self.more_than) & (confidences >= self.at_least)

    @property
    def bound(self) -> float:
        """What a signature must be able to reach."""
        return max(self.more_than, self.at_least) * _SLACK


class ImpreciseAlternative:
    """Finds the signatures of one alternative and weighs them."""

    def __init__(
        self,
        query: AnalysedQuery,
        alternative: Alternative,
        window: int,
        threshold: Threshold,
        options: Options,
    ) -> None:
        self._search = SignatureSearch(
            compile_nfa_b(query, alternative), window, options.method, options.max_runs
        )
        negations = [
            compile_negation(query, alternative, negated) for negated in alternative.negations
        ]
        self._weighing = Weighing(self._search, negations, window)
        self.has_rivals = self._weighing.has_rivals
        self.looks_back = self._weighing.looks_back
        self._components = alternative.components
        self._strategy = query.query.strategy
        self._threshold = threshold
        self._top_k = options.top_k
        self._max_matches = options.max_matches
        self.count = 0

    @property
    def paths(self) -> int:
        """How many partial matches, runs or points were looked at."""
        return self._search.paths

    def found(self, frame: Frame, place_of: Int64s) -> Bindings:
        """The signatures of a frame that pass the threshold, with their confidences.

        ``place_of`` is where each event of the frame is among those in memory.
        """
        least = np.array([self._threshold.bound])
        parts = [replace(no_matches(self._components), confidences=np.zeros(0))]
        is_first = True
        for ids, offsets, known in self._search.found(frame, not self.has_rivals, least):
            if is_first:
                self._weighing.look_at(frame)
                is_first = False
            if len(offsets) < 2:
                continue
            if self.has_rivals:
                decided = np.flatnonzero(self._weighing.decided(frame, ids, offsets))
                offsets, at = picked_places(offsets, decided)
                ids, known = ids[at], None
            if known is None:
                known = self._weighing.weigh(frame, ids, offsets)
            chosen = np.flatnonzero(self._threshold.passed(known[0]))
            parts.append(self._kept(ids, offsets, known, chosen))
            self._check(len(chosen))
            if self._top_k is not None:
                parts = [surest(joined_bindings(parts), self._top_k)]
                sure = parts[0].confidences
                if sure is not None and len(sure) == self._top_k:
                    least[0] = max(least[0], sure.min() * _SLACK)
        return joined_bindings(parts).moved(lambda events: place_of[events])

    def _kept(
        self, ids: Int64s, offsets: Int64s, known: tuple[Floats, Int64s, Int64s], chosen: Int64s
    ) -> Bindings:
        confidences, starts, ends = known
        if len(chosen) < len(confidences):
            offsets, at = picked_places(offsets, chosen)
            ids = ids[at]
        return replace(
            Bindings.of_tags(ids, offsets, self._components, 0),
            known_times=MatchTimes.of(starts[chosen], ends[chosen]),
            completed_at=ends[chosen],
            confidences=confidences[chosen],
        )

    def _check(self, found: int) -> None:
        self.count += found
        if self._max_matches is not None and self.count > self._max_matches:
            raise too_many_matches(self._max_matches, self._components, self._strategy)


def surest(matches: Bindings, count: int) -> Bindings:
    """The ``count`` matches with the highest confidences, in descending order."""
    assert matches.confidences is not None
    return matches.pick(np.argsort(-matches.confidences, kind="stable")[:count])
