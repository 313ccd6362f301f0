"""Finds alternatives of a query that have components in common and can be evaluated together.

A pattern with OR or star inside becomes several alternatives, which differ in some components
and agree in the others. The common part is matched only once [Kolchinsky17 §5]: components of
the same types with the same conditions and the same order. Their names may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, PartitionKey
from cepheid.analysis.partitions import Term, find_equal_attributes
from cepheid.codegen.compiler import compiled_once
from cepheid.engines.base.options import BY_COST
from cepheid.engines.lazy.placement import (
    LazyPlacement,
    Orders,
    is_tested_early,
    place_components,
    place_lazily,
)
from cepheid.language import syntax as ast

_MOST_COMPONENTS = 24
_MOST_ALTERNATIVES = 32


@dataclass(frozen=True, slots=True)
class SharedAlternatives:
    """Alternatives of a query that are evaluated together, by their numbers.

    ``union`` has the positive components and conditions of all of them, under the names of the
    first one that has them. ``places`` has, for each alternative, the indices of its components
    in the union.
    """

    numbers: tuple[int, ...]
    union: Alternative
    places: tuple[tuple[int, ...], ...]


@compiled_once
def shared_alternatives(
    query: AnalysedQuery, negation: str = BY_COST
) -> tuple[SharedAlternatives, ...]:
    """The groups of alternatives that have components in common.

    An alternative with a negation that is tested early is in no group: it makes fewer partial
    matches than the others. ``negation`` is the option.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 9"), None)
    >>> [group.numbers for group in shared_alternatives(query)]
    [(0, 1)]
    """
    groups: list[_Group] = []
    for number, alternative in enumerate(query.alternatives):
        if any(is_tested_early(alternative, each, negation) for each in alternative.negations):
            continue
        if any(not clause.variables for clause in alternative.clauses):
            continue
        for group in groups:
            if group.takes(number, alternative):
                break
        else:
            groups.append(_Group([number], [alternative]))
    return tuple(_union(query, group) for group in groups if len(group.numbers) > 1)


def sharing_lines(query: AnalysedQuery, negation: str = BY_COST) -> Iterator[str]:
    """Describe what is evaluated once.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 9"), None)
    >>> list(sharing_lines(query))
    ['alternatives 1, 2 are evaluated together: a, d in both']
    >>> query = analyse(parse("PATTERN OR(SEQ(A a, B b), SEQ(A c, B d, C e)) WITHIN 9"), None)
    >>> list(sharing_lines(query))
    ['alternatives 1, 2 are evaluated together: a = c, b = d in both']
    """
    for group in shared_alternatives(query, negation):
        called: dict[int, list[str]] = {}
        for number, places in zip(group.numbers, group.places, strict=True):
            for part, ix in zip(query.alternatives[number].components, places, strict=True):
                called.setdefault(ix, []).append(part.variable)
        every = len(group.numbers)
        names = [" = ".join(dict.fromkeys(called[ix])) for ix in sorted(called)]
        counts = [len(called[ix]) for ix in sorted(called)]
        in_all = [name for name, count in zip(names, counts, strict=True) if count == every]
        in_some = [name for name, count in zip(names, counts, strict=True) if 1 < count < every]
        numbers = ", ".join(str(number + 1) for number in group.numbers)
        parts = [f"{', '.join(in_all)} in {'both' if every == 2 else 'all'}"] if in_all else []
        parts += [f"{', '.join(in_some)} in several"] if in_some else []
        yield f"alternatives {numbers} are evaluated together: {'; '.join(parts)}"


def place_shared(query: AnalysedQuery, shared: SharedAlternatives) -> LazyPlacement:
    """Several alternatives; a component that they share is one component."""
    return place_components(query, shared.union, shared.places, (), _equal_in_all(query, shared))


def chain_orders(
    query: AnalysedQuery, statistics: Mapping[str, float], negation: str = BY_COST
) -> Orders:
    """The order in which lazy_chain binds the components of each alternative of a query."""
    found: dict[int, tuple[int, ...]] = {}
    for group in shared_alternatives(query, negation):
        orders = place_shared(query, group).given_orders(statistics)
        for number, places, order in zip(group.numbers, group.places, orders, strict=True):
            found[number] = tuple(places.index(ix) for ix in order)
    for number, alternative in enumerate(query.alternatives):
        if number not in found:
            (found[number],) = place_lazily(query, alternative).given_orders(statistics)
    return tuple(found[number] for number in range(len(query.alternatives)))


def _equal_in_all(query: AnalysedQuery, shared: SharedAlternatives) -> list[tuple[Term, ...]]:
    """Groups of attributes that are equal in every match of every alternative.

    Two attributes may be equal in one alternative because of a component that another lacks; such
    a group is left out.
    """
    found = []
    for number, places in zip(shared.numbers, shared.places, strict=True):
        own = query.alternatives[number]
        groups = find_equal_attributes(own.components, own.clauses, query.schema)
        named = [tuple((places[ix], name) for ix, name in terms) for terms in groups]
        found.append((set(places), named))
    parts = shared.union.components
    return [
        terms
        for terms in dict.fromkeys(terms for _, groups in found for terms in groups)
        if all(
            (len(common) < 2 and not any(parts[ix].is_kleene for ix, _ in common))
            or any(common <= set(group) for group in groups)
            for members, groups in found
            for common in [{term for term in terms if term[0] in members}]
        )
    ]


@dataclass(slots=True)
class _Group:
    """Alternatives with components in common, renamed so that these have the same names.

    Any two members have the same conditions on their common components, and the same order
    between them. So the union adds no condition to a member.
    """

    numbers: list[int]
    members: list[Alternative]
    components: dict[str, ast.Component] = field(init=False)
    _lengths: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.components, self._lengths = {}, {}
        for each in self.members:
            self._add(each)

    def takes(self, number: int, alternative: Alternative) -> bool:
        """Add the alternative if it has components in common with the members; whether it was."""
        names = self._common(alternative)
        fresh = {part.variable for part in alternative.components} - names.keys()
        if (
            not names
            # Its other components must not have a name that the group uses for something else.
            or fresh & (self.components.keys() | set(names.values()))
            or len(self.components) + len(fresh) > _MOST_COMPONENTS
            or len(self.members) == _MOST_ALTERNATIVES
        ):
            return False
        taken = _renamed(alternative, names)
        self.numbers.append(number)
        self.members.append(taken)
        self._add(taken)
        return True

    def _add(self, member: Alternative) -> None:
        for part in member.components:
            self.components[part.variable] = part
            self._lengths[part.variable] = _least_length(member, part.variable)

    def _common(self, alternative: Alternative) -> dict[str, str]:
        """For components of the alternative that are the same as one of the group: its name.

        Components with the same name are tried first; they are one component of the pattern.
        """
        names: dict[str, str] = {}
        parts = alternative.components
        same = [part for part in parts if part.variable in self.components]
        for part in (*same, *(part for part in parts if part not in same)):
            for name in (part.variable, *self.components):
                other = self.components.get(name)
                if (
                    other is not None
                    and (other.types, other.bounds) == (part.types, part.bounds)
                    and self._lengths[name] == _least_length(alternative, part.variable)
                    and name not in names.values()
                    and self._agrees(
                        _renamed(alternative, names | {part.variable: name}, only=True)
                    )
                ):
                    names[part.variable] = name
                    break
        return names

    def _agrees(self, part: Alternative) -> bool:
        """Whether the conditions and the order of this part are those of every member."""
        for each in self.members:
            common = {own.variable for own in part.components} & {
                own.variable for own in each.components
            }
            if _constraints(part, common) != _constraints(each, common):
                return False
        return True


def _least_length(alternative: Alternative, variable: str) -> int:
    """The least number of events of a variable, by the conditions on any variables."""
    return max((clause.least_lengths.get(variable, 1) for clause in alternative.clauses), default=1)


def _constraints(alternative: Alternative, names: set[str]) -> tuple[set[object], set[object]]:
    """The conditions of an alternative on these components, and the order of these."""
    variables = [part.variable for part in alternative.components]
    return (
        {_key(clause) for clause in alternative.clauses if clause.variables <= names},
        {
            (variables[i], variables[j])
            for i, j in alternative.before
            if variables[i] in names and variables[j] in names
        },
    )


def _renamed(
    alternative: Alternative, names: Mapping[str, str], *, only: bool = False
) -> Alternative:
    """The alternative with some variables renamed; with ``only``, just those components."""

    def name_of(variable: str) -> str:
        return names.get(variable, variable)

    def rename(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.Attribute | ast.Element | ast.Length | ast.Aggregate):
            return replace(node, variable=name_of(node.variable))
        return node

    clauses = [
        replace(
            clause,
            literals=tuple(ast.rewrite(literal, rename) for literal in clause.literals),
            variables=frozenset(map(name_of, clause.variables)),
            ranges={name_of(name): first for name, first in clause.ranges.items()},
            least_lengths={name_of(name): least for name, least in clause.least_lengths.items()},
        )
        for clause in alternative.clauses
        if not only or clause.variables <= names.keys()
    ]
    kept = [
        ix for ix, part in enumerate(alternative.components) if not only or part.variable in names
    ]
    components = tuple(
        replace(alternative.components[ix], variable=name_of(alternative.components[ix].variable))
        for ix in kept
    )
    before = frozenset(
        (kept.index(i), kept.index(j)) for i, j in alternative.before if i in kept and j in kept
    )
    return replace(alternative, components=components, before=before, clauses=tuple(clauses))


def _union(query: AnalysedQuery, group: _Group) -> SharedAlternatives:
    """The components and conditions of a group in one alternative."""
    order = {part.variable: ix for ix, (part, _) in enumerate(ast.components(query.query.pattern))}
    components = tuple(sorted(group.components.values(), key=lambda part: order[part.variable]))
    at = {part.variable: ix for ix, part in enumerate(components)}
    places = [tuple(at[part.variable] for part in each.components) for each in group.members]
    before = {
        (own[i], own[j])
        for each, own in zip(group.members, places, strict=True)
        for i, j in each.before
    }
    clauses = {_key(clause): clause for each in group.members for clause in each.clauses}
    # Other equal attributes become links.
    common = set.intersection(*(set(_keys(each)) for each in group.members))
    partition_keys = tuple(
        PartitionKey((name,) * len(components), is_test)
        for name, is_test in _keys(group.members[0])
        if (name, is_test) in common
    )
    union = Alternative(components, (), frozenset(before), tuple(clauses.values()), partition_keys)
    return SharedAlternatives(tuple(group.numbers), union, tuple(places))


def _key(clause: Clause) -> tuple[object, ...]:
    """A hashable key of a clause; clauses with the same content have the same key."""
    literals, variables = clause.literals, clause.variables
    ranges, lengths = sorted(clause.ranges.items()), sorted(clause.least_lengths.items())
    return literals, variables, tuple(ranges), tuple(lengths)


def _keys(alternative: Alternative) -> tuple[tuple[str, bool], ...]:
    """The attributes that events of the alternative are partitioned by.

    Keys that were found in conditions do not count for a single component, nor for an
    alternative with negations: a violating event may have another value.
    """
    found = [(key.attributes[0], key.is_test) for key in alternative.partition_keys]
    is_alone = len(alternative.components) == 1
    same = [len(set(key.attributes)) == 1 for key in alternative.partition_keys]
    return tuple(
        key
        for key, is_same in zip(found, same, strict=True)
        if is_same and not is_alone and (key[1] or not alternative.negations)
    )
