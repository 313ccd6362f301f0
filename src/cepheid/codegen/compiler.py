"""What every compiler of an alternative does: tests of single events, and predicates across events.

Conditions on an event alone become tests of whole batches, as far as generated code can test them.
The others become predicates over the event and the values of earlier events.
Planning, each session and each restored session need compiled queries, so the last ones are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.codegen import layout
from cepheid.codegen.edges import EventUnit, equivalences_at
from cepheid.codegen.expressions import Resolve, Storage, Untranslatable
from cepheid.codegen.predicates import PredicateWriter, Test
from cepheid.codegen.steps import EventTest, Phase
from cepheid.codegen.value_vector import ValueVector
from cepheid.language import syntax as ast

Literals = tuple[ast.Expression, ...]
"""A disjunction."""


def is_on_event(literals: Literals, component: ast.Component, phase: Phase) -> bool:
    """Whether a disjunction reads nothing but the event at hand."""
    for literal in literals:
        for node in literal.walk():
            match node:
                case ast.Attribute(variable) | ast.Element(variable, ast.Index.CURRENT, _):
                    if variable != component.variable:
                        return False
                case ast.Element(variable, 1, _):
                    if variable != component.variable or phase is not Phase.BEGIN:
                        return False
                case ast.Element() | ast.Length() | ast.Aggregate():
                    return False
    return True


def is_on_each_event(clause: Clause, component: ast.Component) -> bool:
    """Whether the clause is a condition on each event of the component alone."""
    if component.is_kleene and clause.ranges.get(component.variable) != 1:
        return False
    return not clause.least_lengths and is_on_event(clause.literals, component, Phase.TAKE)


class AlternativeCompiler:
    """Compiles the conditions of one alternative; an evaluation adds what its kernels need.

    ``vector`` has the values that predicates read.
    """

    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, vector: type[ValueVector]
    ) -> None:
        assert query.schema is not None
        self._query = query
        self._schema = query.schema
        self._alternative = alternative
        self._components = alternative.components
        self._vector = vector(query.schema, alternative.components)
        self._writer = PredicateWriter(query.schema)
        self._check_components()

    def _check_components(self) -> None:
        """Refuse too many components, and types that lack the attribute of an equivalence test."""
        if len(self._components) > layout.MAX_COMPONENTS:
            raise Untranslatable(layout.TOO_MANY_COMPONENTS)
        types = [name for component in self._components for name in component.types]
        is_contiguous = self._query.query.strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY
        if is_contiguous or self._query.counts_partitions:
            types += self._schema.types or ()
        for test in self._query.equivalences:
            for name in types:
                if not self._schema.has_attribute(name, test.attribute):
                    raise Untranslatable(
                        f"{name} has no attribute '{test.attribute}', so that its events belong "
                        "to every partition"
                    )

    def _generated(
        self,
    ) -> tuple[
        tuple[tuple[str, Storage], ...], tuple[Storage, ...], tuple[int | float | str, ...], str
    ]:
        """The fields of :class:`~cepheid.codegen.steps.Generated`, for all conditions so far."""
        vector, writer = self._vector, self._writer
        columns, registers = tuple(vector.columns.items()), tuple(vector.registers.values())
        return columns, registers, tuple(writer.constants), writer.source()

    def _event_test(
        self,
        component: ast.Component,
        clauses: list[Literals],
        resolve: Resolve,
        present: tuple[str, ...] = (),
    ) -> EventTest:
        """The test of an event of a component alone; it includes equivalence tests with a value."""
        values = equivalences_at(self._query, EventUnit(component, None), None)
        generated: list[Test] = []
        others: list[Literals] = []
        for literals in (*clauses, *((value,) for value in values)):
            test = Test(literals[0] if len(literals) == 1 else ast.Or(literals), resolve)
            if self._has_attributes(component, literals) and self._writer.can_add(test):
                generated.append(test)
            else:
                others.append(literals)
        number = self._writer.add_event_test(generated) if generated else layout.NONE
        return EventTest(component.types, number, tuple(others), present)

    def _has_attributes(self, component: ast.Component, literals: Literals) -> bool:
        """Whether all types of the component have all attributes that a disjunction names."""
        return all(
            self._schema.has_attribute(name, attribute)
            for literal in literals
            for node in literal.walk()
            if (attribute := getattr(node, "attribute", None)) is not None
            for name in component.types
        )

    def _across(self, clause: Clause, resolve: Resolve, *others: ast.Component) -> Test:
        """The test of a clause across events; all types must have the attributes that it names."""
        types = {part.variable: part.types for part in (*self._components, *others)}
        for literal in clause.literals:
            for node in literal.walk():
                attribute = getattr(node, "attribute", None)
                for name in types.get(getattr(node, "variable", ""), ()):
                    if attribute and not self._schema.has_attribute(name, attribute):
                        raise Untranslatable(
                            f"{name} has no attribute '{attribute}', and a condition "
                            "compares it across events"
                        )
        return Test(clause.expression, resolve)

    def _negation(self, negated: NegatedComponent, resolve: Resolve) -> tuple[EventTest, int]:
        """The test of an event of a negated component alone, and the predicate across events."""
        own = negated.component
        on_event: list[Literals] = []
        across: list[Test] = []
        for clause in negated.clauses:
            for name in clause.ranges:
                raise Untranslatable(
                    f"every event of {name}[] is compared with the negated {own.variable}"
                )
            if is_on_event(clause.literals, own, Phase.BEGIN):
                on_event.append(clause.literals)
                continue
            across.append(self._across(clause, resolve, own))
            for name, length in clause.least_lengths.items():
                longer = ast.Comparison(">=", ast.Length(name), ast.Literal(length))
                across.append(Test(longer, resolve))
        number = self._writer.add(across) if across else layout.NONE
        return self._event_test(own, on_event, resolve), number


P = ParamSpec("P")
R = TypeVar("R")

_KEPT = 64


class _Same:
    """Equal by identity only: comparing queries would take as long as compiling them."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def compiled_once(function: Callable[P, R]) -> Callable[P, R]:
    """The function with a cache of its last results, by the identity of its arguments.

    >>> twice = compiled_once(lambda numbers: [2 * number for number in numbers])
    >>> given = [1, 2]
    >>> twice(given) is twice(given), twice(given) is twice([1, 2])
    (True, False)
    """

    @lru_cache(_KEPT)
    def made(*given: _Same) -> R:
        call: Callable[..., R] = function
        return call(*(each.value for each in given))

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        assert not named, "arguments are positional"
        return made(*map(_Same, given))

    return called
