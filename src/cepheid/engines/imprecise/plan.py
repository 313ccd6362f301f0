"""The plan of a query over uncertain times, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.engines.base.options import (
    ANY_STATE,
    AUTO_METHOD,
    POINT,
    QUERY_ORDER,
    SELECTIVITY,
    Options,
)
from cepheid.events.read_options import UncertainTime
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query

_HOW = {
    QUERY_ORDER: "from the first component to the last",
    SELECTIVITY: "from the rarest component on",
    ANY_STATE: "runs that begin with any component",
    POINT: "every instant of an event as an event of its own",
}


def by_variables(alternatives: Sequence[Alternative]) -> list[list[Alternative]]:
    """Alternatives grouped by their variables: those of a group can find the same matches."""
    groups: dict[frozenset[str], list[Alternative]] = {}
    for alternative in alternatives:
        named = frozenset(component.variable for component in alternative.components)
        groups.setdefault(named, []).append(alternative)
    return list(groups.values())


def is_one_sequence(group: Sequence[Alternative]) -> bool:
    """Whether the group is one alternative whose events have a total order."""
    return len(group) == 1 and group[0].is_sequence


def as_sequence(alternative: Alternative) -> Alternative:
    """The alternative as a sequence, in which its conditions are tested."""
    total = combinations(range(len(alternative.components)), 2)
    return replace(alternative, before=frozenset(total))


def method_line(query: AnalysedQuery, options: Options) -> str:
    """The method that finds signatures, and the reason for it."""
    if options.method != AUTO_METHOD:
        return f"{options.method}, as requested: {_HOW[options.method]}"
    if not all(map(is_one_sequence, by_variables(query.alternatives))):
        return "events in any order; the confidence of a signature covers all orders that allow it"
    has_lists = any(part.is_kleene for each in query.alternatives for part in each.components)
    if has_lists or query.query.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
        why = "lists need it" if has_lists else "this order shows which events could be next"
        return f"{QUERY_ORDER}, {_HOW[QUERY_ORDER]}: {why}"
    return (
        f"{QUERY_ORDER}, {_HOW[QUERY_ORDER]}, or {SELECTIVITY}, from the rarest one on, where one "
        "is much rarer than the first"
    )


def uncertainty_lines(
    query: AnalysedQuery, options: Options, time: str, uncertain: UncertainTime
) -> Iterator[str]:
    """The time of an event, the window, and the confidence that a match needs."""
    if uncertain.upper is not None:
        yield f"an event is at an instant from {time} to {uncertain.upper}"
    elif isinstance(uncertain.uncertainty, Mapping):
        for name, extent in uncertain.uncertainty.items():
            yield f"an event of type {name} is at most {extent} from {time}"
        yield f"an event of another type is at {time}"
    elif uncertain.uncertainty is not None:
        yield f"an event is at most {uncertain.uncertainty} from {time}"
    else:
        yield f"an event is at {time}"
    listed = f"as likely as listed in {uncertain.probabilities}"
    shares = listed if uncertain.probabilities else "equally likely"
    length = (
        f"{uncertain.granularity} long"
        if uncertain.granularity is not None
        else "a tick of the column"
    )
    yield f"an instant is {length}; instants are {shares}"
    if uncertain.max_uncertainty is not None:
        yield f"no interval is longer than {uncertain.max_uncertainty} (U_max)"
    elif uncertain.upper is not None or uncertain.uncertainty is None:
        yield "the longest interval (U_max) is the longest so far"
    else:
        yield "the longest interval (U_max) is twice the uncertainty"
    window = query.query.window
    if window is not None:
        extent = print_query(ast.Query(query.query.pattern, window=window)).rpartition("WITHIN ")[2]
        yield f"in every possible world the last event is less than {extent} after the first"
    if options.min_confidence is not None:
        yield f"matches have a confidence of at least {options.min_confidence}"
    if options.top_k is not None:
        yield f"the {options.top_k} matches with the highest confidence are reported"
