"""Which queries have an answer where the times of events are uncertain."""

from __future__ import annotations

from itertools import combinations

from cepheid.analysis.model import AnalysedQuery
from cepheid.automata.nfa_b import refuse_nfa_b
from cepheid.language import syntax as ast
from cepheid.planning.options import AUTO_METHOD, QUERY_ORDER

_STRATEGIES = (
    ast.SelectionStrategy.SKIP_TILL_ANY_MATCH,
    ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH,
)


def refuse_imprecise(query: AnalysedQuery) -> str | None:
    """Why a query has no answer over uncertain times, or None."""
    tree = query.query
    if any(not alternative.is_sequence for alternative in query.alternatives):
        return "AND is not a sequence, and confidences are those of sequences"
    if tree.strategy not in _STRATEGIES:
        return (
            f"{tree.strategy.value} asks which events are adjacent, and where times are uncertain "
            "the strategies are skip_till_any_match and skip_till_next_match"
        )
    if tree.window is not None and tree.window.measure is not ast.WindowMeasure.TIME:
        return "a window that counts events has no place where their order is uncertain"
    for first, second in combinations(query.alternatives, 2):
        variables = [{part.variable for part in each.components} for each in (first, second)]
        if variables[0] == variables[1]:
            return (
                "two alternatives of the pattern have the same variables, so that one match could "
                "be found by both; give them different ones"
            )
    if tree.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
        for alternative in query.alternatives:
            if any(component.is_kleene for component in alternative.components):
                return "a Kleene component over uncertain times needs skip_till_any_match"
            if alternative.negations:
                return "a negation over uncertain times needs skip_till_any_match"
    return refuse_nfa_b(query)


def refuse_method(query: AnalysedQuery, method: str) -> str | None:
    """Why a method does not find the signatures of a query, or None."""
    if method in (AUTO_METHOD, QUERY_ORDER):
        return None
    for alternative in query.alternatives:
        for component in alternative.components:
            if component.is_kleene:
                return (
                    f"method {method} binds one event to a component, and '{component.variable}[]' "
                    f"is a list; {QUERY_ORDER} finds lists"
                )
    return None
