"""Partition keys: attributes on which all events of every match agree.

They come from equivalence tests, and from equalities that connect all components, such as
``a.id = b.id AND b.id = c.id`` [Wu06 §4.2]. Events can be partitioned by a key before they are
matched. The matches never depend on it.

Three conditions look like a key but are not. A predicate is true if the type of the event does not
have its attribute, so an equality connects components only if all their types have the attribute.
An equality on ``b[i-1]`` does not apply to a list of one event. Under skip_till_next_match a run
takes the first event that fits: an equality that is tested later does not keep the events of other
partitions out of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cepheid.analysis.model import Clause, Edge, PartitionKey
from cepheid.language import syntax as ast
from cepheid.schema import Computed, Position, Schema

Term = tuple[int, str]
"""A component and one of its attributes."""


def find_partition_keys(
    components: Sequence[ast.Component],
    equivalences: Iterable[ast.Equivalence],
    clauses: Sequence[Clause],
    schema: Schema | None = None,
    *,
    at_every_event: bool = False,
) -> tuple[PartitionKey, ...]:
    """The keys of an alternative, those of equivalence tests first.

    Without a schema every type is assumed to have every attribute. With ``at_every_event``, a key
    must compare each event with the earlier ones as soon as it is selected.
    """
    finder = _Finder(components, clauses, schema)
    tests = [(test.attribute,) * len(components) for test in equivalences]
    keys = {
        attributes: PartitionKey(attributes, True)
        for attributes in tests
        if all(map(finder.has_attribute, enumerate(attributes)))
    }
    found = list(finder.connected())
    for attributes in finder.connected_at_every_event(found) if at_every_event else found:
        keys.setdefault(attributes, PartitionKey(attributes, False))
    return tuple(keys.values())


def find_equal_attributes(
    components: Sequence[ast.Component], clauses: Sequence[Clause], schema: Schema | None
) -> tuple[tuple[Term, ...], ...]:
    """Groups of attributes, at most one per component, that have one value in every match.

    A list is in a group if all its events have that value. A group of a single list means that its
    events agree with each other, as with ``b[i].x = b[i-1].x`` or ``b[i].x = b[1].x``.
    """
    finder = _Finder(components, clauses, schema)
    found, agreeing = [], finder.agreeing()
    for group in finder.equal():
        by_component = dict(sorted(group, reverse=True))
        terms = tuple(sorted(by_component.items()))
        if len(terms) > 1 or terms[0] in agreeing:
            found.append(terms)
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class _Equality:
    """An equality, the attributes that it makes the same in a list, and its two sides."""

    test: ast.Comparison
    clause: Clause
    uniform: tuple[Term, ...]
    sides: set[Term | None]

    def is_prompt(self, component_ix: int) -> bool:
        """Whether it is tested as soon as an event of a component up to this one is bound."""
        clause = self.clause
        return (
            clause.edge is not Edge.PROCEED
            and all(length == 1 for length in clause.least_lengths.values())
            and clause.component_ix is not None
            and clause.component_ix <= component_ix
        )


class _Groups:
    """Disjoint sets of attributes; the one that was merged last is the last."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._group_of = {term: {term} for term in terms}
        self._in_order = {id(group): group for group in self._group_of.values()}

    def merge(self, one: Term, other: Term) -> None:
        """Make one set of the sets of two attributes."""
        small, large = sorted(
            (self._group_of.setdefault(term, {term}) for term in (one, other)), key=len
        )
        for group in (small, large):
            self._in_order.pop(id(group), None)
        if small is not large:
            large |= small
            self._group_of.update(dict.fromkeys(small, large))
        self._in_order[id(large)] = large

    def all(self) -> list[set[Term]]:
        """The sets."""
        return list(self._in_order.values())


