"""The estimated cost of a query for each evaluation, from the frequencies of its types.

The registry entry of an evaluation has its cost model; this module describes the workload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.engines.base.evaluation import LAZY_CHAIN, Evaluation
from cepheid.engines.base.statistics import check_conditions, given_rates
from cepheid.engines.base.workload import Workload
from cepheid.engines.lazy.placement import place_lazily
from cepheid.engines.lazy.sharing import chain_orders
from cepheid.language.printer import print_expression
from cepheid.planning.registry import EVALUATIONS


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many events of each type a window has, and how many partitions they belong to.

    Frequencies that ``drift`` are very different in different parts of the stream. ``unknown``
    is the assumed selectivity of conditions without known statistics.
    """

    per_window: Mapping[str, float]
    partitions: float = 1.0
    drifts: bool = False
    unknown: float | None = None


def estimate_costs(query: AnalysedQuery, frequencies: Frequencies) -> dict[str, float]:
    """The cost of one window for each evaluation, whether or not it accepts the query.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 9"), None)
    >>> costs = estimate_costs(query, Frequencies({"A": 500.0, "B": 50.0, "C": 1.0}))
    >>> costs["lazy_chain"] < costs["nfa_b"]
    True
    """
    workloads = [workload_of(query, each, frequencies) for each in query.alternatives]
    return {
        each.name: sum(map(each.cost, workloads)) for each in EVALUATIONS if each.cost is not None
    }


def workload_of(
    query: AnalysedQuery, alternative: Alternative, frequencies: Frequencies
) -> Workload:
    """The workload of an alternative in one window."""
    parts = alternative.components
    rates = given_rates(frequencies.per_window, parts)
    partitions = frequencies.partitions if alternative.partition_keys else 1.0
    return Workload(
        [max(rate / partitions, 1e-3) for rate in rates],
        frozenset(ix for ix, part in enumerate(parts) if part.is_kleene),
        alternative.before,
        place_lazily(query, alternative).selectivities(frequencies.per_window, frequencies.unknown),
        _linked(alternative),
        frequencies.drifts,
    )


def _linked(alternative: Alternative) -> frozenset[tuple[int, int]]:
    """The pairs of components with an equality of two attributes."""
    places = {part.variable: ix for ix, part in enumerate(alternative.components)}
    return frozenset(
        (places[a.variable], places[b.variable])
        for clause in alternative.clauses
        for a, b in clause.equal_attributes
        if places[a.variable] <= places[b.variable]
    )


def cheapest_of(
    query: AnalysedQuery, accepted: Evaluation, evaluations: Sequence[Evaluation]
) -> Callable[[Frequencies], Evaluation]:
    """A function that finds the evaluation with the lowest cost; the first one on a tie.

    ``accepted`` is the first of the evaluations that accepts the query. Evaluations without a
    cost model are not considered after it.
    """
    later = evaluations[evaluations.index(accepted) :]
    candidates = [each for each in later if each is accepted or each.cost is not None]

    @cache  # slow to compute, and already known for one
    def accepts(each: Evaluation) -> bool:
        return each is accepted or each.refusal(query) is None

    def cheapest(frequencies: Frequencies) -> Evaluation:
        costs = estimate_costs(query, frequencies)
        by_cost = sorted(candidates, key=lambda each: costs.get(each.name, inf))
        return next(filter(accepts, by_cost))

    return cheapest


def estimate_lines(
    query: AnalysedQuery, statistics: Mapping[str, float], accepting: Collection[str]
) -> Iterator[str]:
    """The cost of a window for each of the accepting evaluations, and the orders of chains.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9"), None)
    >>> for line in estimate_lines(query, {"A": 1000, "B": 2}, ["lazy_chain", "nfa_b"]):
    ...     print(line)
    lazy_chain binds b, a
    lazy_chain: 19,030 tests in a window
    nfa_b: 217,712 tests in a window
    """
    check_conditions(statistics, condition_texts(query))
    if LAZY_CHAIN in accepting:
        orders = chain_orders(query, statistics)
        for alternative, order in zip(query.alternatives, orders, strict=True):
            names = [alternative.components[ix].variable for ix in order]
            yield f"{LAZY_CHAIN} binds {', '.join(names)}"
    costs = estimate_costs(query, Frequencies(statistics))
    for name in sorted(costs.keys() & set(accepting), key=lambda name: costs[name]):
        yield f"{name}: {costs[name]:,.0f} tests in a window"


def condition_texts(query: AnalysedQuery) -> list[str]:
    """The conditions between events, as statistics name them."""
    return [
        print_expression(clause.expression, query.query)
        for alternative in query.alternatives
        for clause in alternative.clauses
    ]


def choose_by_statistics(
    query: AnalysedQuery,
    statistics: Mapping[str, float],
    accepted: Evaluation,
    evaluations: Sequence[Evaluation],
) -> Evaluation:
    """The evaluation with the lowest cost, by the statistics given."""
    check_conditions(statistics, condition_texts(query))
    return cheapest_of(query, accepted, evaluations)(Frequencies(statistics))
