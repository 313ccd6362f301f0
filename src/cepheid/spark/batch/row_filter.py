"""The rows that can be part of a match, as a condition that Catalyst evaluates.

Under the skip strategies, an event that fits no component does not matter, and sending it to Python
costs a hundred times as much as dropping it. So the types of the components and the conditions on a
single event become a filter. The filter may keep rows that do not matter, but never drops one that
does. A condition is translated only if Spark computes exactly what the language means, including
nulls and NaN. Otherwise it is left to the evaluation.

No row is dropped if rows are counted: contiguity and windows of events depend on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge
from cepheid.analysis.needs import relevant_types
from cepheid.codegen.compiler import is_on_each_event
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema
from cepheid.spark.batch.frames import column

_EXACT_FLOAT = 2**53
"""Integers below this convert to floats without loss."""
_MOST_TESTS = 64
"""If queries have more tests of a type, all its rows are kept: Spark would compile them slowly."""
_LITERAL_KINDS = {
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
    bool: Kind.BOOLEAN,
    type(None): Kind.UNKNOWN,
}
_OPERATORS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_COMPARED_KINDS = (Kind.INTEGER, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN)


def relevant_rows(
    queries: Sequence[AnalysedQuery], *, time: str, type: str, plain: Sequence[str]
) -> Column | None:
    """The rows that some component of some query can bind; None if all rows matter.

    ``plain`` are the columns that Spark compares as the language does. Rows without a time or a
    type are kept, so that they are refused as in a local run.
    """
    by_type: dict[str, dict[str, Column]] = {}
    free: set[str] = set()
    for query in queries:
        if relevant_types(query) is None or query.schema is None:
            return None
        translation = _Translation(query.schema, frozenset(plain))
        for component, clauses in _components(query):
            for name in component.types:
                tests = [
                    *translation.of_clauses(name, clauses),
                    *translation.of_equivalences(name, query.equivalences),
                ]
                if tests:
                    test = reduce(and_, tests)
                    by_type.setdefault(name, {})[str(test)] = test
                else:
                    free.add(name)
    free |= {name for name, some in by_type.items() if len(some) > _MOST_TESTS}
    fits: list[Column] = []
    if free:
        fits.append(column(type).cast("string").isin(*sorted(free)))
    for name, some in by_type.items():
        if name not in free:
            fits.append((column(type).cast("string") == F.lit(name)) & reduce(or_, some.values()))
    return reduce(or_, fits) | column(type).isNull() | column(time).isNull()


def rows_of_components(
    query: AnalysedQuery, *, type: str, plain: Sequence[str]
) -> list[list[tuple[ast.Component, Column]]]:
    """For each alternative its positive components, and a condition that their events satisfy."""
    assert query.schema is not None
    translation = _Translation(query.schema, frozenset(plain))

    def rows(component: ast.Component, clauses: Sequence[Clause]) -> Column:
        return reduce(
            or_,
            (
                reduce(
                    and_,
                    [
                        *translation.of_clauses(name, clauses),
                        *translation.of_equivalences(name, query.equivalences),
                    ],
                    column(type).cast("string") == F.lit(name),
                )
                for name in component.types
            ),
        )

    return [
        [(component, rows(component, clauses)) for component, clauses in _positive(alternative)]
        for alternative in query.alternatives
    ]


def _components(query: AnalysedQuery) -> Iterator[tuple[ast.Component, list[Clause]]]:
    """Every component, and the clauses that each of its events must satisfy individually."""
    for alternative in query.alternatives:
        yield from _positive(alternative)
        for negated in alternative.negations:
            yield negated.component, _on_each_event(negated.component, negated.clauses)


def _positive(alternative: Alternative) -> Iterator[tuple[ast.Component, list[Clause]]]:
    # Under skip_till_next_match, a run takes an event even if a condition that is tested later
    # will fail. Only conditions tested immediately can drop it.
    now = [clause for clause in alternative.clauses if clause.edge is not Edge.PROCEED]
    for ix, component in enumerate(alternative.components):
        here = [clause for clause in now if clause.component_ix == ix]
        yield component, _on_each_event(component, here)


def _on_each_event(component: ast.Component, clauses: Iterable[Clause]) -> list[Clause]:
    return [
        each
        for each in clauses
        if each.variables == {component.variable} and is_on_each_event(each, component)
    ]


class _Untranslated(Exception):
    """Spark might compute something else."""


class _Translation:
    """Conditions on one event as Spark columns that are true, false or null like the condition."""

    def __init__(self, schema: Schema, plain: frozenset[str]) -> None:
        self._schema = schema
        self._plain = plain

    def of_clauses(self, type_name: str, clauses: Sequence[Clause]) -> Iterator[Column]:
        """The clauses that can be translated, for events of a type."""
        for clause in clauses:
            lacking = any(
                not self._schema.has_attribute(type_name, node.attribute)
                for literal in clause.literals
                for node in literal.walk()
                if isinstance(node, ast.Attribute | ast.Element)
            )
            if lacking:  # A predicate on a missing attribute is true.
                continue
            try:
                yield self._truth(clause.expression)
            except _Untranslated:
                continue

    def of_equivalences(self, type_name: str, tests: Sequence[ast.Equivalence]) -> Iterator[Column]:
        """The condition that an equivalence test puts on each event: non-null, or a given value."""
        for test in tests:
            if not self._schema.has_attribute(type_name, test.attribute):
                continue
            if test.attribute not in self._plain:
                continue
            here = ast.Attribute("", test.attribute)
            if test.value is None:
                yield self._value(here).isNotNull()
                continue
            try:
                yield self._truth(ast.Comparison("=", here, test.value))
            except _Untranslated:
                yield self._value(here).isNotNull()

    def _truth(self, node: ast.Expression) -> Column:
        match node:
            case ast.And(operands):
                return reduce(and_, map(self._truth, operands))
            case ast.Or(operands):
                return reduce(or_, map(self._truth, operands))
            case ast.Not(operand):
                return ~self._truth(operand)
            case ast.Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case ast.In(operand, options):
                return reduce(or_, [self._comparison("=", operand, each) for each in options])
            case ast.Between(operand, low, high):
                above = self._comparison(">=", operand, low)
                return above & self._comparison("<=", operand, high)
            case ast.IsNull(operand):
                return self._value(operand).isNull()
            case ast.Like(operand, pattern) if "\\" not in pattern:
                if self._kind(operand) is Kind.STRING:
                    return self._value(operand).like(pattern)
            case ast.Attribute() | ast.Element() if self._kind(node) is Kind.BOOLEAN:
                return self._value(node)
        raise _Untranslated

    def _comparison(self, operator: str, left: ast.Expression, right: ast.Expression) -> Column:
        self._check_comparable(left, right)
        compared: Column = _OPERATORS[operator](self._value(left), self._value(right))
        return compared

    def _check_comparable(self, left: ast.Expression, right: ast.Expression) -> None:
        """Refuse operands that Spark might round or convert before it compares them."""
        kinds = {self._kind(left), self._kind(right)}
        if not kinds <= {*_COMPARED_KINDS}:
            raise _Untranslated
        if len(kinds) == 1:
            return
        literals = [side.value for side in (left, right) if isinstance(side, ast.Literal)]
        small = any(
            isinstance(value, int | float) and abs(value) < _EXACT_FLOAT for value in literals
        )
        if kinds != {Kind.INTEGER, Kind.FLOAT} or not small:
            raise _Untranslated

    def _kind(self, node: ast.Expression) -> Kind:
        match node:
            case ast.Literal(value):
                return _LITERAL_KINDS[type(value)]
            case ast.Attribute(_, attribute) | ast.Element(_, _, attribute):
                if attribute in self._plain:
                    return self._schema.kind(attribute)
        raise _Untranslated

    def _value(self, node: ast.Expression) -> Column:
        match node:
            case ast.Literal(value):
                return F.lit(value)
            case ast.Attribute(_, attribute) | ast.Element(_, _, attribute):
                if attribute not in self._plain:
                    raise _Untranslated
                found = column(attribute)
                if self._schema.kind(attribute) is Kind.FLOAT:
                    return F.when(~F.isnan(found), found)  # In the language, NaN is null.
                return found
        raise _Untranslated
