"""Query to AnalysedQuery: everything that planning needs, or all faults in one error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
from cepheid.analysis.rewriting.absent_attributes import AbsentAttributes
from cepheid.analysis.scopes import check_partition_positions, check_scopes
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
    if schema is not None:  # Otherwise events may have such a column.
        found = chain(found, check_partition_positions(query))
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


def without_absent_attributes(analysed: AnalysedQuery) -> AnalysedQuery | None:
    """The query with conditions that read only attributes which types have; None if it has them.

    Its alternatives may be of fewer types, and its tests in brackets may have become conditions.
    """
    query, schema = analysed.query, analysed.schema
    if schema is None or schema.types is None or analysed.is_rewritten:
        return None
    conditions = conjuncts(query.condition)
    others = [test for test in conditions if not isinstance(test, ast.Equivalence)]
    absent = AbsentAttributes.of(query, schema, others, analysed.equivalences)
    kept = tuple(test for test in analysed.equivalences if test not in absent.loose)
    alternatives = tuple(
        _alternative(outline, query, others, kept, schema, absent)
        for outline in absent.split(outlines(query.pattern))
    )
    if alternatives == analysed.alternatives:
        return None
    return replace(
        analysed,
        alternatives=alternatives,
        equivalences=kept,
        loose=absent.loose,
        is_rewritten=True,
    )


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
    absent: AbsentAttributes | None = None,
) -> Alternative:
    positive = [ix for ix in range(len(outline.components)) if ix not in outline.negated]
    number = {place: ix for ix, place in enumerate(positive)}
    components = tuple(replace(outline.components[place], without=()) for place in positive)
    parts = {component.variable: component for component in components}
    declared = {component.variable for component in outline.declared}
    negated = declared - parts.keys()
    # Under skip_till_next_match the time of a test decides which events a run selects; under the
    # other strategies it does not matter.
    greedy = query.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH
    if absent is not None:
        others = [part for part in outline.declared if part.variable in negated]
        conditions = [*conditions, *absent.conditions_of_tests(components, others)]
    # A condition on a variable that this alternative does not have is dropped.
    conditions = [each for each in conditions if variables_in(each) <= declared]

    def placed(conditions: Iterable[ast.Expression], *also: ast.Component) -> tuple[Clause, ...]:
        known = parts | {part.variable: part for part in also}
        return tuple(
            clause
            for condition in conditions
            for simple in (absent.without_absent(condition, known) if absent else [condition])
            for clause in place_clauses(simple, components, apart=not greedy)
        )

    def clauses_on(component: ast.Component) -> tuple[Clause, ...]:
        name = component.variable
        return placed((each for each in conditions if name in variables_in(each)), component)

    clauses = placed(each for each in conditions if not variables_in(each) & negated)
    windows = dict(outline.windows)
    negations = [
        NegatedComponent(
            outline.components[place],
            frozenset(number[i] for i, j in outline.before if j == place and i in number),
            frozenset(number[j] for i, j in outline.before if i == place and j in number),
            clauses_on(outline.components[place]),
            windows.get(place),
        )
        for place in sorted(outline.negated)
    ]
    for place, ix in number.items():
        for excluded in outline.components[place].without:
            inside = frozenset({ix})
            on_it = clauses_on(excluded)
            negations.append(NegatedComponent(excluded, inside, inside, on_it, is_inside=True))
    before = outline.before
    if outline.negated:
        before = frozenset((number[i], number[j]) for i, j in before if {i, j} <= number.keys())
    keys = find_partition_keys(components, equivalences, clauses, schema, at_every_event=greedy)
    return Alternative(components, tuple(negations), before, clauses, keys)
