"""How many runs an NFA^b can have at a time, and where they branch [Agrawal08 §4].

Also how many instances are on stacks, and how many matches to expect [Wu06 §3.2, §5.1].

A run is a partial match. A state is nondeterministic if one event can satisfy two of its edges: the
run then branches. The bounds are tighter than those of the paper, which also counts runs
that have reached the final state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.edges import ComponentEdges, edges_of
from cepheid.codegen.layout import UNBOUNDED
from cepheid.engines.base.options import Options
from cepheid.explain.computation_state import computation_state_lines
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression, print_window
from cepheid.planning.estimates import Frequencies, workload_of

_CONTIGUOUS = (
    ast.SelectionStrategy.STRICT_CONTIGUITY,
    ast.SelectionStrategy.PARTITION_CONTIGUITY,
)
_ANY = ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
_NEXT = ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH


@dataclass(frozen=True, slots=True)
class RunBound:
    """At most ``factor`` · W^``degree`` runs of a partition, or 2^W times as many.

    These are the runs after an event, where W events are in the window. While an event is read,
    runs from before it can still be there.

    >>> print(RunBound(3), RunBound(1, 1), RunBound(2, 2), RunBound(2, 1, is_exponential=True))
    3: constant W: linear 2·W^2: polynomial 2·W·2^W: exponential
    >>> RunBound(2, 2).at(10)
    200
    """

    factor: int
    degree: int = 0
    is_exponential: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether it does not depend on W."""
        return self.degree == 0 and not self.is_exponential

    def at(self, size: int) -> int:
        """The bound for a partition window with this many events."""
        power: int = size**self.degree
        return (self.factor * power) << (size if self.is_exponential else 0)

    def __str__(self) -> str:
        powers = ["W" if self.degree == 1 else f"W^{self.degree}"] if self.degree else []
        powers += ["2^W"] if self.is_exponential else []
        factor = [str(self.factor)] if self.factor != 1 or not powers else []
        growth = ("constant", "linear")[self.degree] if self.degree < 2 else "polynomial"
        return f"{'·'.join(factor + powers)}: {'exponential' if self.is_exponential else growth}"


def run_bound(query: AnalysedQuery, alternative: Alternative) -> RunBound:
    """The greatest number of simultaneous runs of one partition.

    A run that is inside component j, or waits for the next one, is told apart

    - with contiguity by the lengths of its lists, because it has selected every event so far;
    - under skip_till_next_match by its first event and by the events with which it left lists;
    - under skip_till_any_match by the events that it selected and the lengths of its lists.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A+ a[], B b, C c) WHERE skip_till_next_match"))
    >>> print(run_bound(query, query.alternatives[0]))
    2·W^2: polynomial
    """
    strategy, edges = query.query.strategy, edges_of(query, alternative)
    bounds = [_inside(strategy, edges[:j], most) for j, most in enumerate(_most_inside(edges))]
    is_exponential = any(each.is_exponential for each in bounds)
    return RunBound(
        sum(each.factor for each in bounds),
        max((each.degree for each in bounds if each.is_exponential == is_exponential), default=0),
        is_exponential,
    )


def _most_inside(edges: Sequence[ComponentEdges]) -> Iterator[int]:
    """The greatest length of each component in a run; one that completes the last ends."""
    yield from (each.most for each in edges[:-1])
    most = edges[-1].most
    if most > 1:
        yield most if most == UNBOUNDED else most - 1


def _inside(strategy: ast.SelectionStrategy, left: Sequence[ComponentEdges], most: int) -> RunBound:
    """The bound on runs that have left these components and are inside the next one."""
    if strategy is _NEXT:
        return RunBound(1, 1 + sum(each.least < each.most for each in left))
    unbounded = sum(each.most == UNBOUNDED for each in left) + (most == UNBOUNDED)
    lengths = [max(each.most - each.least + 1, 1) for each in left if each.most < UNBOUNDED]
    factor = prod([*lengths, *([most] if most < UNBOUNDED else [])])
    if strategy in _CONTIGUOUS:
        return RunBound(factor, unbounded)
    if unbounded:
        # The selected events are a subset of W; where one list ends and another begins is free.
        return RunBound(factor, unbounded - 1, is_exponential=True)
    return RunBound(factor, sum(each.most for each in left) + most)


