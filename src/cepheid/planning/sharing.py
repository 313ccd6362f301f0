"""Which alternatives of a query have components in common, and can be evaluated together.

A pattern with OR or star inside becomes several alternatives, which differ in some components
and agree in the others. What they agree in need be matched only once [Kolchinsky17 §5].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, PartitionKey
from cepheid.language import syntax as ast

_MOST_COMPONENTS = 24
_MOST_ALTERNATIVES = 32


@dataclass(frozen=True, slots=True)
class SharedAlternatives:
    """Alternatives of a query that are evaluated together, by their numbers.

    ``union`` has the components and conditions of all of them; ``places`` has for each
    alternative where its components are in the union.
    """

    numbers: tuple[int, ...]
    union: Alternative
    places: tuple[tuple[int, ...], ...]


def shared_alternatives(query: AnalysedQuery) -> tuple[SharedAlternatives, ...]:
    """The alternatives that have a component in common with another, in groups.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 9"), None)
    >>> [group.numbers for group in shared_alternatives(query)]
    [(0, 1)]
    """
    return tuple(
        SharedAlternatives(tuple(numbers), union, tuple(places))
        for numbers in _groups(query)
        for union, places in _union(query, [query.alternatives[number] for number in numbers])
    )


def sharing_lines(query: AnalysedQuery) -> Iterator[str]:
    """What is evaluated once, for a person.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> query = analyse(parse("PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 9"), None)
    >>> list(sharing_lines(query))
    ['alternatives 1, 2 are evaluated together: a, d in both']
    """
    for group in shared_alternatives(query):
        counts = {
            part.variable: sum(ix in places for places in group.places)
            for ix, part in enumerate(group.union.components)
        }
        numbers = ", ".join(str(number + 1) for number in group.numbers)
        every = len(group.numbers)
        in_all = [name for name, count in counts.items() if count == every]
        in_some = [name for name, count in counts.items() if 1 < count < every]
        said = [f"{', '.join(in_all)} in {'both' if every == 2 else 'all'}"] if in_all else []
        said += [f"{', '.join(in_some)} in several"] if in_some else []
        yield f"alternatives {numbers} are evaluated together: {'; '.join(said)}"


def _groups(query: AnalysedQuery) -> list[list[int]]:
    """The numbers of alternatives that are connected by components, two or more together."""
    groups: list[tuple[set[ast.Component], list[int]]] = []
    for number, alternative in enumerate(query.alternatives):
        if alternative.negations or any(not clause.variables for clause in alternative.clauses):
            continue
        own, numbers = set(alternative.components), [number]
        for group in [each for each in groups if each[0] & own]:
            own |= group[0]
            numbers += group[1]
            groups.remove(group)
        groups.append((own, numbers))
    return [sorted(numbers) for _, numbers in groups if len(numbers) > 1]


def _union(
    query: AnalysedQuery, alternatives: list[Alternative]
) -> Iterator[tuple[Alternative, list[tuple[int, ...]]]]:
    """The components and conditions of all alternatives as one, if each has its own in it."""
    every = {part for each in alternatives for part in each.components}
    order = {part.variable: ix for ix, (part, _) in enumerate(ast.components(query.query.pattern))}
    components = tuple(sorted(every, key=lambda part: order[part.variable]))
    names = [part.variable for part in components]
    if len(components) > _MOST_COMPONENTS or len(alternatives) > _MOST_ALTERNATIVES:
        return
    if len(set(names)) < len(names):
        return
    places = [tuple(components.index(part) for part in each.components) for each in alternatives]
    before = {
        (own[i], own[j])
        for each, own in zip(alternatives, places, strict=True)
        for i, j in each.before
    }
    clauses = list(
        {_key(clause): clause for each in alternatives for clause in each.clauses}.values()
    )
    for each, own in zip(alternatives, places, strict=True):
        members = {part.variable for part in each.components}
        within = {_key(clause) for clause in clauses if clause.variables <= members}
        if within != {_key(clause) for clause in each.clauses}:
            return
        if {(i, j) for i, j in before if i in own and j in own} != {
            (own[i], own[j]) for i, j in each.before
        }:
            return
    # What is no key of all of them is still looked up where it is equal.
    common = set.intersection(*(set(_keys(each)) for each in alternatives))
    partition_keys = tuple(
        PartitionKey((name,) * len(components), is_test)
        for name, is_test in _keys(alternatives[0])
        if (name, is_test) in common
    )
    yield (
        Alternative(components, (), frozenset(before), tuple(clauses), partition_keys),
        places,
    )


def _key(clause: Clause) -> tuple[object, ...]:
    """A clause as a value that is equal where it says the same; its place may be another."""
    literals, variables = clause.literals, clause.variables
    ranges, lengths = sorted(clause.ranges.items()), sorted(clause.least_lengths.items())
    return literals, variables, tuple(ranges), tuple(lengths)


def _keys(alternative: Alternative) -> tuple[tuple[str, bool], ...]:
    """The attributes by which the events of the alternative are kept apart.

    One component alone is not kept apart by what was found in the conditions.
    """
    found = [(key.attributes[0], key.is_test) for key in alternative.partition_keys]
    is_alone = len(alternative.components) == 1
    same = [len(set(key.attributes)) == 1 for key in alternative.partition_keys]
    return tuple(key for key, is_same in zip(found, same, strict=True) if is_same and not is_alone)
