"""Conditions on a single event, and the attributes that conditions need."""

from __future__ import annotations

from cepheid.analysis.model import Clause, NegatedComponent
from cepheid.codegen import layout
from cepheid.codegen.predicates import PredicateWriter, Resolve, Test, Untranslatable
from cepheid.codegen.steps import EventTest, Phase
from cepheid.language import syntax as ast
from cepheid.schema import Schema

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


class EventTestWriter:
    """Writes tests of single events as predicates, as far as generated code can test them."""

    def __init__(self, schema: Schema, writer: PredicateWriter) -> None:
        self._schema = schema
        self._writer = writer

    def event_test(
        self,
        component: ast.Component,
        clauses: list[Literals],
        resolve: Resolve,
        present: tuple[str, ...] = (),
    ) -> EventTest:
        """The test of an event of a component alone."""
        generated: list[Test] = []
        others: list[Literals] = []
        for literals in clauses:
            test = Test(literals[0] if len(literals) == 1 else ast.Or(literals), resolve)
            if self.has_attributes(component, literals) and self._writer.can_add(test):
                generated.append(test)
            else:
                others.append(literals)
        number = self._writer.add_event_test(generated) if generated else layout.NONE
        return EventTest(component.types, number, tuple(others), present)

    def has_attributes(self, component: ast.Component, literals: Literals) -> bool:
        """Whether all types of the component have all attributes that a disjunction names."""
        return all(
            self._schema.has_attribute(name, attribute)
            for literal in literals
            for node in literal.walk()
            if (attribute := getattr(node, "attribute", None)) is not None
            for name in component.types
        )

    def check_attributes(self, clause: Clause, components: tuple[ast.Component, ...]) -> None:
        """Refuse a clause across events of types that lack an attribute which it names."""
        for component in components:
            for literal in clause.literals:
                for node in literal.walk():
                    attribute = getattr(node, "attribute", None)
                    if getattr(node, "variable", None) == component.variable and attribute:
                        for name in component.types:
                            if not self._schema.has_attribute(name, attribute):
                                raise Untranslatable(
                                    f"{name} has no attribute '{attribute}', and a condition "
                                    "compares it across events"
                                )

    def negation_tests(
        self, negated: NegatedComponent, components: tuple[ast.Component, ...], resolve: Resolve
    ) -> tuple[list[Literals], list[Test]]:
        """The conditions of a negated component: on its event alone, and across events."""
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
            self.check_attributes(clause, (*components, own))
            across.append(Test(clause.expression, resolve))
            for name, length in clause.least_lengths.items():
                longer = ast.Comparison(">=", ast.Length(name), ast.Literal(length))
                across.append(Test(longer, resolve))
        return on_event, across
