"""Conditions on attributes that the type of an event does not have.

Such a predicate is true. Engines read the attributes of a component without asking for its type,
so that a component of several types is split if only some of them have an attribute that is
compared with other events, and predicates on an attribute that all its types lack are dropped. An
equivalence test with such an attribute partitions no events: conditions replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from cepheid.analysis.alternatives import Outline
from cepheid.analysis.normal_form import push_not
from cepheid.analysis.placement import indices_in
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.schema import Schema

_MOST_SPLITS = 16
"""A pattern is not split into more alternatives than this, times as many as it has."""


@dataclass(frozen=True, slots=True)
class AbsentAttributes:
    """What a schema says about the conditions and equivalence tests of a query."""

    query: ast.Query
    schema: Schema
    conditions: Sequence[ast.Expression]
    loose: tuple[ast.Equivalence, ...]

    @classmethod
    def of(
        cls,
        query: ast.Query,
        schema: Schema,
        conditions: Sequence[ast.Expression],
        tests: Sequence[ast.Equivalence],
    ) -> AbsentAttributes:
        """The tests of the query that cannot partition its events are ``loose``."""
        by_partition = query.strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY
        by_partition |= query.measure is ast.WindowMeasure.EVENTS_PER_PARTITION
        parts = [part for part, _ in ast.components(query.pattern)]
        parts += [each for part in parts for each in part.without]
        loose = []
        for test in () if by_partition else tests:
            has = [_having(part, test.attribute, schema) for part in parts]
            is_mixed = any(
                part.is_kleene and len(some) not in (0, len(part.types))
                for part, some in zip(parts, has, strict=True)
            )
            if not is_mixed and sum(map(len, has)) < sum(len(part.types) for part in parts):
                loose.append(test)
        return cls(query, schema, conditions, tuple(loose))

    # --- components of several types

    def split(self, ways: Sequence[Outline]) -> list[Outline]:
        """The alternatives, each with components whose types have the same attributes."""
        return [part for way in ways for part in self._split(way)]

    def _split(self, way: Outline) -> Iterator[Outline]:
        groups = [self._groups(part) for part in way.components]
        count = prod(len(each) for ix, each in enumerate(groups) if ix not in way.negated)
        if count > _MOST_SPLITS or all(len(each) == 1 for each in groups):
            yield way
            return
        # A negated component is split into several of the same name, in the same place.
        for ix in sorted(way.negated, reverse=True):
            for part in groups[ix][1:]:
                way = _with_copy(way, ix, part)
                groups.append([part])
            groups[ix] = groups[ix][:1]
        for components in product(*groups):
            yield replace(way, components=components)

    def _groups(self, part: ast.Component) -> list[ast.Component]:
        """The component for each group of types that have the same attributes."""
        if part.is_kleene:
            return [part]
        names = [test.attribute for test in self.loose]
        for condition in self.conditions:
            if len(variables_in(condition)) > 1:
                named = (node for node in _named(condition) if node.variable == part.variable)
                names += [node.attribute for node in named if node.attribute is not None]
        groups: dict[tuple[bool, ...], list[str]] = {}
        for name in part.types:
            has = tuple(self.schema.has_attribute(name, attribute) for attribute in names)
            groups.setdefault(has, []).append(name)
        return [replace(part, types=tuple(types)) for types in groups.values()]

    # --- conditions

    def without_absent(
        self, condition: ast.Expression, parts: Mapping[str, ast.Component]
    ) -> list[ast.Expression]:
        """Conditions that mean the same, without predicates on attributes that types lack.

        ``parts`` has the component of each variable.
        """
        if len(variables_in(condition)) == 1 and not any(part.is_kleene for part in parts.values()):
            return [condition]
        simple = self._simplified(push_not(condition), parts)
        if simple == condition or simple == push_not(condition):
            return [condition]
        before = indices_in([condition])
        if simple is not None:
            # Under skip_till_next_match the time of a test decides what a run selects.
            greedy = self.query.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH
            if greedy or indices_in([simple]).may_be_empty != before.may_be_empty:
                return [condition]
        lengths = [
            ast.Comparison(">=", ast.Length(name), ast.Literal(least))
            for name, least in before.least_lengths.items()
            if least > 1
        ]
        return [*lengths, *([] if simple is None else [simple])]

    def _simplified(
        self, node: ast.Expression, parts: Mapping[str, ast.Component]
    ) -> ast.Expression | None:
        """The condition, or None if it is true for all events of these types."""
        if not isinstance(node, ast.And | ast.Or):
            return None if self._is_true(node, parts) else node
        operands = [self._simplified(each, parts) for each in node.operands]
        known = [each for each in operands if each is not None]
        if not known or (isinstance(node, ast.Or) and len(known) < len(operands)):
            return None
        return ast.joined(type(node), known, node.span)

    def _is_true(self, literal: ast.Expression, parts: Mapping[str, ast.Component]) -> bool:
        if any(isinstance(node, ast.Case) for node in literal.walk()):
            return False
        return any(
            node.variable in parts and not self._having(parts[node.variable], node.attribute)
            for node in _named(literal)
        )

    def _having(self, part: ast.Component, attribute: str | None) -> list[str]:
        return _having(part, attribute, self.schema)

    # --- equivalence tests

    def conditions_of_tests(
        self, positive: Sequence[ast.Component], negated: Iterable[ast.Component]
    ) -> Iterator[ast.Expression]:
        """The conditions of one alternative that replace the loose tests."""
        for test in self.loose:
            holders = [part for part in positive if self._having(part, test.attribute)]
            others = {part.variable: part for part in negated if self._having(part, test.attribute)}
            value: ast.Expression | None = test.value
            for part in (*holders, *others.values()):
                index = ast.Index.CURRENT if part.is_kleene else None
                here = _value(part, test.attribute, index)
                if value is not None:
                    yield ast.Comparison("=", here, value)
                    continue
                if not holders:
                    yield ast.Not(ast.IsNull(here))
                    continue
                value = _value(part, test.attribute, 1 if part.is_kleene else None)
                # A null is not equal to itself.
                yield ast.Comparison("=", here, value)


def _with_copy(way: Outline, ix: int, part: ast.Component) -> Outline:
    """The outline with another component at the place of a negated one."""
    new = len(way.components)
    before = {(new, j) for i, j in way.before if i == ix} | {
        (i, new) for i, j in way.before if j == ix
    }
    windows = {(new, window) for i, window in way.windows if i == ix}
    return Outline(
        (*way.components, part), way.negated | {new}, way.before | before, way.windows | windows
    )


def _having(part: ast.Component, attribute: str | None, schema: Schema) -> list[str]:
    """The types of a component that have an attribute, if there is one."""
    return [
        name for name in part.types if attribute is None or schema.has_attribute(name, attribute)
    ]


def _value(part: ast.Component, attribute: str, index: int | ast.Index | None) -> ast.Expression:
    if index is None:
        return ast.Attribute(part.variable, attribute)
    return ast.Element(part.variable, index, attribute)


def _named(expression: ast.Expression) -> list[ast.Attribute | ast.Element | ast.Aggregate]:
    """The values in an expression that an event must have; an aggregate skips events without it."""
    return [
        node
        for node in expression.walk()
        if isinstance(node, ast.Attribute | ast.Element)
        or (isinstance(node, ast.Aggregate) and node.function in ("first", "last"))
    ]
