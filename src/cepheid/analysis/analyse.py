"""Query to AnalysedQuery: all faults at once, or everything that planning needs."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.analysis.alternatives import Outline, outlines
from cepheid.analysis.kinds import check_kinds
from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.analysis.names import variables_in
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.partitions import find_partition_keys
from cepheid.analysis.patterns import check_pattern
from cepheid.analysis.placement import place_clauses
from cepheid.analysis.scopes import check_scopes
from cepheid.errors import DEFAULT_SOURCE, QuerySemanticError
from cepheid.language import syntax as ast
from cepheid.schema import Schema


def analyse(
    query: ast.Query,
    schema: Schema | None = None,
    text: str | None = None,
    source: str = DEFAULT_SOURCE,
) -> AnalysedQuery:
    """The query with its names, places and tests settled.

    ``text`` is what the query was parsed from, for showing faults. Without a schema, what
    depends on the events is left unchecked.

    >>> from cepheid.language.parser import parse
    >>> analysed = analyse(parse("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x"))
    >>> [clause.component_ix for clause in analysed.alternatives[0].clauses]
    [1]
    """
    faults = (*check_pattern(query), *check_scopes(query), *check_kinds(query, schema))
    if faults:
        # In a query that was not parsed, which has no places, the same fault may come twice.
        unique = dict.fromkeys(faults)
        in_order = sorted(unique, key=lambda fault: fault.span.start if fault.span else 0)
        raise QuerySemanticError(in_order, text, source)
    conditions = conjuncts(query.condition)
    equivalences = tuple(test for test in conditions if isinstance(test, ast.Equivalence))
    others = [test for test in conditions if not isinstance(test, ast.Equivalence)]
    alternatives = tuple(
        _alternative(outline, query, others, equivalences, schema)
        for outline in outlines(query.pattern)
    )
    return AnalysedQuery(query, alternatives, equivalences, schema)


def _alternative(
    outline: Outline,
    query: ast.Query,
    conditions: Sequence[ast.Expression],
    equivalences: tuple[ast.Equivalence, ...],
    schema: Schema | None,
) -> Alternative:
    positive = [ix for ix in range(len(outline.components)) if ix not in outline.negated]
    number = {place: ix for ix, place in enumerate(positive)}
    components = tuple(outline.components[place] for place in positive)
    declared = {component.variable for component in outline.components}
    negated = {outline.components[place].variable for place in outline.negated}
    # Elsewhere it does not matter when a condition is tested, but under skip_till_next_match
    # that decides what a run selects.
    greedy = query.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH
    clauses: list[Clause] = []
    clauses_on: dict[str, list[Clause]] = {variable: [] for variable in negated}
    for condition in conditions:
        named = variables_in(condition)
        # A condition on a variable that this alternative does not have is dropped.
        if named <= declared:
            placed = place_clauses(condition, components, apart=not greedy)
            for variable in named & negated:
                clauses_on[variable] += placed
            if not named & negated:
                clauses += placed
    negations = tuple(
        NegatedComponent(
            outline.components[place],
            frozenset(number[i] for i, j in outline.before if j == place and i in number),
            frozenset(number[j] for i, j in outline.before if i == place and j in number),
            tuple(clauses_on[outline.components[place].variable]),
        )
        for place in sorted(outline.negated)
    )
    before = frozenset(
        (number[i], number[j]) for i, j in outline.before if i in number and j in number
    )
    keys = find_partition_keys(components, equivalences, clauses, schema, at_every_event=greedy)
    return Alternative(components, negations, before, tuple(clauses), keys)
