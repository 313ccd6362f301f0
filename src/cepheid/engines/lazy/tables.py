"""A lazy automaton as plain data: the result of compilation."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.codegen.predicates import Storage
from cepheid.codegen.steps import EventTest, Update
from cepheid.engines.lazy.placement import LazyPlacement
from cepheid.language import syntax as ast


@dataclass(frozen=True, slots=True)
class Range:
    """A Kleene component in a test of all its elements, from element ``first`` on.

    ``registers`` summarise the elements before the current one, as bits.
    """

    component: int
    first: int
    registers: int = 0
    begin_updates: tuple[Update, ...] = ()
    take_updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class LazyTest:
    """A clause, tested when a component is bound and the ones it ``needs`` are bound already.

    ``phase`` is a constant of the layout. Every element of the ``ranges`` is tested. ``label`` is
    the clause as metrics show it.
    """

    phase: int
    needs: int
    predicate: int
    label: str
    ranges: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class LazyComponent:
    """One component: the test of its events, its order, its other tests and its updates.

    Sets of components are bits: the ones that come ``earlier`` and ``later``, and the ``rivals``
    that could bind the same event.
    """

    component: ast.Component
    test: EventTest
    least: int
    most: int
    earlier: int
    later: int
    rivals: int
    tests: tuple[LazyTest, ...]
    begin_updates: tuple[Update, ...]
    take_updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class LazyNegation:
    """A negated component between other components [Kolchinsky17 §4.4].

    It is tested as soon as the components that it ``needs`` are bound: the ones around it and
    the ones that its conditions name.
    """

    component: ast.Component
    test: EventTest
    after: int
    before: int
    needs: int
    predicate: int


@dataclass(frozen=True, slots=True)
class Link:
    """Attributes that are equal in every match, by which events are looked up.

    ``terms`` are pairs of a component and its attribute; negated components are numbered after
    the others. A list may be linked only to itself, where all its events agree in an attribute:
    the group-by attribute of an iteration [Kolchinsky17 §4.5].
    """

    terms: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class LazyAutomaton:
    """One or more alternatives as plain data: all that the kernel needs except orders and events.

    ``placement`` is what it was compiled from.
    """

    placement: LazyPlacement
    components: tuple[LazyComponent, ...]
    negations: tuple[LazyNegation, ...]
    in_order: bool
    links: tuple[Link, ...]
    columns: tuple[tuple[str, Storage], ...]
    registers: tuple[Storage, ...]
    constants: tuple[int | float | str, ...]
    source: str

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """The attributes by which instances are partitioned."""
        return self.placement.partition_attributes

    @property
    def slot_roles(self) -> int:
        """The number of slots of each component in an instance."""
        if not any(part.component.is_kleene for part in self.components):
            return 1
        return 5 if any(test.ranges for part in self.components for test in part.tests) else 3
