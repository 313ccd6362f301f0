"""The registry entry of evaluation over uncertain times, and the queries that it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.evaluation import IMPRECISE, Evaluation
from cepheid.engines.base.options import AUTO_METHOD, QUERY_ORDER, Options
from cepheid.engines.imprecise.plan import as_sequence, by_variables, is_one_sequence
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions

if TYPE_CHECKING:
    from cepheid.engines.base.query_session import QuerySession, SessionTask

MOST_UNORDERED = 8
"""The most events of a match without a total order: a confidence is a sum over all their sets."""
MOST_SHARING = 6
"""The most alternatives with the same variables: a match is scored for each set of them."""


def refuse_imprecise(query: AnalysedQuery) -> str | None:
    """The reason why a query has no answer over uncertain times, or None."""
    tree = query.query
    if tree.measure is not ast.WindowMeasure.TIME:
        return (
            "a window cannot count events if their order is uncertain; give a length of time, "
            "such as WITHIN 10 seconds"
        )
    for negated in (each for part in query.alternatives for each in part.negations):
        if negated.own_window is not None:
            return "a negation over uncertain times cannot have a window of its own"
        if negated.is_inside:
            return "WITHOUT needs to know which events are inside a list; times are uncertain"
    if reads_positions(tree):
        return "an event of uncertain time has no INDEX and no PARTITION_INDEX"
    selects_any = tree.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
    for group in by_variables(query.alternatives):
        if not is_one_sequence(group):
            reason = _refuse_group(group, selects_any)
            if reason is not None:
                return reason
    return refuse_nfa_b(replace(query, alternatives=tuple(map(as_sequence, query.alternatives))))


def _refuse_group(group: Sequence[Alternative], selects_any: bool) -> str | None:
    """The reason why alternatives without one total order have no confidences, or None."""
    what, instead = "AND", "write the orders you need as alternatives, OR(SEQ(…), SEQ(…))"
    if len(group) > 1:
        what = "an OR whose parts have the same variables"
        instead = "give each part its own variables, so that each has its own matches"
    if not selects_any:
        return f"{what} over uncertain times needs skip_till_any_match; {instead}"
    for alternative in group:
        lists = [part.variable for part in alternative.components if part.is_kleene]
        if lists:
            return f"{what} has no confidences with the list '{lists[0]}[]'; {instead}"
        if alternative.negations:
            return f"{what} has no confidences with a negation; {instead}"
        if len(alternative.components) > MOST_UNORDERED:
            return f"{what} has confidences for at most {MOST_UNORDERED} events; {instead}"
    if len(group) > MOST_SHARING:
        return f"{what} has confidences for at most {MOST_SHARING} of them; {instead}"
    return None


def _refuse_method(query: AnalysedQuery, options: Options) -> str | None:
    """The reason why a method cannot find the signatures of a query, or None."""
    method = options.method
    if method == AUTO_METHOD:
        return None
    if not all(map(is_one_sequence, by_variables(query.alternatives))):
        return (
            f"method {method} follows the order of a sequence, and AND, or an OR whose parts have "
            f"the same variables, has none; use method {AUTO_METHOD}"
        )
    if method == QUERY_ORDER:
        return None
    for alternative in query.alternatives:
        for component in alternative.components:
            if component.is_kleene:
                return (
                    f"method {method} binds one event to a component, and '{component.variable}[]' "
                    f"is a list; {QUERY_ORDER} finds lists"
                )
    return None


def _make_run(task: SessionTask) -> QuerySession:
    from cepheid.engines.imprecise.session import ImpreciseSession

    return ImpreciseSession(task)


IMPRECISE_EVALUATION = Evaluation(
    IMPRECISE,
    "events with uncertain times: signatures with a range of time and a confidence",
    refuse_imprecise,
    make_run=_make_run,
    has_confidence=True,
    refuse_options=_refuse_method,
)
