"""An automaton as plain data: the result of compilation and the input of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout
from cepheid.codegen.expressions import Storage
from cepheid.language import syntax as ast


class Phase(Enum):
    """When a predicate is tested: at the first event of a component, a later one, or its end."""

    BEGIN = "begin"
    TAKE = "take"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class EventTest:
    """Which events can be the first, or a later, event of a component.

    ``predicate`` is the number of a predicate on the event alone, or NONE; ``clauses`` are
    disjunctions that generated code cannot test, such as LIKE; ``present`` are attributes that
    must not be null.
    """

    types: tuple[str, ...]
    predicate: int = layout.NONE
    clauses: tuple[tuple[ast.Expression, ...], ...] = ()
    present: tuple[str, ...] = ()

    @property
    def is_of_types_only(self) -> bool:
        """Whether the type of an event alone decides."""
        return self.predicate < 0 and not self.clauses and not self.present


@dataclass(frozen=True, slots=True)
class Update:
    """What happens to a register when an event is selected."""

    operation: int
    attribute: str | None
    register: int
    argument: int = 0
    length_register: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One component: its bounds, the tests of its events, its predicates and updates.

    ``begin``, ``take`` and ``final`` are numbers of predicates, or NONE. A test without types lets
    no event pass.
    """

    component: ast.Component
    least: int = 1
    most: int = 1
    begin_test: EventTest = EventTest(())
    take_test: EventTest = EventTest(())
    begin: int = layout.NONE
    take: int = layout.NONE
    final: int = layout.NONE
    begin_updates: tuple[Update, ...] = ()
    take_updates: tuple[Update, ...] = ()


StoredValue = tuple[str, str, str | None]
"""A variable, the role of a register, such as last, and an attribute."""


@dataclass(frozen=True, slots=True)
class Generated:
    """The generated predicates of an automaton, and the values that they read.

    ``columns`` are attributes of events, and ``registers`` values that a run keeps.
    """

    columns: tuple[tuple[str, Storage], ...]
    registers: tuple[Storage, ...]
    constants: tuple[int | float | str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class NfaB(Generated):
    """An automaton as plain data: all that a kernel needs except the events.

    ``values`` are what the registers hold, and ``read_until`` is the last state in which each is
    read. Runs that have become equivalent are found with it [Agrawal08 §5.2.2].
    """

    steps: tuple[Step, ...]
    strategy: int
    partition_attributes: tuple[str, ...]
    lists_by_partition: bool
    values: tuple[StoredValue, ...]
    read_until: tuple[int, ...]
    predicate_count: int
    edges: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class JointTest:
    """A predicate over several components, which can be tested as soon as all are bound.

    It reads the event of component ``slot`` and registers of the others; ``bound`` are all of
    them, as bits.
    """

    bound: int
    slot: int
    predicate: int


@dataclass(frozen=True, slots=True)
class JointTests(Generated):
    """The conditions across the events of components that are bound in any order.

    The steps fill registers and test nothing.
    """

    steps: tuple[Step, ...]
    tests: tuple[JointTest, ...]


@dataclass(frozen=True, slots=True)
class NegationTest(Generated):
    """A negated component as plain data: which events can violate it, and where.

    ``after`` and ``before`` are sets of components, as bits; if it ``is_inside`` a list, both are
    that list. Where ``is_across``, predicate 0 of the source is over the event and the registers
    of a match.
    """

    component: ast.Component
    test: EventTest
    after: int
    before: int
    waits: bool
    steps: tuple[Step, ...]
    is_across: bool
    is_inside: bool


Columns = Sequence[tuple[str, Storage]]


def step_tables(
    steps: Sequence[Step], columns: Columns
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """The steps and updates of an automaton as arrays."""
    updates: list[Update] = []
    table = np.zeros(len(steps), dtype=layout.STEP)
    for ix, step in enumerate(steps):
        row = table[ix]
        row["is_kleene"] = step.component.is_kleene
        row["least"], row["most"] = step.least, step.most
        row["begin_bit"], row["take_bit"] = 1 << (2 * ix), 1 << (2 * ix + 1)
        row["begin"], row["take"], row["final"] = step.begin, step.take, step.final
        row["begin_low"] = len(updates)
        updates.extend(step.begin_updates)
        row["begin_high"] = row["take_low"] = len(updates)
        updates.extend(step.take_updates)
        row["take_high"] = len(updates)
    return table, update_table(updates, columns)


def update_table(updates: Sequence[Update], columns: Columns) -> npt.NDArray[np.void]:
    """Updates as an array."""
    places = {name: layout.CONTEXT_COLUMNS + 2 * ix for ix, (name, _) in enumerate(columns)}
    rows = [
        (
            update.operation,
            places.get(update.attribute or "", 0),
            update.register,
            update.argument,
            update.length_register,
        )
        for update in updates
    ]
    return np.array(rows, dtype=layout.UPDATE)
