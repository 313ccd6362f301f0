"""The conditions on a single event of a component, and the events that fail them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.codegen.edges import current_event
from cepheid.engines.base.event_batch import EventBatch
from cepheid.errors import CepheidError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.string_codes import StringCodes
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.prefixes import conditions_of, equivalences_of, positives
from cepheid.explain.diagnosis.report import ConditionCount
from cepheid.explain.diagnosis.stream import Stream, extended
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in

Bools = npt.NDArray[np.bool_]

MOST_INTERPRETED = 20_000
"""The number of events for which a condition is interpreted if columns cannot compute it."""


@dataclass(frozen=True, slots=True, eq=False)
class EventConditions:
    """The tests of a single event of a component.

    For each of them, ``failing`` has the events of the component's types, at ``positions``, that
    fail it. ``of_first``: only the first event of a Kleene component must satisfy it.
    """

    tests: Tests
    positions: Int64s
    failing: list[Bools]
    of_first: list[bool]

    @property
    def passing(self) -> int:
        """The number of events that satisfy all conditions on each event of the component."""
        passed = np.ones(len(self.positions), dtype=np.bool_)
        for failing, of_first in zip(self.failing, self.of_first, strict=True):
            if not of_first:
                passed &= ~failing
        return int(np.count_nonzero(passed))

    @property
    def counts(self) -> tuple[ConditionCount, ...]:
        """The number of events that fail each condition."""
        numbers = [int(np.count_nonzero(failing)) for failing in self.failing]
        return tuple(map(ConditionCount, self.tests.texts, numbers, self.of_first))


def event_conditions(
    branch: ast.Query, component: ast.Component, stream: Stream
) -> EventConditions:
    """The equivalence tests and the conditions on a single event, with the events that fail them.

    Conditions on no event at all are tested on the first component.
    """
    is_first = component == positives(branch.pattern)[0]
    conditions = []
    for condition in conditions_of(branch):
        named = variables_in(condition)
        is_own = named == {component.variable} and _is_on_one_event(condition)
        if is_own or (not named and is_first):
            conditions.append(condition)
    tests = Tests(branch, component, conditions)
    positions = stream.of_types(component.types)
    here = current_event(component)
    columns: list[ast.Expression] = [
        ast.Not(ast.IsNull(here.attribute(test.attribute)))
        if test.value is None
        else ast.Comparison("=", here.attribute(test.attribute), test.value)
        for test in equivalences_of(branch)
    ]
    columns += conditions
    batch = EventBatch.of(stream.tested(positions), 0, StringCodes())
    failing = []
    for number, condition in enumerate(columns):
        try:
            failing.append(~batch.satisfies(condition))
        except (CepheidError, pa.ArrowException):
            failing.append(_interpreted(tests, number, positions, stream))
    of_first = [
        any(isinstance(node, ast.Element) and node.index == 1 for node in condition.walk())
        for condition in columns
    ]
    return EventConditions(tests, positions, failing, of_first)


def _is_on_one_event(condition: ast.Expression) -> bool:
    indices = set()
    for node in condition.walk():
        match node:
            case ast.Length() | ast.Aggregate():
                return False
            case ast.Element(_, index, _):
                indices.add(index)
    return indices <= {ast.Index.CURRENT, 1}


def _interpreted(tests: Tests, number: int, positions: Int64s, stream: Stream) -> Bools:
    """The first events that fail a test, one by one."""
    failing = np.zeros(len(positions), dtype=np.bool_)
    looked_at = positions[:MOST_INTERPRETED].tolist()
    stream.read(looked_at, afresh=True)
    for ix, position in enumerate(looked_at):
        binding = extended({}, tests.component, stream.event(position))
        failing[ix] = tests.fails(number, binding)
    return failing
