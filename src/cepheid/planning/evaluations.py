"""The evaluations there are, and which one runs a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.analysis.model import AnalysedQuery
from cepheid.errors import EvaluationError, OptionError, closest, list_words

AUTO = "auto"
OUTPUTS = ("all", "non_overlapping")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A way of running a query: ``refusal`` says in one sentence why it cannot, or is None."""

    name: str
    summary: str
    refusal: Callable[[AnalysedQuery], str | None]


def _never(_query: AnalysedQuery) -> str | None:
    return None


EVALUATIONS: tuple[Evaluation, ...] = (
    Evaluation(
        "reference",
        "the definition of the language, executed: correct for every query, and slow",
        _never,
    ),
)
"""In the order in which ``auto`` prefers them."""


def choose_evaluation(query: AnalysedQuery, wanted: str = AUTO) -> Evaluation:
    """The evaluation that was asked for, or the best that accepts the query."""
    by_name = {evaluation.name: evaluation for evaluation in EVALUATIONS}
    if wanted == AUTO:
        return next(each for each in EVALUATIONS if each.refusal(query) is None)
    if wanted not in by_name:
        known = [AUTO, *by_name]
        near = closest(wanted, known)
        raise OptionError(
            f"there is no evaluation {wanted!r}; there are {list_words(known)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
    refusal = by_name[wanted].refusal(query)
    if refusal is not None:
        raise EvaluationError(f"{wanted} cannot run this query: {refusal}")
    return by_name[wanted]


def check_output(output: str) -> None:
    """Refuse an output mode that does not exist."""
    if output not in OUTPUTS:
        near = closest(output, OUTPUTS)
        raise OptionError(
            f"there is no output mode {output!r}; there are {list_words(OUTPUTS)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
