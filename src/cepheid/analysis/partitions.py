"""Partition keys: attributes on which all events of every match agree.

They come from equivalence tests, and from equalities that connect every component, such as
``a.id = b.id AND b.id = c.id`` [Wu06 §4.2]. A key lets events be split by its value before
they are matched; what the answer is never depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.analysis.model import Clause, PartitionKey
from cepheid.language import syntax as ast

Term = tuple[int, str]
"""A component and one of its attributes."""


def find_partition_keys(
    components: tuple[ast.Component, ...],
    equivalences: Iterable[ast.Equivalence],
    clauses: Iterable[Clause],
) -> tuple[PartitionKey, ...]:
    """The keys of an alternative, those of equivalence tests first."""
    keys = [PartitionKey((test.attribute,) * len(components), True) for test in equivalences]
    places = {component.variable: ix for ix, component in enumerate(components)}
    equalities = [
        literal
        for clause in clauses
        for literal in clause.literals
        if len(clause.literals) == 1
        and isinstance(literal, ast.Comparison)
        and literal.operator == "="
    ]
    uniform = {term for equality in equalities for term in _uniform(equality, places)}
    groups: list[set[Term]] = []
    for equality in equalities:
        sides = {_term(equality.left, places), _term(equality.right, places)}
        terms = {
            term for term in sides if term and (not components[term[0]].is_kleene or term in uniform)
        }
        if len(terms) == 2 and len({ix for ix, _ in terms}) == 2:
            _merge(groups, terms)
    for group in groups:
        by_component = dict(sorted(group, reverse=True))
        if len(by_component) == len(components):
            attributes = tuple(by_component[ix] for ix in range(len(components)))
            if all(key.attributes != attributes for key in keys):
                keys.append(PartitionKey(attributes, False))
    return tuple(keys)


def _uniform(equality: ast.Comparison, places: dict[str, int]) -> Iterator[Term]:
    """The attributes of Kleene variables that the equality makes the same in all elements."""
    for side, other in ((equality.left, equality.right), (equality.right, equality.left)):
        if isinstance(side, ast.Element) and side.index is ast.Index.CURRENT:
            term, other_term = _term(side, places), _term(other, places)
            if term is None or other_term is None:
                continue
            # a[i].x = b.x, or a[i].x = a[i-1].x: one value throughout the list.
            if other_term[0] != term[0] or (other_term == term and other != side):
                yield term


def _merge(groups: list[set[Term]], terms: set[Term]) -> None:
    merged = set(terms)
    for group in [group for group in groups if group & merged]:
        merged |= group
        groups.remove(group)
    groups.append(merged)


def _term(node: ast.Expression, places: dict[str, int]) -> Term | None:
    if isinstance(node, ast.Attribute | ast.Element) and node.variable in places:
        return places[node.variable], node.attribute
    return None
