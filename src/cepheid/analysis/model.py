"""The result of analysis: a query with its alternatives, tests and partition keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cepheid.language import syntax as ast
from cepheid.schema import Schema


class Edge(Enum):
    """Where in a component a clause is tested [Agrawal08 §3.2].

    BEGIN when its single event, or ``a[1]``, is bound; TAKE at each element of a Kleene component
    that the clause refers to; PROCEED when the Kleene component is complete.
    """

    BEGIN = "begin"
    TAKE = "take"
    PROCEED = "proceed"


@dataclass(frozen=True, slots=True)
class Clause:
    """A disjunction of literals that a match must satisfy, and where it is tested.

    A literal is a predicate or its negation, or a whole condition if that has too many clauses.
    ``ranges`` has the first i of each Kleene variable that is indexed by i: 1, or 2 if a[i-1] or
    a[..i-1] occurs. The clause must be true for every combination of these i. If the first i is 2
    and the variable has one event, there is no i and the clause is true. ``least_lengths`` has the
    number of events that a variable must have because a[k] is named; with fewer events the clause
    is false. ``component_ix`` and ``edge`` are the place of its last identifier in pattern order;
    ``component_ix`` is None if the clause names no positive variable.

    A clause may have the place, the ranges and the least lengths of the whole condition, and so
    refer to variables that its literals do not name.
    """

    literals: tuple[ast.Expression, ...]
    variables: frozenset[str]
    ranges: Mapping[str, int]
    least_lengths: Mapping[str, int]
    component_ix: int | None
    edge: Edge

    @property
    def expression(self) -> ast.Expression:
        """The clause as one expression."""
        return self.literals[0] if len(self.literals) == 1 else ast.Or(self.literals)

    @property
    def equal_attributes(self) -> tuple[tuple[ast.Attribute, ast.Attribute], ...]:
        """For a clause such as ``a.x = b.y``: both attributes, in either order; none computed."""
        match self.literals:
            case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                is_plain = {type(left.attribute), type(right.attribute)} == {str}
                return ((left, right), (right, left)) if is_plain else ()
        return ()


class Place(Enum):
    """What bounds a negated component on each side: an event of the match, or the window.

    In a SEQ a negation is before the first event, between two events, after the last, or anywhere.
    Below an AND, an event that comes before some others need not come before the first.
    """

    START = "from the start of the window to an event"
    MIDDLE = "between events"
    END = "from an event to the end of the window"
    ANYWHERE = "anywhere in the window"


@dataclass(frozen=True, slots=True)
class NegatedComponent:
    """A component that must not occur after all of ``after`` and before all of ``before``.

    Both are indices of positive components. If it ``is_inside`` a list (WITHOUT), both are the
    index of that list, and the component must not occur between its first and its last event.
    With its own window, only events less than ``own_window`` after the latest event of
    ``after`` count or, if there is none, before the earliest event of ``before``.
    """

    component: ast.Component
    after: frozenset[int]
    before: frozenset[int]
    clauses: tuple[Clause, ...]
    own_window: ast.Window | None = None
    is_inside: bool = False

    @property
    def place(self) -> Place:
        """What bounds the component."""
        if self.after:
            return Place.MIDDLE if self.before else Place.END
        return Place.START if self.before else Place.ANYWHERE

    @property
    def waits(self) -> bool:
        """Whether an event after the last one of a match can still violate the negation."""
        return not self.before

    @property
    def is_decided_by_order(self) -> bool:
        """Whether the order of events alone decides if an event violates the negation."""
        own = {self.component.variable}
        has_place = bool(self.after and self.before) and self.own_window is None
        return has_place and all(clause.variables <= own for clause in self.clauses)


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One attribute of each positive component, such that their values are equal in every match.

    All types of a component have its attribute, and no value in a match is null. ``is_test``
    is true for a test in brackets, which negated components must satisfy too; other keys come from
    the conditions on positive components.
    """

    attributes: tuple[str, ...]
    is_test: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to match the pattern, without OR and star.

    ``before`` has the partial order of the pattern: the pairs (i, j) of components such that all
    events of i come before all events of j.
    """

    components: tuple[ast.Component, ...]
    negations: tuple[NegatedComponent, ...]
    before: frozenset[tuple[int, int]]
    clauses: tuple[Clause, ...]
    partition_keys: tuple[PartitionKey, ...]

    @property
    def is_sequence(self) -> bool:
        """Whether the order of the components is total."""
        count = len(self.components)
        return len(self.before) == count * (count - 1) // 2

    @property
    def waits(self) -> bool:
        """Whether a match must wait for its window to end."""
        return any(negation.waits for negation in self.negations)


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """A query without faults, with everything that planning needs.

    ``equivalences`` partition the events. An equivalence test is in ``loose`` if some types lack
    its attribute: conditions of the alternatives replace it. The alternatives of a query that
    ``is_rewritten`` read only attributes that types have. ``own_windows`` has the ticks of the
    negations' own windows, when the time axis is known.
    """

    query: ast.Query
    alternatives: tuple[Alternative, ...]
    equivalences: tuple[ast.Equivalence, ...]
    schema: Schema | None
    own_windows: Mapping[ast.Window, int] = field(default_factory=dict)
    loose: tuple[ast.Equivalence, ...] = ()
    is_rewritten: bool = False

    @property
    def tests(self) -> tuple[ast.Equivalence, ...]:
        """All equivalence tests of the query."""
        return self.equivalences + self.loose

    @property
    def counts_partitions(self) -> bool:
        """Whether the window counts the events of a partition."""
        window = self.query.window
        return window is not None and window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION
