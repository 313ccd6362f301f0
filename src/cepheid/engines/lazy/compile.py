"""Compiles an alternative to a lazy automaton, for any order of binding [Kolchinsky17 §4].

The components of a chain are bound in an order of frequency that is not known here, and those
of a tree in an order that each instance chooses. So every clause is compiled once for each of
its variables, as the test for when that variable is bound last.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.analysis.placement import reads_whole_list
from cepheid.codegen.compiled_once import compiled_once
from cepheid.codegen.edges import EventUnit, equivalences_at
from cepheid.codegen.event_tests import EventTestWriter, Literals
from cepheid.codegen.layout import MAX_COMPONENTS
from cepheid.codegen.predicates import PredicateWriter, Test, Untranslatable
from cepheid.codegen.sequences import check_alternative, compile_negation
from cepheid.codegen.steps import EventTest, Phase, Update
from cepheid.engines.base.options import BY_COST
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.negation import needed_by
from cepheid.engines.lazy.placement import (
    AcrossComponents,
    LazyPlacement,
    place_lazily,
    place_shared,
)
from cepheid.engines.lazy.sharing import SharedAlternatives
from cepheid.engines.lazy.tables import (
    LazyAutomaton,
    LazyComponent,
    LazyNegation,
    LazyTest,
    Link,
    Range,
)
from cepheid.engines.lazy.values import PRIOR, SlotVector
from cepheid.language import syntax as ast
from cepheid.schema import Kind


def refuse_lazy(query: AnalysedQuery) -> str | None:
    """Why a lazy automaton cannot run the query, or None."""
    if query.query.strategy is not ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        return f"it asks for {query.query.strategy.value}, and lazy automata find any match"
    if query.schema is None:
        return None
    try:
        for alternative in query.alternatives:
            compile_lazy(query, alternative, BY_COST)
            for negated in alternative.negations:
                compile_negation(query, alternative, negated)
    except Untranslatable as reason:
        return str(reason)
    return None


@compiled_once
def compile_lazy(query: AnalysedQuery, alternative: Alternative, negation: str) -> LazyAutomaton:
    """The lazy automaton of one alternative of a query with a schema.

    ``negation`` is the option: which negations are tested before a match is complete.
    """
    check_alternative(query, alternative)
    placement = place_lazily(query, alternative, negation)
    return _Compiler(query, alternative, placement, [alternative]).compile()


@compiled_once
def compile_shared(query: AnalysedQuery, shared: SharedAlternatives) -> LazyAutomaton:
    """The lazy automaton of several alternatives: components that they share are one."""
    check_alternative(query, shared.union)
    members = [query.alternatives[number] for number in shared.numbers]
    return _Compiler(query, shared.union, place_shared(query, shared), members).compile()


class _Compiler:
    def __init__(
        self,
        query: AnalysedQuery,
        alternative: Alternative,
        placement: LazyPlacement,
        members: list[Alternative],
    ) -> None:
        assert query.schema is not None
        self._query = query
        self._schema = query.schema
        self._alternative = alternative
        self._components = alternative.components
        self._placement = placement
        self._members = members
        self._vector = SlotVector(query.schema, alternative.components)
        self._writer = PredicateWriter()
        self._events = EventTestWriter(self._schema, self._writer)
        self._places = {part.variable: ix for ix, part in enumerate(alternative.components)}

    def compile(self) -> LazyAutomaton:
        if len(self._components) + len(self._alternative.negations) > MAX_COMPONENTS:
            raise Untranslatable(f"it has more than {MAX_COMPONENTS} components")
        tests: list[list[LazyTest]] = [[] for _ in self._components]
        # By clause: snapshots depend on this order, which numbers the registers.
        for clause in self._alternative.clauses:
            for ix, placed in enumerate(self._placement.components):
                for condition in placed.across:
                    if condition.clause is clause:
                        self._events.check_attributes(clause, self._components)
                        tests[ix].extend(self._tests(placed.component, condition))
        negations = tuple(map(self._negation, self._placement.early))
        event_tests = [
            self._event_test(placed.component, [clause.literals for clause in placed.on_event])
            for placed in self._placement.components
        ]
        # Only now is it known which registers the predicates read.
        components = tuple(
            LazyComponent(
                placed.component,
                event_tests[ix],
                placed.least,
                placed.most,
                placed.earlier,
                placed.later,
                self._rivals(ix),
                tuple(map(self._with_updates, tests[ix])),
                self._updates(placed.component, Phase.BEGIN),
                self._updates(placed.component, Phase.TAKE),
            )
            for ix, placed in enumerate(self._placement.components)
        )
        return LazyAutomaton(
            self._placement,
            components,
            negations,
            # Of alternatives together, one may have components in another order than they are here.
            all(each.is_sequence for each in self._members)
            and all(list(each) == sorted(each) for each in self._placement.alternatives),
            self._links(),
            tuple(self._vector.columns.items()),
            tuple(self._vector.registers.values()),
            tuple(self._writer.constants),
            self._writer.source(),
        )

    def _updates(self, component: ast.Component, phase: Phase) -> tuple[Update, ...]:
        return self._vector.updates(component, phase) if component.is_kleene else ()

    # --- clauses across events

    def _tests(self, component: ast.Component, condition: AcrossComponents) -> Iterator[LazyTest]:
        """The tests of the condition where this component is bound last."""
        clause, needs, label = condition.clause, condition.needs, condition.label
        own = component.variable
        others = [name for name in clause.ranges if name != own]
        at_hand = partial(self._vector.at_hand, own=own)
        if not component.is_kleene:
            if others:
                yield self._of_all(clause, needs, label)
            else:
                yield self._of_event(layout.BIND, Test(clause.expression, at_hand), needs, label)
            return
        numbers = {
            node.index
            for literal in clause.literals
            for node in literal.walk()
            if isinstance(node, ast.Element)
            and node.variable == own
            and isinstance(node.index, int)
        }
        last_number = max(numbers, default=0)
        names_elements = own in clause.ranges or last_number > 0
        if (
            others
            or not names_elements
            or any(reads_whole_list(literal, own) for literal in clause.literals)
            or (own in clause.ranges and last_number > 1)
        ):
            yield self._of_all(clause, needs, label)
        elif own in clause.ranges:
            if clause.ranges[own] == 1:
                first = Test(clause.expression, partial(at_hand, begins=True))
                yield self._of_event(layout.BEGIN, first, needs, label)
            yield self._of_event(layout.TAKE, Test(clause.expression, at_hand), needs, label)
        elif last_number == 1:
            first = Test(clause.expression, partial(at_hand, begins=True))
            yield self._of_event(layout.BEGIN, first, needs, label)
        else:
            length = self._vector.of_instance(ast.Length(own)).code
            test = Test(
                clause.expression,
                partial(at_hand, at=last_number),
                f"{length} == {last_number - 1}",
            )
            yield self._of_event(layout.TAKE, test, needs, label)

    def _of_event(self, phase: int, test: Test, needs: int, label: str) -> LazyTest:
        return LazyTest(phase, needs, self._writer.add([test]), label)

    def _of_all(self, clause: Clause, needs: int, label: str) -> LazyTest:
        """The test of a clause where all its components are complete, for all elements it names."""
        number = self._writer.add([Test(clause.expression, self._vector.of_instance)])
        ranges = tuple(
            Range(self._places[name], first)
            for name, first in clause.ranges.items()
            if name in self._places
        )
        return LazyTest(layout.COMPLETED, needs, number, label, ranges)

    def _with_updates(self, test: LazyTest) -> LazyTest:
        """The test with the updates that its ranges make to registers of earlier elements."""
        if not test.ranges:
            return test
        ranges = tuple(
            Range(
                each.component,
                each.first,
                self._vector.register_bits(component.variable + PRIOR),
                self._vector.prior_updates(component, Phase.BEGIN),
                self._vector.prior_updates(component, Phase.TAKE),
            )
            for each in test.ranges
            for component in [self._components[each.component]]
        )
        return LazyTest(test.phase, test.needs, test.predicate, test.label, ranges)

    # --- components

    def _event_test(self, component: ast.Component, clauses: list[Literals]) -> EventTest:
        """The test of an event alone, as far as possible in generated code."""
        values = equivalences_at(self._query, EventUnit(component, None), None)
        clauses = [*clauses, *((value,) for value in values)]
        resolve = partial(self._vector.at_hand, own=component.variable, begins=True)
        return self._events.event_test(component, clauses, resolve)

    def _rivals(self, ix: int) -> int:
        """The components that may bind the same events: unordered ones with a common type."""
        types = set(self._components[ix].types)
        return sum(
            1 << other
            for other, component in enumerate(self._components)
            if other != ix
            and (ix, other) not in self._alternative.before
            and (other, ix) not in self._alternative.before
            and types & set(component.types)
        )

    # --- links

    def _links(self) -> tuple[Link, ...]:
        """The attributes by which events of a component are looked up in a partition.

        There are none if the window counts the events of a partition: a group of a partition
        without new events would never be evicted.
        """
        window = self._query.query.window
        if window and window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            return ()
        groups = [list(terms) for terms in self._placement.equal]
        for number, negated in enumerate(self._placement.early, start=len(self._components)):
            for own, other in self._ties(negated):
                group = next((each for each in groups if other in each), None)
                if group is None:
                    group = [other]
                    groups.append(group)
                group.append((number, own))
                break
        return tuple(Link(tuple(group)) for group in groups)

    def _ties(self, negated: NegatedComponent) -> Iterator[tuple[str, tuple[int, str]]]:
        """Attributes of the negated component that equal one of a single component."""
        own = negated.component
        partitions = self._placement.partition_attributes
        for clause in negated.clauses:
            match clause.literals:
                case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                    pass
                case _:
                    continue
            for mine, other in ((left, right), (right, left)):
                place = self._places.get(other.variable)
                if mine.variable != own.variable or place is None:
                    continue
                kinds = {self._schema.kind(mine.attribute), self._schema.kind(other.attribute)}
                if (
                    len(kinds) == 1
                    and Kind.LIST not in kinds
                    and not mine.attribute == other.attribute in partitions
                    and not self._components[place].is_kleene
                    and self._events.has_attributes(own, (mine,))
                    and self._events.has_attributes(self._components[place], (other,))
                ):
                    yield mine.attribute, (place, other.attribute)

    # --- negation

    def _negation(self, negated: NegatedComponent) -> LazyNegation:
        component = negated.component
        resolve = partial(self._vector.at_hand, own=component.variable)
        on_event, across = self._events.negation_tests(negated, self._components, resolve)
        predicate = self._writer.add(across) if across else layout.NONE
        return LazyNegation(
            component,
            self._event_test(component, on_event),
            sum(1 << ix for ix in negated.after),
            sum(1 << ix for ix in negated.before),
            sum(1 << ix for ix in needed_by(self._alternative, negated)),
            predicate,
        )
