"""Draws the automata of a query."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import AUTO, LAZY_CHAIN, NFA_B
from cepheid.engines.base.statistics import check_statistics
from cepheid.errors import OptionError, list_words
from cepheid.explain.automaton import nfa_b_automata
from cepheid.explain.chain import lazy_chains
from cepheid.explain.mermaid import write_mermaid
from cepheid.explain.svg import draw_automata

DRAWN = (NFA_B, LAZY_CHAIN)
"""The evaluations with automata that can be drawn."""
_FORMATS = {"mermaid": write_mermaid, "svg": draw_automata}


def check_drawing(format: str, evaluation: str) -> None:
    """Refuse an unknown format, and an evaluation without an automaton."""
    if format not in _FORMATS:
        known = list_words(list(_FORMATS))
        raise OptionError(f"an automaton has no format {format!r}; it has {known}")
    if evaluation not in (AUTO, *DRAWN):
        raise OptionError(
            f"there is no drawing of an automaton of {evaluation!r}; there is one of {NFA_B} and "
            f"of {LAZY_CHAIN}"
        )


def drawn_evaluation(
    query: AnalysedQuery, evaluation: str, statistics: Mapping[str, float] | None
) -> str:
    """The evaluation to draw; ``auto`` is the first one that has automata."""
    if evaluation != AUTO:
        return evaluation
    are_sequences = all(each.is_sequence for each in query.alternatives)
    return NFA_B if are_sequences and statistics is None else LAZY_CHAIN


def draw(
    query: AnalysedQuery, format: str, evaluation: str, statistics: Mapping[str, float] | None
) -> str:
    """The automata that the evaluation runs, drawn in this format."""
    if statistics is not None:
        check_statistics(statistics)
    automata = nfa_b_automata(query) if evaluation == NFA_B else lazy_chains(query, statistics)
    return _FORMATS[format](query, automata)
