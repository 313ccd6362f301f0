"""Query to AnalysedQuery: everything that planning needs, or all faults in one error."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from cepheid.analysis.alternatives import Outline, outlines
from cepheid.analysis.kinds import check_kinds
from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.partitions import find_partition_keys
from cepheid.analysis.patterns import check_pattern
from cepheid.analysis.placement import place_clauses
from cepheid.analysis.scopes import check_scopes
from cepheid.errors import DEFAULT_SOURCE, QuerySemanticError
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions
from cepheid.language.naming import variables_in
from cepheid.language.parser import MAX_FAULTS
from cepheid.schema import Position, Schema


def analyse(
    query: ast.Query,
    schema: Schema | None = None,
    text: str | None = None,
    source: str = DEFAULT_SOURCE,
) -> AnalysedQuery:
    """Analyse a query: resolve its names, and place its tests.

    ``text`` is the text of the query, to show faults in it. Without a schema, checks that depend on
    the events are skipped.

    >>> from cepheid.language.parser import parse
    >>> analysed = analyse(parse("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x"))
    >>> [clause.component_ix for clause in analysed.alternatives[0].clauses]
    [1]
    """
    if schema is not None and reads_positions(query):
        query = ast.rewrite(query, partial(_without_position, schema.attributes))
    ways = outlines(query.pattern)
    found = chain(check_pattern(query, ways), check_scopes(query), check_kinds(query, schema))
    faults = list(islice(found, MAX_FAULTS))
    if faults:
        raise QuerySemanticError(faults, text, source)
    conditions = conjuncts(query.condition)
    equivalences = tuple(test for test in conditions if isinstance(test, ast.Equivalence))
    others = [test for test in conditions if not isinstance(test, ast.Equivalence)]
    alternatives = tuple(
        _alternative(outline, query, others, equivalences, schema) for outline in ways
    )
    return AnalysedQuery(query, alternatives, equivalences, schema)


def _without_position(columns: Collection[str], node: ast.Node) -> ast.Node:
    """The node, with the name of a column that wins over a position."""
    attribute = getattr(node, "attribute", None)
    if not isinstance(attribute, Position) or attribute not in columns:
        return node
    return replace(node, attribute=str(attribute))  # type: ignore[call-arg]


def _alternative(
    outline: Outline,
    query: ast.Query,
    conditions: Sequence[ast.Expression],
    equivalences: tuple[ast.Equivalence, ...],
    schema: Schema | None,
) -> Alternative:
    positive = [ix for ix in range(len(outline.components)) if ix not in outline.negated]
    number = {place: ix for ix, place in enumerate(positive)}
    components = tuple(replace(outline.components[place], without=()) for place in positive)
    declared = {component.variable for component in outline.declared}
    negated = declared - {component.variable for component in components}
    # Under skip_till_next_match the time of a test decides which events a run selects; under the
    # other strategies it does not matter.
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
    windows = dict(outline.windows)
    negations = [
        NegatedComponent(
            outline.components[place],
            frozenset(number[i] for i, j in outline.before if j == place and i in number),
            frozenset(number[j] for i, j in outline.before if i == place and j in number),
            tuple(clauses_on[outline.components[place].variable]),
            windows.get(place),
        )
        for place in sorted(outline.negated)
    ]
    for place, ix in number.items():
        for excluded in outline.components[place].without:
            inside = frozenset({ix})
            on_it = tuple(clauses_on[excluded.variable])
            negations.append(NegatedComponent(excluded, inside, inside, on_it, is_inside=True))
    before = outline.before
    if outline.negated:
        before = frozenset((number[i], number[j]) for i, j in before if {i, j} <= number.keys())
    keys = find_partition_keys(components, equivalences, clauses, schema, at_every_event=greedy)
    return Alternative(components, tuple(negations), before, tuple(clauses), keys)
