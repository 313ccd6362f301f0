"""Which evaluation runs a query, and why not another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cepheid.analysis.analyse import without_absent_attributes
from cepheid.analysis.model import AnalysedQuery
from cepheid.codegen.compiler import compiled_once
from cepheid.codegen.layout import KIND_NOT_KNOWN, TOO_MANY_COMPONENTS
from cepheid.engines.base.evaluation import AUTO, IMPRECISE, REFERENCE, Evaluation
from cepheid.engines.base.options import DEFAULT_OPTIONS, UNCERTAIN_ONLY, Options
from cepheid.errors import EvaluationError, OptionError, list_words, unknown_name, warn
from cepheid.events.read_options import UncertainTime
from cepheid.planning.estimates import choose_by_statistics
from cepheid.planning.registry import EVALUATIONS

_without_absent_attributes = compiled_once(without_absent_attributes)
_MANY_EVENTS = 20_000
"""With more events than this, a slow evaluation is worth a warning."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The evaluation that runs a query, and why the ones that ``auto`` prefers to it cannot.

    ``query`` is the query as it runs.
    """

    query: AnalysedQuery
    evaluation: Evaluation
    refusals: tuple[str, ...] = ()


def choose(
    query: AnalysedQuery,
    wanted: str,
    uncertain: UncertainTime | None = None,
    options: Options = DEFAULT_OPTIONS,
    *,
    in_batches: bool = False,
    compressed: bool = False,
) -> Choice:
    """The evaluation of a query: one with confidences if times or the query require it."""
    asks = uncertain is not None or query.query.confidence is not None
    known = [*EVALUATIONS]
    # A stable sort: evaluations with a compressed output first, each group in order of preference.
    known.sort(key=lambda each: compressed and not each.has_compressed)
    choice = choose_evaluation(query, wanted, known, asks)
    if wanted == AUTO and options.statistics is not None and not compressed and not asks:
        query = choice.query
        best = choose_by_statistics(query, options.statistics, choice.evaluation, known)
        choice = replace(choice, evaluation=best)
    if not choice.evaluation.has_confidence:
        _refuse_uncertain(choice.evaluation.name, asks, options)
    reason = choice.evaluation.refuse_options(query, options)
    if reason is not None:
        raise EvaluationError(f"{choice.evaluation.name} cannot run this query: {reason}")
    if choice.evaluation.has_confidence and in_batches and options.top_k is not None:
        raise OptionError(
            "top_k ranks all matches of a stream, and a session does not know later matches; "
            "use min_confidence to drop matches with a low confidence"
        )
    return choice


def choose_evaluation(
    query: AnalysedQuery,
    wanted: str,
    evaluations: Sequence[Evaluation],
    has_confidence: bool = False,
) -> Choice:
    """The requested evaluation, or the first of these that accepts the query.

    If only the reference evaluation does, the query is rewritten without attributes that types
    lack. ``has_confidence`` is true if times are uncertain; WITH CONFIDENCE implies it.
    """
    try:
        choice = _chosen(query, wanted, evaluations, has_confidence)
        if wanted != AUTO or not choice.evaluation.is_definition:
            return choice
        refusal = None
    except EvaluationError as error:
        choice, refusal = None, error
    other = _without_absent_attributes(query)
    with suppress(EvaluationError):
        if other is not None:
            choice = _chosen(other, wanted, evaluations, has_confidence)
    if choice is None:
        assert refusal is not None
        raise refusal
    return choice


def _chosen(
    query: AnalysedQuery,
    wanted: str,
    evaluations: Sequence[Evaluation],
    has_confidence: bool,
) -> Choice:
    if wanted == AUTO:
        has_confidence = has_confidence or query.query.confidence is not None
        refusals: list[str] = []
        for evaluation in evaluations:
            if evaluation.has_confidence != has_confidence:
                continue
            reason = evaluation.refusal(query)
            better = evaluation.better(query) if reason is None else None
            if better is not None and _accepts(query, better[0], evaluations):
                reason = better[1]
            if reason is None:
                return Choice(query, evaluation, tuple(refusals))
            refusals.append(f"not {evaluation.name}: {reason}")
        if has_confidence and not refusals:
            raise EvaluationError(
                "WITH CONFIDENCE is for events with uncertain times, and a script has none; run "
                "the query on its own"
            )
        raise EvaluationError("no evaluation can run this query: " + "; ".join(refusals))
    by_name = {evaluation.name: evaluation for evaluation in evaluations}
    if wanted not in [*by_name]:  # It may be no string, and have no hash.
        raise OptionError(unknown_name("evaluation", wanted, [AUTO, *by_name]))
    refusal = by_name[wanted].refusal(query)
    if refusal is not None:
        raise EvaluationError(f"{wanted} cannot run this query: {refusal}")
    return Choice(query, by_name[wanted])


def by_definition(wanted: str, choice: Choice) -> Choice:
    """The evaluation if an output needs the partition of each match, and types lack its key.

    Raises:
        EvaluationError: another one is requested.
    """
    if choice.evaluation.has_confidence:
        return choice  # It refuses the output itself.
    reason = (
        f"some types have no attribute '{choice.query.loose[0].attribute}', and the output "
        "depends on the partitions of matches"
    )
    if wanted not in (AUTO, REFERENCE):
        raise EvaluationError(f"{wanted} cannot run this query: {reason}")
    reference = next(each for each in EVALUATIONS if each.is_definition)
    return Choice(choice.query, reference, (f"only {REFERENCE}: {reason}",))


def _accepts(query: AnalysedQuery, name: str, evaluations: Sequence[Evaluation]) -> bool:
    return any(each.name == name and each.refusal(query) is None for each in evaluations)


def _refuse_uncertain(evaluation: str, is_uncertain: bool, options: Options) -> None:
    """Refuse uncertain times and options that need an evaluation with confidences."""
    if is_uncertain:
        raise EvaluationError(
            f"{evaluation} needs one time for each event; times that are uncertain, and WITH "
            f"CONFIDENCE, are for evaluation='{IMPRECISE}'"
        )
    for name in UNCERTAIN_ONLY:
        if getattr(options, name) != getattr(DEFAULT_OPTIONS, name):
            raise OptionError(
                f"{name} is for events with uncertain times; say how uncertain they are, with "
                "time=('lower', 'upper') or uncertainty='5 seconds'"
            )


def warn_of_reference(
    evaluation: Evaluation, refusals: Sequence[str], events: int | None = None
) -> None:
    """Warn that the slow reference evaluation runs a long pattern or many events, and say why.

    ``events`` is None in a stream, and on Spark: there can be many.
    """
    is_long = any(TOO_MANY_COMPONENTS in reason for reason in refusals)
    if evaluation.is_definition and (is_long or events is None or events > _MANY_EVENTS):
        over = "many events" if events is None else f"{events:,} events"
        warn(
            "no fast evaluation runs this query, and the reference evaluation may take long over "
            f"{over}: {'; '.join(refusals)}"
        )


def refuse_unknown_kinds(evaluation: Evaluation, refusals: Sequence[str]) -> None:
    """Refuse a session that is slow only because a column has no values in the first batch."""
    if evaluation.is_definition and any(KIND_NOT_KNOWN in reason for reason in refusals):
        raise EvaluationError("no fast evaluation runs this query: " + "; ".join(refusals))


def warn_of_ignored(options: Options, used: Sequence[Evaluation]) -> None:
    """Warn about options that none of the evaluations that run the queries reads."""
    readers: dict[str, list[str]] = {}
    for each in EVALUATIONS:
        for name in each.options:
            readers.setdefault(name, []).append(each.name)
    for name, names in readers.items():
        is_set = getattr(options, name) != getattr(DEFAULT_OPTIONS, name)
        if is_set and not any(name in each.options for each in used):
            runs = list_words(sorted({each.name for each in used}))
            verb = "run" if " and " in runs else "runs"
            what = "this query" if len(used) == 1 else "these queries"
            warn(
                f"{name} has no effect: it is an option of {list_words(names)}, and {runs} {verb} "
                f"{what}"
            )
