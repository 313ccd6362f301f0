"""The choice of a query's evaluation among all registered ones."""

from __future__ import annotations

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.engines.imprecise.evaluation import refuse_method
from cepheid.errors import EvaluationError, OptionError
from cepheid.events.uncertain_time import UncertainTime
from cepheid.planning.estimates import choose_by_statistics
from cepheid.planning.evaluations import (
    Choice,
    able_evaluations,
    choose_evaluation,
    refuse_uncertain,
)
from cepheid.planning.registry import EVALUATIONS


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
    known = [each for each in EVALUATIONS if each.has_session or not in_batches]
    # A stable sort: evaluations with a compressed output first, each group in order of preference.
    known.sort(key=lambda each: compressed and not each.has_compressed)
    choice = choose_evaluation(query, wanted, known, asks)
    if wanted == AUTO and options.statistics is not None and not compressed and not asks:
        able = {each.name: each for each in able_evaluations(query, choice.evaluation, known)}
        best = choose_by_statistics(query, options.statistics, able)
        choice = Choice(able[best], choice.refusals)
    if not choice.evaluation.has_confidence:
        refuse_uncertain(choice.evaluation.name, asks, options)
    elif (reason := refuse_method(query, options.method)) is not None:
        raise EvaluationError(f"{choice.evaluation.name} cannot run this query: {reason}")
    elif in_batches and options.top_k is not None:
        raise OptionError(
            "top_k ranks all matches of a stream, and a session does not know later matches; "
            "use min_confidence to drop matches with a low confidence"
        )
    return choice
