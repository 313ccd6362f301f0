"""The alternatives of a pattern without OR and star, as the definition reads them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from cepheid.language import syntax as ast


@dataclass(frozen=True, slots=True)
class Absent:
    """A component that must not occur: at its place in the pattern, or inside a list."""

    component: ast.Component
    window: ast.Window | None = None
    inside: str | None = None

    @property
    def variable(self) -> str:
        """The variable of the component."""
        return self.component.variable


@dataclass(frozen=True, slots=True)
class FlatPattern:
    """A pattern without OR and star: its components and their partial order."""

    positives: tuple[ast.Component, ...] = ()
    negatives: tuple[Absent, ...] = ()
    before: frozenset[tuple[str, str]] = frozenset()

    def variables(self) -> set[str]:
        """All variables, also of negations."""
        negated = {absent.variable for absent in self.negatives}
        return negated | {component.variable for component in self.positives}


def expand(pattern: ast.Pattern) -> list[FlatPattern]:
    """The alternatives of a pattern: one per choice in OR, with and without each star."""
    match pattern:
        case ast.Component(_, _, bounds):
            inside = (Absent(each, inside=pattern.variable) for each in pattern.without)
            here = FlatPattern((pattern,), tuple(inside))
            return [FlatPattern(), here] if bounds and bounds.least == 0 else [here]
        case ast.Negation(component, window):
            return [FlatPattern(negatives=(Absent(component, window),))]
        case ast.Disjunction(parts):
            return [flat for part in parts for flat in expand(part)]
    flats = []
    for choice in product(*map(expand, pattern.parts)):
        pairs = set().union(*(flat.before for flat in choice))
        if isinstance(pattern, ast.Sequence):
            for index, earlier in enumerate(choice):
                for later in choice[index + 1 :]:
                    pairs |= set(product(earlier.variables(), later.variables()))
        positives = tuple(component for flat in choice for component in flat.positives)
        negatives = tuple(component for flat in choice for component in flat.negatives)
        flats.append(FlatPattern(positives, negatives, frozenset(pairs)))
    return flats