def nondeterminism(query: AnalysedQuery, alternative: Alternative) -> dict[str, tuple[str, ...]]:
    """The pairs of edges of each state that one event can satisfy, by the name of the state.

    Edges exclude one another if one is the negation of the other, if their types differ, or if one
    needs a full list and the other one with room. Other conditions are not compared.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B+ b[], C c)"))
    >>> for state, kinds in nondeterminism(query, query.alternatives[0]).items():
    ...     print(state, kinds)
    a ()
    b[1] ('begin-ignore',)
    b[i] ('ignore-proceed', 'take-ignore')
    c ('begin-ignore',)
    """
    strategy, edges = query.query.strategy, edges_of(query, alternative)
    kinds: dict[str, tuple[str, ...]] = {}
    for ix, each in enumerate(edges):
        name, following = _name(query, each), edges[ix + 1 : ix + 2]
        begins = ("begin-ignore",) if ix > 0 and strategy is _ANY else ()
        kinds[f"{name}[1]" if each.component.is_kleene else name] = begins
        if each.component.is_kleene:
            kinds[f"{name}[i]"] = tuple(_at_list(strategy, each, *following))
    return kinds


def _at_list(
    strategy: ast.SelectionStrategy, edges: ComponentEdges, following: ComponentEdges | None = None
) -> Iterator[str]:
    types = set(edges.component.types)
    if edges.least < edges.most:
        # A list at the end is a match with each event that it takes, and is never left otherwise.
        if following is None or types & set(following.component.types):
            yield "take-proceed"
        if following is not None and strategy in (_NEXT, _ANY):
            yield "ignore-proceed"
    if edges.most > 1 and strategy is _ANY:
        yield "take-ignore"


def bound_lines(query: AnalysedQuery, alternative: Alternative) -> Iterator[str]:
    """The partition window, the nondeterminism of each state, and the bound on runs, in words."""
    yield from _partition_window(query)
    edges = edges_of(query, alternative)
    unbounded = {f"{_name(query, each)}[i]" for each in edges if each.most == UNBOUNDED}
    for state, kinds in nondeterminism(query, alternative).items():
        growth = "linearly"
        if "take-ignore" in kinds:
            growth = "exponentially" if state in unbounded else "polynomially"
        said = f"{', '.join(kinds)}; runs branch {growth} in W" if kinds else "no choice"
        yield f"{state}: {said}"
    bound = run_bound(query, alternative)
    yield f"runs of a partition at a time: at most {bound}"
    yield f"time per event: {'constant' if bound.is_constant else 'grows with the number of runs'}"
    yield from computation_state_lines(query, alternative)


def stack_bound_lines(
    query: AnalysedQuery, alternative: Alternative, options: Options
) -> Iterator[str]:
    """The size of the stacks and of the graph between them, and with statistics the selectivity."""
    yield from _partition_window(query)
    length = len(alternative.components)
    yield f"instances of a partition in the window: at most {RunBound(length, 1)}"
    yield f"pointers that the search from an event can follow: at most {RunBound(2 * length, 1)}"
    if options.statistics is not None:
        is_known = all(test.attribute in options.domains for test in query.equivalences)
        shown = f"{query_selectivity(query, alternative, options):.3g} sequences per event"
        unknown = "" if is_known else ", if all events are of one partition (domains are not given)"
        yield f"query selectivity: about {shown}{unknown}"


def query_selectivity(query: AnalysedQuery, alternative: Alternative, options: Options) -> float:
    """The number of sequences that an event of the pattern's types completes on average.

    Types and values are independent of the order of events. The formula of the paper counts the
    sequences inside one window of W events and divides by W. It leaves out those that lie across
    two such windows, so that this number is greater by a factor: the length of the pattern.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 300"))
    >>> options = Options(statistics={"A": 100, "B": 100, "C": 100}, domains={"id": 50})
    >>> round(query_selectivity(query, query.alternatives[0], options), 3)
    0.66
    """
    assert options.statistics is not None
    workload = workload_of(query, alternative, Frequencies(options.statistics))
    rates = dict(zip(alternative.components, workload.events, strict=True))
    size = sum({part.types: rate for part, rate in rates.items()}.values())
    others = len(rates) - 1
    chosen = prod(max(size - k, 0) / k for k in range(1, others + 1))
    fitting = prod(rate / size for rate in rates.values()) * prod(workload.selectivities.values())
    values = prod(options.domains.get(test.attribute, 1) for test in query.equivalences)
    return float(chosen * fitting / values**others)


def _name(query: AnalysedQuery, edges: ComponentEdges) -> str:
    """A variable, quoted where it needs to be."""
    return print_expression(ast.Parameter(edges.component.variable), query.query)


def _partition_window(query: AnalysedQuery) -> Iterator[str]:
    """W = T·C·p, where C events can have the same time and p is the share of a partition."""
    window = query.query.window
    is_whole = query.query.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY
    is_divided = bool(query.equivalences) and not is_whole
    share = ", p the share of a partition" if is_divided else ""
    if window is None:
        yield "W = all events of the partition so far: there is no window"
    elif window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
        yield f"W = {print_window(window)}"
    elif window.measure is ast.WindowMeasure.EVENTS:
        yield f"W = {'p · ' * is_divided}{print_window(window)}{share}"
    else:
        extent = f"T = {print_window(window)}, C events at most at one time"
        yield f"W = T·C{'·p' * is_divided} events: {extent}{share}"
