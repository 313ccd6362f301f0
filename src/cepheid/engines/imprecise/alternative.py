"""One alternative of a query over events with uncertain times: its matches and confidences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.sequences import compile_negation, compile_nfa_b
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.confidences import Scoring
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.layout import Floats, Scores, Signatures
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s
from cepheid.matches.bindings import Bindings, MatchTimes, joined_bindings, no_matches
from cepheid.matches.positions import picked_places

_SLACK = 1 - 1e-9
"""So that rounding never leaves out a signature with exactly the least confidence."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The confidence that a match needs: above ``more_than``, and at least ``at_least``."""

    more_than: float
    at_least: float

    def passed(self, confidences: Floats) -> np.ndarray:
        """Which of these confidences are high enough; 0 never is."""
        return (confidences > self.more_than) & (confidences >= self.at_least)

    @property
    def bound(self) -> float:
        """The confidence that a signature must be able to reach."""
        return max(self.more_than, self.at_least) * _SLACK


class ImpreciseAlternative:
    """Finds the signatures of one alternative and scores them."""

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
        self._scoring = Scoring(self._search, negations, window)
        self.has_rivals = self._scoring.has_rivals
        self.looks_back = self._scoring.looks_back
        self._components = alternative.components
        self._strategy = query.query.strategy
        self._threshold = threshold
        self._top_k = options.top_k
        self._max_matches = options.max_matches
        self.count = 0

    @property
    def paths(self) -> int:
        """The number of partial matches, runs or points that were looked at."""
        return self._search.paths

    def found(self, frame: Frame, place_of: Int64s) -> Bindings:
        """The signatures of a frame with a high enough confidence.

        ``place_of`` is the place in memory of each event of the frame.
        """
        least = np.array([self._threshold.bound])
        parts = [replace(no_matches(self._components), confidences=np.zeros(0))]
        is_first = True
        for signatures, known in self._search.found(frame, not self.has_rivals, least):
            if is_first:
                self._scoring.look_at(frame)
                is_first = False
            if not signatures.size:
                continue
            ids, offsets = signatures
            if self.has_rivals:
                decided = np.flatnonzero(self._scoring.decided(frame, signatures))
                offsets, at = picked_places(offsets, decided)
                ids, known = ids[at], None
            if known is None:
                known = self._scoring.score(frame, Signatures(ids, offsets))
            chosen = np.flatnonzero(self._threshold.passed(known.confidences))
            parts.append(self._kept(Signatures(ids, offsets), known, chosen))
            self._check(len(chosen))
            if self._top_k is not None:
                parts = [most_confident(joined_bindings(parts), self._top_k)]
                sure = parts[0].confidences
                if sure is not None and len(sure) == self._top_k:
                    least[0] = max(least[0], sure.min() * _SLACK)
        return joined_bindings(parts).moved(lambda events: place_of[events])

    def _kept(self, signatures: Signatures, known: Scores, chosen: Int64s) -> Bindings:
        """The chosen signatures with their times and confidences."""
        ids, offsets = signatures
        if len(chosen) < len(known.confidences):
            offsets, at = picked_places(offsets, chosen)
            ids = ids[at]
        ends = known.ends[chosen]
        return replace(
            Bindings.of_tags(ids, offsets, self._components, 0),
            known_times=MatchTimes.of(known.starts[chosen], ends),
            completed_at=ends,
            confidences=known.confidences[chosen],
        )

    def _check(self, found: int) -> None:
        self.count += found
        if self._max_matches is not None and self.count > self._max_matches:
            raise too_many_matches(self._max_matches, self._components, self._strategy)


def most_confident(matches: Bindings, count: int) -> Bindings:
    """The ``count`` matches with the highest confidences, in descending order."""
    assert matches.confidences is not None
    return matches.pick(np.argsort(-matches.confidences, kind="stable")[:count])
