"""The conditions on a single event of a component, and the events that fail them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.analysis.names import variables_in
from cepheid.codegen.edges import current_event
from cepheid.errors import CepheidError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.vectorised import Leaf, Vectorised
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.prefixes import conditions_of, equivalences_of, positives
from cepheid.explain.diagnosis.stream import Stream
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression
from cepheid.reference.interpreter import Binding

Bools = npt.NDArray[np.bool_]

MOST_INTERPRETED = 20_000
"""The number of events for which a condition is interpreted if columns cannot compute it."""


@dataclass(frozen=True, slots=True, eq=False)
class EventCondition:
    """A condition on one event of a component, and the events of its types that fail it.

    ``of_first``: only the first event of a Kleene component must satisfy it.
    """

    text: str
    failing: Bools
    of_first: bool

    @property
    def count(self) -> int:
        """The number of events that fail it."""
        return int(np.count_nonzero(self.failing))


def event_conditions(
    branch: ast.Query, component: ast.Component, stream: Stream
) -> list[EventCondition]:
    """The conditions on a single event of the component, with the events that fail them."""
    positions = stream.of_types(component.types)
    found = []
    for test in event_tests(branch, component):
        if len(positions):
            failing = _failing(test, component, positions, stream, branch)
        else:
            failing = np.zeros(0, dtype=np.bool_)
        of_first = any(isinstance(node, ast.Element) and node.index == 1 for node in test.walk())
        found.append(EventCondition(print_expression(test, branch), failing, of_first))
    return found


def passing(conditions: list[EventCondition], number: int) -> Bools:
    """The events that satisfy all conditions on a single event of the component."""
    passed = np.ones(number, dtype=np.bool_)
    for condition in conditions:
        if not condition.of_first:
            passed &= ~condition.failing
    return passed


def event_tests(branch: ast.Query, component: ast.Component) -> list[ast.Expression]:
    """The equivalence tests and the conditions on a single event of the component."""
    found: list[ast.Expression] = [*equivalences_of(branch)]
    is_first = component == positives(branch.pattern)[0]
    for condition in conditions_of(branch):
        named = variables_in(condition)
        if (named == {component.variable} and _is_on_one_event(condition)) or (
            not named and is_first
        ):
            found.append(condition)
    return found


def _is_on_one_event(condition: ast.Expression) -> bool:
    indices = set()
    for node in condition.walk():
        match node:
            case ast.Length() | ast.Aggregate():
                return False
            case ast.Element(_, index, _):
                indices.add(index)
    return indices <= {ast.Index.CURRENT, 1}


def _failing(
    test: ast.Expression,
    component: ast.Component,
    positions: Int64s,
    stream: Stream,
    branch: ast.Query,
) -> Bools:
    if isinstance(test, ast.Equivalence):
        here = current_event(component).attribute(test.attribute)
        if test.value is not None:
            test = ast.Comparison("=", here, test.value)
        else:
            test = ast.Not(ast.IsNull(here))
    columns = _Columns(stream, positions)
    try:
        truth = Vectorised(len(positions), columns.values, columns.missing).truth(test)
        passed: Bools = truth.fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_)
        return ~passed
    except (CepheidError, pa.ArrowException):
        return _interpreted(test, component, positions, stream, branch)


@dataclass(frozen=True, slots=True)
class _Columns:
    stream: Stream
    positions: Int64s

    def values(self, leaf: Leaf) -> pa.Array:
        assert isinstance(leaf, ast.Attribute | ast.Element)
        taken = self.stream.events.table.column(leaf.attribute).take(pa.array(self.positions))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def missing(self, leaf: Leaf) -> Bools:
        """The events of types without the attribute."""
        assert isinstance(leaf, ast.Attribute | ast.Element)
        events = self.stream.events
        lacking = [
            not events.schema.has_attribute(name, leaf.attribute) for name in events.type_names
        ]
        found: Bools = np.array(lacking, dtype=np.bool_)[events.type_codes[self.positions]]
        return found


def _interpreted(
    test: ast.Expression,
    component: ast.Component,
    positions: Int64s,
    stream: Stream,
    branch: ast.Query,
) -> Bools:
    failing = np.zeros(len(positions), dtype=np.bool_)
    looked_at = positions[:MOST_INTERPRETED].tolist()
    known = stream.python_events(looked_at)
    tests = Tests([test], branch)
    for ix, position in enumerate(looked_at):
        event = known[position]
        binding: Binding = {component.variable: [event] if component.is_kleene else event}
        failing[ix] = bool(tests.failing(binding))
    return failing
