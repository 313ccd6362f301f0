"""Query to AnalysedQuery: all faults at once, or everything that planning needs."""

from __future__ import annotations

from cepheid.analysis.alternatives import Outline, outlines
from cepheid.analysis.kinds import check_kinds
from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.partitions import find_partition_keys
from cepheid.analysis.placement import place_clauses
from cepheid.analysis.scopes import check_scopes, variables_in
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
    faults = check_scopes(query) or check_kinds(query, schema)
    if faults:
        faults.sort(key=lambda fault: fault.span.start if fault.span else 0)
        raise QuerySemanticError(faults, text, source)
    conditions = conjuncts(query.condition)
    equivalences = tuple(test for test in conditions if isinstance(test, ast.Equivalence))
    others = [test for test in conditions if not isinstance(test, ast.Equivalence)]
    alternatives = tuple(
        _alternative(outline, others, equivalences) for outline in outlines(query.pattern)
    )
    return AnalysedQuery(query, alternatives, equivalences, schema)


def _alternative(
    outline: Outline,
    conditions: list[ast.Expression],
    equivalences: tuple[ast.Equivalence, ...],
) -> Alternative:
    positive = [ix for ix in range(len(outline.components)) if ix not in outline.negated]
    number = {place: ix for ix, place in enumerate(positive)}
    components = tuple(outline.components[place] for place in positive)
    declared = {component.variable for component in outline.components}
    negated = {outline.components[place].variable for place in outline.negated}
    # A condition on a variable that this alternative does not have is dropped.
    relevant = [test for test in conditions if variables_in(test) <= declared]
    clauses = tuple(
        clause
        for test in relevant
        if not variables_in(test) & negated
        for clause in place_clauses(test, components)
    )
    negations = tuple(
        NegatedComponent(
            outline.components[place],
            frozenset(number[i] for i, j in outline.before if j == place and i in number),
            frozenset(number[j] for i, j in outline.before if i == place and j in number),
            tuple(
                clause
                for test in relevant
                if outline.components[place].variable in variables_in(test)
                for clause in place_clauses(test, components)
            ),
        )
        for place in sorted(outline.negated)
    )
    before = frozenset(
        (number[i], number[j]) for i, j in outline.before if i in number and j in number
    )
    keys = find_partition_keys(components, equivalences, clauses)
    return Alternative(components, negations, before, clauses, keys)
