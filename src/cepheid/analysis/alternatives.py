"""OR-free and star-free alternatives of a pattern, with their partial order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod

from cepheid.language import syntax as ast


@dataclass(frozen=True, slots=True)
class Outline:
    """The components of one alternative, and the pairs (i, j) such that i comes before j.

    ``windows`` are the own windows of negated components.
    """

    components: tuple[ast.Component, ...] = ()
    negated: frozenset[int] = frozenset()
    before: frozenset[tuple[int, int]] = frozenset()
    windows: frozenset[tuple[int, ast.Window]] = frozenset()

    @property
    def declared(self) -> list[ast.Component]:
        """All components, also those that are excluded from a list by WITHOUT."""
        return [part for each in self.components for part in (each, *each.without)]


def count_alternatives(pattern: ast.Pattern) -> int:
    """The number of alternatives of a pattern, computed without building them."""
    match pattern:
        case ast.Component(_, _, bounds):
            return 2 if bounds and bounds.least == 0 else 1
        case ast.Negation():
            return 1
        case ast.Disjunction(parts):
            return sum(map(count_alternatives, parts))
        case ast.Sequence(parts) | ast.Conjunction(parts):
            return prod(map(count_alternatives, parts))


def outlines(pattern: ast.Pattern) -> list[Outline]:
    """The alternatives that have a positive component.

    >>> from cepheid.language.parser import parse
    >>> pattern = parse("PATTERN SEQ(A a, OR(B b, C c), D* d[])").pattern
    >>> [[c.variable for c in outline.components] for outline in outlines(pattern)]
    [['a', 'b'], ['a', 'b', 'd'], ['a', 'c'], ['a', 'c', 'd']]
    """
    found = [_outline(choice) for choice in choices(pattern) if choice is not None]
    return [each for each in dict.fromkeys(found) if len(each.components) > len(each.negated)]


def choices(pattern: ast.Pattern) -> list[ast.Pattern | None]:
    """The pattern for each choice in OR, and without and with each star; None has no event."""
    match pattern:
        case ast.Component(_, _, ast.Bounds(0, most)):
            return [None, replace(pattern, bounds=ast.Bounds(1, most))]
        case ast.Component() | ast.Negation():
            return [pattern]
        case ast.Disjunction(parts):
            return [choice for part in parts for choice in choices(part)]
    chosen = (
        tuple(part for part in choice if part is not None)
        for choice in product(*map(choices, pattern.parts))
    )
    return [replace(pattern, parts=parts) if parts else None for parts in chosen]


def _outline(pattern: ast.Pattern) -> Outline:
    match pattern:
        case ast.Component():
            return Outline((pattern,))
        case ast.Negation(component, window):
            windows = frozenset({(0, window)} if window else ())
            return Outline((component,), frozenset({0}), windows=windows)
    return _joined(tuple(map(_outline, pattern.parts)), isinstance(pattern, ast.Sequence))


def _joined(parts: tuple[Outline, ...], in_order: bool) -> Outline:
    components: list[ast.Component] = []
    negated: set[int] = set()
    before: set[tuple[int, int]] = set()
    windows: set[tuple[int, ast.Window]] = set()
    for part in parts:
        offset = len(components)
        places = range(offset, offset + len(part.components))
        if in_order:
            before.update(product(range(offset), places))
        before.update((i + offset, j + offset) for i, j in part.before)
        negated.update(i + offset for i in part.negated)
        windows.update((i + offset, window) for i, window in part.windows)
        components.extend(part.components)
    return Outline(tuple(components), frozenset(negated), frozenset(before), frozenset(windows))
