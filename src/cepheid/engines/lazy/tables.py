"""A lazy automaton as plain data: what compilation gives and kernels are fed with."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.codegen.predicates import Storage
from cepheid.codegen.steps import EventTest, Update
from cepheid.engines.lazy.placement import LazyPlacement
from cepheid.language import syntax as ast


@dataclass(frozen=True, slots=True)
class Range:
    """A Kleene component all of whose elements a test speaks of, from element ``first`` on.

    ``registers`` are those of what was before the element, as bits.
    """

    component: int
    first: int
    registers: int = 0
    begin_updates: tuple[Update, ...] = ()
    take_updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class LazyTest:
    """A clause, tested when a certain component is bound and those it ``needs`` are.

    ``phase`` is one of the layout's; ``ranges`` are the lists of which every element is tested.
    ``label`` says in metrics what is tested.
    """

    phase: int
    needs: int
    predicate: int
    label: str
    ranges: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class LazyComponent:
    """One component: which events fit it, its place, its tests and updates.

    Sets of components are bits: those that come ``earlier`` and ``later``, and the ``rivals``
    that could have the same event.
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
    """A negated component that lies between events of a match [Kolchinsky17 §4.4].

    It is tested as soon as the components that it ``needs`` are bound: those around it, and
    those that its conditions name.
    """

    component: ast.Component
    test: EventTest
    after: int
    before: int
    needs: int
    predicate: int


@dataclass(frozen=True, slots=True)
class Link:
    """Attributes of components that have one value in every match, by which events are found.

    ``terms`` are pairs of a component and its attribute; the number of a negated component is
    that of the components, plus its own. A list that is linked to nothing else is kept together
    by its own attribute: the group-by attribute of an iteration [Kolchinsky17 §4.5].
    """

    terms: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class LazyAutomaton:
    """One or more alternatives as plain data: all the kernel needs but orders and events.

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
        """How many slots a component has in an instance."""
        if not any(part.component.is_kleene for part in self.components):
            return 1
        return 5 if any(test.ranges for part in self.components for test in part.tests) else 3
