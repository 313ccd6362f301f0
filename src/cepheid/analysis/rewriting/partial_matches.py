"""The partial matches of a sequence, as the matches of queries.

WITH TIMED OUT reports the furthest partial match of an event that begins no match. A partial match
binds the first components of an alternative. The last of them may be a list that is not complete:
its lower bound and the conditions on the whole of it are not tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.analysis.analyse import analyse, without_absent_attributes
from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.placement import indices_in, reads_whole_list
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in

Components = tuple[ast.Component, ...]


def partial_queries(query: AnalysedQuery) -> list[AnalysedQuery]:
    """Queries of sequences without negations that together find all partial matches.

    Partial matches that are matches of the query are left out where that is known.

    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_pattern
    >>> query = analyse(parse("PATTERN SEQ(A a, B{2,} b[]) WHERE b[i].x > 1 AND b[4].x > 2"))
    >>> for each in partial_queries(query):
    ...     print(print_pattern(each.query.pattern))
    A a
    SEQ(A a, B{1,3} b[])
    """
    tree = query.query
    found: dict[Components, ast.Query] = {}
    for alternative in query.alternatives:
        for count in range(1, len(alternative.components) + 1):
            prefix = alternative.components[:count]
            bound = {component.variable for component in prefix}
            known = [test for test in conjuncts(tree.condition) if variables_in(test) <= bound]
            is_whole = count == len(alternative.components) and not alternative.negations
            for components, tested in _parts(prefix, known):
                least = prefix[-1].bounds.least if prefix[-1].bounds else 1
                given = components[-1].bounds.least if components[-1].bounds else 1
                if not (is_whole and given >= least and len(tested) == len(known)):
                    found[components] = _with(tree, components, tested)
    analysed = [analyse(each, query.schema) for each in found.values()]
    return [without_absent_attributes(each) or each for each in analysed]


def _parts(
    prefix: Components, conditions: Sequence[ast.Expression]
) -> Iterator[tuple[Components, list[ast.Expression]]]:
    """The prefix with each range of lengths of its last list, and the conditions known for it."""
    last = prefix[-1]
    if last.bounds is None:
        yield prefix, [*conditions]
        return
    lengths = [
        (indices_in([each]).least_lengths.get(last.variable, 1), each)
        for each in conditions
        if not reads_whole_list(each, last.variable)
    ]
    most = last.bounds.most
    lows = sorted({1, *(length for length, _ in lengths if most is None or length <= most)})
    for low, high in zip(lows, [*(each - 1 for each in lows[1:]), most], strict=True):
        cut = replace(last, bounds=ast.Bounds(low, high))
        yield (*prefix[:-1], cut), [each for length, each in lengths if length <= low]


def _with(
    tree: ast.Query, components: Components, conditions: Sequence[ast.Expression]
) -> ast.Query:
    """The query of these components in sequence, under these conditions."""
    return replace(
        tree,
        pattern=components[0] if len(components) == 1 else ast.Sequence(components),
        condition=ast.joined(ast.And, conditions) if conditions else None,
        strategy_variables=None,
        returns=None,
        output=None,
    )
