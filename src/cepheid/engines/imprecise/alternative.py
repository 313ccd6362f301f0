"""One alternative of a query over events with uncertain times: its matches and confidences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.budget import charge
from cepheid.codegen.sequences import compile_negation
from cepheid.engines.base.options import Options
from cepheid.engines.imprecise.confidences import Scoring
from cepheid.engines.imprecise.frame import Frame
from cepheid.engines.imprecise.layout import Floats, Scores, Signatures
from cepheid.engines.imprecise.plan import is_one_sequence
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.events.arrays import Int64s
from cepheid.matches.bindings import Bindings, MatchTimes, joined_bindings, no_matches
from cepheid.matches.held import too_many_matches
from cepheid.matches.positions import picked_places

if TYPE_CHECKING:
    from cepheid.engines.imprecise.partial_orders import PartialOrderSearch

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


_COPIES = 3
"""Matches are joined, moved and ordered before they are reported."""


class ImpreciseAlternative:
    """Finds and scores the signatures of alternatives that have the same variables."""

    def __init__(
        self,
        query: AnalysedQuery,
        group: Sequence[Alternative],
        window: int,
        threshold: Threshold,
        options: Options,
    ) -> None:
        self._search: SignatureSearch | PartialOrderSearch
        self._scoring: Scoring | None = None
        if is_one_sequence(group):
            self._search = SignatureSearch(query, group[0], window, options)
            negations = [compile_negation(query, group[0], each) for each in group[0].negations]
            self._scoring = Scoring(self._search, negations, window)
        else:
            # Loaded when it is needed first, since its kernels take a while to compile.
            from cepheid.engines.imprecise.partial_orders import PartialOrderSearch

            self._search = PartialOrderSearch(query, group, window, options)
        self._rivals = None if self._scoring is None else self._scoring.rivals
        self.has_rivals = self._rivals is not None
        self.looks_back = self._rivals is not None and self._rivals.looks_back
        self._components = group[0].components
        self._strategy = query.query.strategy
        self._threshold = threshold
        self._top_k = options.top_k
        self._max_matches = options.max_matches
        self._nothing = replace(no_matches(self._components), confidences=np.zeros(0))
        self.count = 0

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that matches and confidences depend on; None for all."""
        types = self._search.types
        return types if types is None or self._rivals is None else types | self._rivals.types

    @property
    def paths(self) -> int:
        """The number of partial matches, runs or points that were looked at."""
        return self._search.paths

    def found(self, frame: Frame, place_of: Int64s) -> Bindings:
        """The signatures of a frame with a high enough confidence.

        ``place_of`` is the place in memory of each event of the frame.
        """
        least = np.array([self._threshold.bound])
        parts = [self._nothing]
        is_first = True
        for signatures, known in self._search.found(frame, not self.has_rivals, least):
            if not signatures.size:
                continue
            if self._rivals is not None:
                if is_first:
                    self._rivals.look_at(frame)
                    is_first = False
                decided = np.flatnonzero(self._rivals.decided(frame, signatures))
                signatures, known = _picked(signatures, decided), None
            if known is None:
                assert self._scoring is not None
                known = self._scoring.score(frame, signatures)
            chosen = np.flatnonzero(self._threshold.passed(known.confidences))
            parts.append(self._kept(signatures, known, chosen))
            charge(_COPIES * parts[-1].nbytes)
            self.count += len(chosen)
            if self._max_matches is not None and self.count > self._max_matches:
                raise too_many_matches(self._max_matches, self._components, self._strategy)
            if self._top_k is not None:
                parts = [most_confident(joined_bindings(parts), self._top_k)]
                sure = parts[0].confidences
                if sure is not None and len(sure) == self._top_k:
                    least[0] = max(least[0], sure.min() * _SLACK)
        if not sum(map(len, parts)):
            return parts[0]
        return joined_bindings(parts).moved(lambda events: place_of[events])

    def _kept(self, signatures: Signatures, known: Scores, chosen: Int64s) -> Bindings:
        """The chosen signatures with their times and confidences."""
        if len(chosen) < signatures.size:
            signatures = _picked(signatures, chosen)
        ends = known.ends[chosen]
        return replace(
            Bindings.of_tags(*signatures, self._components, 0),
            known_times=MatchTimes.of(known.starts[chosen], ends),
            completed_at=ends,
            confidences=known.confidences[chosen],
        )


def _picked(signatures: Signatures, chosen: Int64s) -> Signatures:
    """The chosen signatures, in this order."""
    offsets, places = picked_places(signatures.offsets, chosen)
    return Signatures(signatures.ids[places], offsets)


def most_confident(matches: Bindings, count: int) -> Bindings:
    """The ``count`` matches with the highest confidences, in descending order."""
    assert matches.confidences is not None
    return matches.pick(np.argsort(-matches.confidences, kind="stable")[:count])
