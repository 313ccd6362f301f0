"""Links: attributes that are equal in every match, by which events are looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.analysis.partitions import find_equal_attributes
from cepheid.engines.lazy.sharing import SharedAlternatives
from cepheid.engines.lazy.tables import Link
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

Term = tuple[int, str]
"""A component, by its index, and one of its attributes."""


@dataclass(frozen=True, slots=True)
class LinkFinder:
    """Finds the links of an alternative, or of several alternatives that are evaluated together.

    ``early`` has the negations that are tested on partial matches; their events are looked up too.
    """

    query: AnalysedQuery
    schema: Schema
    alternative: Alternative
    shared: SharedAlternatives | None
    early: Sequence[NegatedComponent]

    def links(self, partitions: tuple[str, ...]) -> tuple[Link, ...]:
        """The links beside the attributes that events are partitioned by.

        Where the window counts the events of a partition there are no links: a group of a
        partition without new events would never be dropped.
        """
        window = self.query.query.window
        if window and window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            return ()
        count = len(self.alternative.components)
        everywhere = [tuple((ix, name) for ix in range(count)) for name in partitions]
        groups = [
            list(terms)
            for terms in self._equal_attributes()
            if terms not in everywhere
            and all(self.schema.kind(name) is not Kind.LIST for _, name in terms)
        ]
        for number, negated in enumerate(self.early, start=count):
            for own, other in self._equal_to_negated(negated, partitions):
                group = next((each for each in groups if other in each), None)
                if group is None:
                    group = [other]
                    groups.append(group)
                group.append((number, own))
                break
        return tuple(Link(tuple(group)) for group in groups)

    def _equal_attributes(self) -> list[tuple[Term, ...]]:
        """Groups of attributes that are equal in every match of every alternative.

        Two attributes may be equal in one alternative because of a component that another lacks;
        such a group is left out.
        """
        components = self.alternative.components
        if self.shared is None:
            return list(find_equal_attributes(components, self.alternative.clauses, self.schema))
        found = []
        for number, places in zip(self.shared.numbers, self.shared.places, strict=True):
            own = self.query.alternatives[number]
            groups = find_equal_attributes(own.components, own.clauses, self.schema)
            named = [tuple((places[ix], name) for ix, name in terms) for terms in groups]
            found.append((set(places), named))
        return [
            terms
            for terms in dict.fromkeys(terms for _, groups in found for terms in groups)
            if all(
                (len(common) < 2 and not any(components[ix].is_kleene for ix, _ in common))
                or any(common <= set(group) for group in groups)
                for members, groups in found
                for common in [{term for term in terms if term[0] in members}]
            )
        ]

    def _equal_to_negated(
        self, negated: NegatedComponent, partitions: tuple[str, ...]
    ) -> Iterator[tuple[str, Term]]:
        """Attributes of the negated component, each with the equal one of a single component."""
        own = negated.component
        components = self.alternative.components
        indices = {part.variable: ix for ix, part in enumerate(components)}
        for clause in negated.clauses:
            match clause.literals:
                case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                    pass
                case _:
                    continue
            for mine, other in ((left, right), (right, left)):
                ix = indices.get(other.variable)
                if mine.variable != own.variable or ix is None:
                    continue
                kinds = {self.schema.kind(mine.attribute), self.schema.kind(other.attribute)}
                if (
                    len(kinds) == 1
                    and Kind.LIST not in kinds
                    and not mine.attribute == other.attribute in partitions
                    and not components[ix].is_kleene
                    and has_attributes(self.schema, own, (mine,))
                    and has_attributes(self.schema, components[ix], (other,))
                ):
                    yield mine.attribute, (ix, other.attribute)


def has_attributes(
    schema: Schema, component: ast.Component, literals: Sequence[ast.Expression]
) -> bool:
    """Whether every type of the component has all attributes that are named."""
    return all(
        schema.has_attribute(name, attribute)
        for literal in literals
        for node in literal.walk()
        if (attribute := getattr(node, "attribute", None)) is not None
        for name in component.types
    )
