"""Compiles an alternative to a lazy automaton, for any order of binding [Kolchinsky17 §4].

The components of a chain are bound in an order of frequency that is not known here, and those
of a tree in an order that each instance chooses. So every clause is compiled once for each of
its variables, as the test for when that variable is bound last.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, NegatedComponent
from cepheid.codegen.compiled_once import compiled_once
from cepheid.codegen.layout import MAX_COMPONENTS, UNBOUNDED
from cepheid.codegen.predicates import PredicateWriter, Test, Untranslatable
from cepheid.codegen.sequences import check_attributes, compile_negation, partition_attributes
from cepheid.codegen.steps import EventTest, Phase
from cepheid.engines.base.options import BY_COST, FIRST_CHANCE
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.links import LinkFinder, has_attributes
from cepheid.engines.lazy.negation import is_tested_early
from cepheid.engines.lazy.sharing import SharedAlternatives
from cepheid.engines.lazy.tables import (
    LazyAutomaton,
    LazyComponent,
    LazyNegation,
    LazyTest,
    Range,
)
from cepheid.engines.lazy.values import PRIOR, SlotVector
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression

Literals = tuple[ast.Expression, ...]


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
    return _Compiler(query, alternative, negation=negation).compile()


@compiled_once
def compile_shared(query: AnalysedQuery, shared: SharedAlternatives) -> LazyAutomaton:
    """The lazy automaton of several alternatives, with each shared component once."""
    return _Compiler(query, shared.union, shared).compile()


class _Compiler:
    def __init__(
        self,
        query: AnalysedQuery,
        alternative: Alternative,
        shared: SharedAlternatives | None = None,
        negation: str = FIRST_CHANCE,
    ) -> None:
        self._shared = shared
        assert query.schema is not None
        self._query = query
        self._schema = query.schema
        self._alternative = alternative
        self._components = alternative.components
        self._vector = SlotVector(query.schema, alternative.components)
        self._writer = PredicateWriter()
        self._places = {part.variable: ix for ix, part in enumerate(alternative.components)}
        self._early = [
            negated
            for negated in alternative.negations
            if is_tested_early(alternative, negated, negation)
        ]

    def compile(self) -> LazyAutomaton:
        if len(self._components) + len(self._alternative.negations) > MAX_COMPONENTS:
            raise Untranslatable(f"it has more than {MAX_COMPONENTS} components")
        attributes = partition_attributes(self._query, self._alternative)
        on_event: dict[int, list[Literals]] = {ix: [] for ix in range(len(self._components))}
        tests: dict[int, list[LazyTest]] = {ix: [] for ix in on_event}
        for clause in self._alternative.clauses:
            named = [ix for name, ix in self._places.items() if name in clause.variables]
            if not named or (len(named) == 1 and self._is_on_event(clause, named[0])):
                on_event[named[0] if named else 0].append(clause.literals)
                continue
            check_attributes(self._schema, clause, self._components)
            for ix in named:
                tests[ix].extend(self._tests(clause, ix, named))
        negations = tuple(map(self._negation, self._early))
        event_tests = [self._event_test(self._components[ix], on_event[ix]) for ix in on_event]
        # The registers that predicates read are known only after all tests are compiled.
        components = tuple(
            LazyComponent(
                component,
                event_tests[ix],
                self._least(component),
                (component.bounds.most or UNBOUNDED) if component.bounds else 1,
                sum(1 << i for i, j in self._alternative.before if j == ix),
                sum(1 << j for i, j in self._alternative.before if i == ix),
                self._rivals(ix),
                tuple(map(self._with_updates, tests[ix])),
                self._vector.updates(component, Phase.BEGIN) if component.is_kleene else (),
                self._vector.updates(component, Phase.TAKE) if component.is_kleene else (),
            )
            for ix, component in enumerate(self._components)
        )
        links = LinkFinder(self._query, self._schema, self._alternative, self._shared, self._early)
        places: tuple[tuple[int, ...], ...] = (tuple(range(len(components))),)
        members = [self._alternative]
        if self._shared is not None:
            places = self._shared.places
            members = [self._query.alternatives[number] for number in self._shared.numbers]
        return LazyAutomaton(
            places,
            components,
            negations,
            # An alternative may have its components in another order than the union.
            all(each.is_sequence for each in members) and all(list(p) == sorted(p) for p in places),
            attributes,
            links.links(attributes),
            tuple(self._vector.columns.items()),
            tuple(self._vector.registers.values()),
            tuple(self._writer.constants),
            self._writer.source(),
        )

    # --- clauses across events

    def _tests(self, clause: Clause, ix: int, named: list[int]) -> Iterator[LazyTest]:
        """The tests of a clause where this component is the last one to be bound."""
        component = self._components[ix]
        needs = sum(1 << other for other in named if other != ix)
        label = print_expression(clause.expression, self._query.query)
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
            or self._speaks_of_whole(clause, own)
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

    @staticmethod
    def _speaks_of_whole(clause: Clause, variable: str) -> bool:
        """Whether the clause names a value that is known only when the list is complete."""
        for literal in clause.literals:
            for node in literal.walk():
                match node:
                    case ast.Length(name) | ast.Aggregate(_, name, ast.Scope.WHOLE, _):
                        if name == variable:
                            return True
                    case ast.Element(name, ast.Index.LAST, _) if name == variable:
                        return True
        return False

    def _is_on_event(self, clause: Clause, ix: int) -> bool:
        """Whether the clause can be tested on each event of the component alone."""
        component = self._components[ix]
        if component.is_kleene and clause.ranges.get(component.variable) != 1:
            return False
        for literal in clause.literals:
            for node in literal.walk():
                match node:
                    case ast.Attribute() | ast.Element(_, ast.Index.CURRENT, _):
                        continue
                    case ast.Element() | ast.Length() | ast.Aggregate():
                        return False
        return not clause.least_lengths

    # --- components

    def _event_test(self, component: ast.Component, clauses: list[Literals]) -> EventTest:
        """The test of an event alone, as far as possible in generated code.

        It includes the equivalence tests with a value, such as ``[attr='v']``.
        """
        values = [
            (ast.Comparison("=", ast.Attribute(component.variable, test.attribute), test.value),)
            for test in self._query.equivalences
            if test.value is not None
        ]
        resolve = partial(self._vector.at_hand, own=component.variable, begins=True)
        generated: list[Test] = []
        others: list[Literals] = []
        for literals in (*clauses, *values):
            test = Test(literals[0] if len(literals) == 1 else ast.Or(literals), resolve)
            if has_attributes(self._schema, component, literals) and self._writer.can_add(test):
                generated.append(test)
            else:
                others.append(literals)
        number = self._writer.add_event_test(generated) if generated else layout.NONE
        return EventTest(component.types, number, tuple(others))

    def _least(self, component: ast.Component) -> int:
        """The least number of events; a Kleene component has all elements that conditions name."""
        if component.bounds is None:
            return 1
        named = [c.least_lengths.get(component.variable, 1) for c in self._alternative.clauses]
        return max(component.bounds.least, *named, 1)

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

    # --- negation

    def _negation(self, negated: NegatedComponent) -> LazyNegation:
        component = negated.component
        own = component.variable
        on_event: list[Literals] = []
        across: list[Test] = []
        needs = {*negated.after, *negated.before}
        for clause in negated.clauses:
            named = {self._places[name] for name in clause.variables if name in self._places}
            if not named:
                on_event.append(clause.literals)
                continue
            for name in clause.ranges:
                raise Untranslatable(f"every event of {name}[] is compared with the negated {own}")
            check_attributes(self._schema, clause, (*self._components, component))
            needs |= named
            resolve = partial(self._vector.at_hand, own=own)
            across.append(Test(clause.expression, resolve))
            for name, length in clause.least_lengths.items():
                longer = ast.Comparison(">=", ast.Length(name), ast.Literal(length))
                across.append(Test(longer, resolve))
        predicate = self._writer.add(across) if across else layout.NONE
        return LazyNegation(
            component,
            self._event_test(component, on_event),
            sum(1 << ix for ix in negated.after),
            sum(1 << ix for ix in negated.before),
            sum(1 << ix for ix in needs),
            predicate,
        )