class _Finder:
    def __init__(
        self,
        components: Sequence[ast.Component],
        clauses: Iterable[Clause],
        schema: Schema | None,
    ) -> None:
        self._components = components
        self._places = {component.variable: ix for ix, component in enumerate(components)}
        self._schema = schema
        self._equalities = [
            _Equality(
                equality,
                clause,
                tuple(self._uniform(equality, clause)),
                {self._term(equality.left), self._term(equality.right)},
            )
            for equality, clause in self._find_equalities(clauses)
        ]

    def has_attribute(self, term: Term) -> bool:
        """Whether all types of the component have the attribute."""
        component_ix, attribute = term
        types = self._components[component_ix].types
        schema = self._schema
        return schema is None or all(schema.has_attribute(name, attribute) for name in types)

    def connected(self) -> Iterator[tuple[str, ...]]:
        """For each group with every component, one attribute per component."""
        for group in self.equal():
            # Of several attributes of a component, take the first by name.
            by_component = dict(sorted(group, reverse=True))
            if len(by_component) == len(self._components):
                yield tuple(by_component[ix] for ix in range(len(self._components)))

    def agreeing(self) -> set[Term]:
        """The attributes of lists on which the events agree because they are compared.

        Events that are equal to a constant agree too, but they are not compared with each other.
        """
        return {
            term
            for each in self._equalities
            if all(any(self._terms_in(side)) for side in (each.test.left, each.test.right))
            for term in each.uniform
        }

    def connected_at_every_event(self, keys: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The keys on which the events so far agree whenever one more is bound, in order."""
        for last_ix, component in enumerate(self._components):
            if last_ix == 0 and not component.is_kleene:
                continue
            if not keys:
                break
            group_of = {
                term: number
                for number, group in enumerate(self.equal(prompt_until=last_ix))
                for term in group
            }
            keys = [
                key
                for key in keys
                if len({group_of.get(term, term) for term in enumerate(key[: last_ix + 1])}) == 1
                and (0, key[0]) in group_of
            ]
        return keys

    def equal(self, prompt_until: int | None = None) -> list[set[Term]]:
        """Groups of attributes that the clauses make equal in every match.

        With ``prompt_until``, only by clauses that are tested as soon as an event of a component
        up to this one is bound.
        """
        equalities = [
            each
            for each in self._equalities
            if prompt_until is None or each.is_prompt(prompt_until)
        ]
        uniform = {term for each in equalities for term in each.uniform}
        groups = _Groups(sorted(uniform))
        for each in equalities:
            # A list is connected by x only if all its events have the same x.
            terms = [
                side
                for side in each.sides
                if side and (side in uniform or not self._components[side[0]].is_kleene)
            ]
            if len(terms) == 2 and _always_applies(each.clause) and self._same_kind(terms):
                groups.merge(*terms)
        return groups.all()

    def _find_equalities(
        self, clauses: Iterable[Clause]
    ) -> Iterator[tuple[ast.Comparison, Clause]]:
        """The clauses that are equalities of attributes that all types have."""
        for clause in clauses:
            match clause.literals:
                case (ast.Comparison("=", _, _) as equality,):
                    if all(map(self.has_attribute, self._terms_in(equality))):
                        yield equality, clause

    def _uniform(self, equality: ast.Comparison, clause: Clause) -> Iterator[Term]:
        """The attributes that the equality makes the same in all events of a Kleene variable.

        ``a[i].x = a[i-1].x`` does, and so does ``a[i].x = max(a[..i-1].x)``, because it begins with
        a[2].x = a[1].x, and ``a[i].x = …`` if the other side is the same for every i.
        ``b[i].from = b[i-1].to`` does not.
        """
        for side, other in ((equality.left, equality.right), (equality.right, equality.left)):
            match side:
                case ast.Element(variable, ast.Index.CURRENT, attribute):
                    is_fixed = _always_applies(clause) and not any(
                        isinstance(node, ast.Element)
                        and node.variable == variable
                        and node.index is ast.Index.CURRENT
                        for node in other.walk()
                    )
                    agrees = set(clause.ranges) == {variable} and _is_of_those_before(other, side)
                    if (agrees or is_fixed) and not isinstance(attribute, Computed | Position):
                        yield self._places[variable], attribute

    def _term(self, node: ast.Expression) -> Term | None:
        if isinstance(node, ast.Attribute | ast.Element) and not isinstance(
            node.attribute, Computed | Position
        ):
            return self._places[node.variable], node.attribute
        return None

    def _terms_in(self, expression: ast.Expression) -> Iterator[Term]:
        for node in expression.walk():
            if isinstance(node, ast.Attribute | ast.Element | ast.Aggregate) and node.attribute:
                yield self._places[node.variable], node.attribute

    def _same_kind(self, terms: Iterable[Term]) -> bool:
        """Whether equal values have the same representation, and so the same partition."""
        schema = self._schema
        return schema is None or len({schema.kind(attribute) for _, attribute in terms}) == 1


def _always_applies(clause: Clause) -> bool:
    """Whether the clause applies to every list, not only to those with two events or more."""
    return all(first == 1 for first in clause.ranges.values())


def _is_of_those_before(node: ast.Expression, current: ast.Element) -> bool:
    """Whether the value is that of the previous events, if they all have the same value.

    An average is not: rounding can change it.
    """
    match node:
        case ast.Element(variable, ast.Index.PREVIOUS, attribute) | ast.Aggregate(
            "first" | "last" | "min" | "max", variable, ast.Scope.PRIOR, attribute
        ):
            return (variable, attribute) == (current.variable, current.attribute)
    return False
