"""What each evaluation would cost for a query, from how frequent its types are.

The unit is the test of a condition. An evaluation tests what its order of binding makes it test:
nfa_b binds components in the order of the pattern, instance_stacks from the last one back, and a
lazy automaton in the order that costs least, looking events up by equalities. Beside that each
event, partial match and match costs something, and an event of nfa_b meets all runs of its
partition. What these cost was measured (``python -m benchmarks.auto_choice``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.engines.base.evaluation import INSTANCE_STACKS, LAZY_CHAIN, LAZY_TREE, NFA_B
from cepheid.engines.base.statistics import check_conditions, given_rates
from cepheid.engines.lazy.cost import Workload, best_order, work_of
from cepheid.engines.lazy.placement import chain_orders, place_lazily
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression

_EVENT = {INSTANCE_STACKS: 7.0, NFA_B: 6.0, LAZY_CHAIN: 16.0, LAZY_TREE: 18.0}
_PARTIAL = {INSTANCE_STACKS: 0.2, NFA_B: 8.0, LAZY_CHAIN: 18.0, LAZY_TREE: 20.0}
_TEST = {INSTANCE_STACKS: 0.6, NFA_B: 1.0, LAZY_CHAIN: 1.0, LAZY_TREE: 1.1}
_MATCH = {INSTANCE_STACKS: 0.5, NFA_B: 1.0, LAZY_CHAIN: 3.2, LAZY_TREE: 3.2}
_MEETING = 0.2
"""What an event costs for each run that is alive, in nfa_b."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many events of each type a window has, and of how many partitions they are.

    ``drifts`` where that is quite different in different parts of the stream. ``unknown`` is
    how often conditions hold of which nothing is known.
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
    costs = dict.fromkeys(_EVENT, 0.0)
    for alternative in query.alternatives:
        workload = workload_of(query, alternative, frequencies)
        forward = tuple(range(len(workload.events)))
        # Runs that differ in the list alone are merged.
        merged = replace(workload, lists=frozenset())
        linked = replace(workload, linked=_linked(alternative))
        lazy = work_of(linked, [best_order(linked)])
        eager = work_of(merged, [forward])
        work = {
            INSTANCE_STACKS: work_of(workload, [forward[::-1]]),
            NFA_B: eager,
            LAZY_CHAIN: lazy,
            LAZY_TREE: lazy,
        }
        events = sum(workload.events)
        for name, each in work.items():
            costs[name] += _EVENT[name] * events + _TEST[name] * each.tests
            costs[name] += _PARTIAL[name] * each.partial + _MATCH[name] * each.matches
        costs[NFA_B] += _MEETING * events * eager.partial
    if frequencies.drifts:
        costs[LAZY_CHAIN] *= 2.0
    return costs


def workload_of(
    query: AnalysedQuery, alternative: Alternative, frequencies: Frequencies
) -> Workload:
    """What is known of an alternative when its types are so frequent."""
    parts = alternative.components
    rates = given_rates(frequencies.per_window, parts)
    partitions = frequencies.partitions if alternative.partition_keys else 1.0
    return Workload(
        [max(rate / partitions, 1e-3) for rate in rates],
        frozenset(ix for ix, part in enumerate(parts) if part.is_kleene),
        alternative.before,
        place_lazily(query, alternative).selectivities(frequencies.per_window, frequencies.unknown),
    )


def _linked(alternative: Alternative) -> frozenset[tuple[int, int]]:
    """The pairs of components with an equality of two attributes."""
    places = {part.variable: ix for ix, part in enumerate(alternative.components)}
    found = set()
    for clause in alternative.clauses:
        match clause.literals:
            case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                pair = sorted((places[left.variable], places[right.variable]))
                found.add((pair[0], pair[1]))
    return frozenset(found)


def cheapest(costs: Mapping[str, float], names: Iterable[str]) -> str:
    """The evaluation of these that costs least; of equal ones the first.

    >>> cheapest({"nfa_b": 2.0, "lazy_chain": 1.0}, ["nfa_b", "lazy_chain"])
    'lazy_chain'
    """
    return min(names, key=lambda name: costs.get(name, float("inf")))


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
    query: AnalysedQuery, statistics: Mapping[str, float], names: Iterable[str]
) -> str:
    """The evaluation of these that costs least by what is known of types and conditions."""
    check_conditions(statistics, condition_texts(query))
    return cheapest(estimate_costs(query, Frequencies(statistics)), names)
