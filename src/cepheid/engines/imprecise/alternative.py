"""One alternative of a query over events with uncertain times: its matches and confidences."""

from __future__ import annotations

from dataclasses import dataclass

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
from cepheid.matches.kernels import match_lists
from cepheid.matches.match_list import MatchList, empty_list, joined

_SLACK = 1 - 1e-9
"""So that rounding never leaves out a signature with exactly the least confidence."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Signatures and their confidences."""

    matches: MatchList
    confidences: Floats

    def pick(self, chosen: Int64s) -> Scored:
        """These signatures, in this order."""
        return Scored(self.matches.pick(chosen), self.confidences[chosen])


def joined_scored(parts: list[Scored]) -> Scored:
    """All signatures of these parts."""
    if not parts:
        return Scored(empty_list(), np.zeros(0))
    return Scored(
        joined([part.matches for part in parts]),
        np.concatenate([part.confidences for part in parts]),
    )


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
        numbers: dict[str, int],
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
        self._places = np.array(
            [numbers[component.variable] for component in alternative.components], dtype=np.int64
        )
        self._threshold = threshold
        self._top_k = options.top_k
        self._max_matches = options.max_matches
        self.count = 0

    @property
    def paths(self) -> int:
        """The number of partial matches, runs or points that were looked at."""
        return self._search.paths

    def found(self, frame: Frame, place_of: Int64s) -> Scored:
        """The signatures of a frame with a high enough confidence, by the query's variables.

        ``place_of`` is the place in memory of each event of the frame.
        """
        least = np.array([self._threshold.bound])
        parts: list[Scored] = []
        is_first = True
        for signatures, known in self._search.found(frame, not self.has_rivals, least):
            if is_first:
                self._scoring.look_at(frame)
                is_first = False
            if not signatures.size:
                continue
            ids, offsets = signatures
            matches = MatchList(ids, offsets, offsets[1:], offsets[1:], offsets[1:])
            if self.has_rivals:
                decided = np.flatnonzero(self._scoring.decided(frame, signatures))
                matches, known = matches.pick(decided), None
            if known is None:
                known = self._scoring.score(frame, Signatures(matches.ids, matches.offsets))
            chosen = np.flatnonzero(self._threshold.passed(known.confidences))
            parts.append(_kept(matches, known, chosen))
            self._check(len(chosen))
            if self._top_k is not None:
                parts = [most_confident(joined_scored(parts), self._top_k)]
                if len(parts[0].matches) == self._top_k:
                    least[0] = max(least[0], parts[0].confidences.min() * _SLACK)
        scored = joined_scored(parts)
        found = scored.matches
        tags = np.empty_like(found.ids)
        match_lists.place_tags(found.ids, place_of, self._places, tags)
        renamed = MatchList(tags, found.offsets, found.starts, found.ends, found.end_positions)
        return Scored(renamed, scored.confidences)

    def _check(self, found: int) -> None:
        self.count += found
        if self._max_matches is not None and self.count > self._max_matches:
            raise too_many_matches(self._max_matches, self._components, self._strategy)


def most_confident(scored: Scored, count: int) -> Scored:
    """The signatures with the highest confidences, in falling order."""
    order = np.argsort(-scored.confidences, kind="stable")[:count]
    return scored.pick(np.ascontiguousarray(order))


def _kept(matches: MatchList, known: Scores, chosen: Int64s) -> Scored:
    confidences, starts, ends = known
    picked = matches.copy() if len(chosen) == len(matches) else matches.pick(chosen)
    return Scored(
        MatchList(picked.ids, picked.offsets, starts[chosen], ends[chosen], ends[chosen]),
        confidences[chosen],
    )
