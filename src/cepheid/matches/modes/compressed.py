"""The output mode ``compressed``: all matches in one structure, without listing them."""

from __future__ import annotations

from cepheid.analysis.model import AnalysedQuery
from cepheid.matches.modes.mode import OutputMode


def _refusal(query: AnalysedQuery) -> str | None:
    if len(query.alternatives) > 1:
        return "it has OR or a star, which make several automata"
    if query.alternatives[0].negations:
        return "it has a negation, which removes matches one by one"
    return None


COMPRESSED = OutputMode(
    "compressed",
    "all matches in one structure, which counts, samples and lists them",
    refusal=_refusal,
    needs_buffer=True,
)
