"""Which evaluation runs a query, and why not another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import (
    AUTO,
    IMPRECISE,
    INSTANCE_STACKS,
    LAZY_CHAIN,
    LAZY_TREE,
    NFA_B,
    REFERENCE,
    Evaluation,
)
from cepheid.engines.base.options import DEFAULT_OPTIONS, WEIGHING, Options
from cepheid.errors import CepheidWarning, EvaluationError, OptionError, list_words, unknown_name

_MANY_EVENTS = 20_000
"""More than these are worth a word where each of them is read slowly."""
_OPTIONS_OF = {
    "algorithm": (NFA_B,),
    "buffer": (NFA_B,),
    "construction": (INSTANCE_STACKS,),
    "equivalence": (INSTANCE_STACKS,),
    "window": (INSTANCE_STACKS,),
    "domains": (INSTANCE_STACKS,),
    "negation": (LAZY_CHAIN, LAZY_TREE),
}
"""The evaluations that read an option; all read the others."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The evaluation that runs a query, and why those that ``auto`` prefers to it do not."""

    evaluation: Evaluation
    refusals: tuple[str, ...] = ()


def warn_of_reference(choice: Choice, events: int) -> None:
    """Tell that many events are about to be read by the evaluation that is slow, and why."""
    if choice.evaluation.name == REFERENCE and events > _MANY_EVENTS:
        warnings.warn(
            f"no fast evaluation runs this query, and the reference evaluation may take long over "
            f"{events:,} events: {'; '.join(choice.refusals)}",
            CepheidWarning,
            stacklevel=4,
        )


def warn_of_ignored(options: Options, evaluation: str) -> None:
    """Tell which of the options are for other evaluations than the one that runs the query."""
    for name, meant in _OPTIONS_OF.items():
        if getattr(options, name) != getattr(DEFAULT_OPTIONS, name) and evaluation not in meant:
            warnings.warn(
                f"{name} changes nothing here: it is an option of {list_words(meant)}, and "
                f"{evaluation} runs this query",
                CepheidWarning,
                stacklevel=4,
            )


def choose_evaluation(
    query: AnalysedQuery, wanted: str, evaluations: Sequence[Evaluation], weighs: bool = False
) -> Choice:
    """The evaluation that was asked for, or the first of these that accepts the query.

    ``weighs`` where times are uncertain; a query that asks for a confidence says so itself.
    """
    if wanted == AUTO:
        weighs = weighs or query.query.confidence is not None
        refusals: list[str] = []
        for evaluation in evaluations:
            if evaluation.has_confidence != weighs:
                continue
            reason = evaluation.refusal(query)
            better = evaluation.better(query) if reason is None else None
            if better is not None and _accepts(query, better[0], evaluations):
                reason = better[1]
            if reason is None:
                return Choice(evaluation, tuple(refusals))
            refusals.append(f"not {evaluation.name}: {reason}")
        if weighs and not refusals:
            raise EvaluationError(
                "WITH CONFIDENCE is for events with uncertain times, and a script has none; run "
                "the query on its own"
            )
        raise EvaluationError("no evaluation can run this query: " + "; ".join(refusals))
    by_name = {evaluation.name: evaluation for evaluation in evaluations}
    if wanted not in by_name:
        raise OptionError(unknown_name("evaluation", wanted, [AUTO, *by_name]))
    refusal = by_name[wanted].refusal(query)
    if refusal is not None:
        raise EvaluationError(f"{wanted} cannot run this query: {refusal}")
    return Choice(by_name[wanted])


def able_evaluations(
    query: AnalysedQuery, accepted: Evaluation, evaluations: Sequence[Evaluation]
) -> list[Evaluation]:
    """What can run a query beside the first that accepts it, the reference only if that is it."""
    later = evaluations[evaluations.index(accepted) + 1 :]
    return [
        accepted,
        *(
            each
            for each in later
            if each.name != REFERENCE and not each.has_confidence and each.refusal(query) is None
        ),
    ]


def _accepts(query: AnalysedQuery, name: str, evaluations: Sequence[Evaluation]) -> bool:
    return any(each.name == name and each.refusal(query) is None for each in evaluations)


def refuse_weighing(evaluation: str, is_uncertain: bool, options: Options) -> None:
    """Refuse what only an evaluation with confidences can do."""
    if is_uncertain:
        raise EvaluationError(
            f"{evaluation} needs one time for each event; times that are uncertain, and WITH "
            f"CONFIDENCE, are for evaluation='{IMPRECISE}'"
        )
    for name in WEIGHING:
        if getattr(options, name) != getattr(DEFAULT_OPTIONS, name):
            raise OptionError(
                f"{name} is for events with uncertain times; say how uncertain they are, with "
                "time=('lower', 'upper') or uncertainty='5 seconds'"
            )
