"""A sequence compiled to an NFA^b: states, edges, formulas, registers [Agrawal08 §3.2].

Step 1, the structure, is one step per component. Step 2 places every clause on the edge of
its last identifier. Step 3, the selection strategy, is one number that the kernel reads.
Steps 4 and 5, the window, hold on every edge. Step 6: a run leaves a Kleene component only
on an event that can begin the next one.

Clauses on one event alone become conditions for the mask of that event. The others become
predicates over the event and the registers of a run.
"""

from __future__ import annotations

from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge, NegatedComponent
from cepheid.codegen import layout
from cepheid.codegen.compiled_once import compiled_once
from cepheid.codegen.context_reads import register_value
from cepheid.codegen.list_bounds import by_bounds
from cepheid.codegen.predicates import (
    PredicateWriter,
    Storage,
    Test,
    Untranslatable,
)
from cepheid.codegen.steps import EventTest, NegationTest, NfaB, Phase, Step
from cepheid.codegen.value_vector import ValueVector
from cepheid.language import syntax as ast
from cepheid.schema import Schema

_STRATEGIES = {
    ast.SelectionStrategy.STRICT_CONTIGUITY: layout.STRICT,
    ast.SelectionStrategy.PARTITION_CONTIGUITY: layout.PARTITION_CONTIGUITY,
    ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH: layout.NEXT,
    ast.SelectionStrategy.SKIP_TILL_ANY_MATCH: layout.ANY,
}


def refuse_nfa_b(query: AnalysedQuery) -> str | None:
    """Why an NFA^b cannot run the query, or None."""
    if query.schema is None:
        missing = [a for a in query.alternatives if not a.is_sequence]
        return "AND is not a sequence" if missing else None
    try:
        for alternative in query.alternatives:
            compile_nfa_b(query, alternative)
            for negated in alternative.negations:
                compile_negation(query, alternative, negated)
    except Untranslatable as reason:
        return str(reason)
    return None


@compiled_once
def compile_nfa_b(query: AnalysedQuery, alternative: Alternative) -> NfaB:
    """The automaton of one alternative of a query with a known schema."""
    return SequenceCompiler(query, alternative).compile_automaton()


def compile_negation(
    query: AnalysedQuery, alternative: Alternative, negated: NegatedComponent
) -> NegationTest:
    """The test of one negated component of an alternative."""
    return SequenceCompiler(query, alternative).compile_negation(negated)


def partition_attributes(query: AnalysedQuery, alternative: Alternative) -> tuple[str, ...]:
    """The attributes that partition the events: all events of a match agree in them."""
    return SequenceCompiler(query, alternative)._partition_attributes()


class SequenceCompiler:
    """Compiles one alternative of a query: its conditions to tests and predicates."""

    def __init__(self, query: AnalysedQuery, alternative: Alternative) -> None:
        assert query.schema is not None
        self._query = query
        self._schema: Schema = query.schema
        self._alternative = alternative
        self._components = alternative.components
        self._clauses = alternative.clauses
        self._vector = ValueVector(self._schema, self._components)
        self._writer = PredicateWriter()
        self._edges: list[tuple[int, str]] = []
        self._check()

    def _check(self) -> None:
        if len(self._components) > layout.MAX_COMPONENTS:
            raise Untranslatable(f"it has more than {layout.MAX_COMPONENTS} components")
        counts_partitions = (
            self._query.query.window is not None
            and self._query.query.window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION
        )
        strategy = self._query.query.strategy
        for test in self._query.equivalences:
            lacking = [
                name
                for component in self._components
                for name in component.types
                if not self._schema.has_attribute(name, test.attribute)
            ]
            if strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY or counts_partitions:
                lacking += [
                    name
                    for name in self._schema.types or ()
                    if not self._schema.has_attribute(name, test.attribute)
                ]
            if lacking:
                raise Untranslatable(
                    f"{lacking[0]} has no attribute '{test.attribute}', so that its events belong "
                    "to every partition"
                )

    def compile_automaton(self) -> NfaB:
        """The automaton that the kernels of nfa_b run."""
        if not self._alternative.is_sequence:
            raise Untranslatable("it has AND, and an NFA^b reads a sequence")
        # If every subset is a match, it is better to bind a list after what it is compared with.
        if self._query.query.strategy is not ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
            self._clauses = tuple(
                bound
                for clause in self._clauses
                for bound in by_bounds(clause, self._components, self._schema)
            )
        last = len(self._components) - 1
        steps = []
        for ix, component in enumerate(self._components):
            begin_test, begin = self._place(ix, Phase.BEGIN)
            if component.is_kleene:
                take_test, take = self._place(ix, Phase.TAKE)
            else:
                take_test, take = EventTest(()), layout.NONE
            final = layout.NONE
            if component.is_kleene and ix == last:
                _, final = self._place(ix, Phase.FINAL)
            steps.append((component, begin_test, take_test, begin, take, final))
        # Only now all registers that predicates read are known.
        finished = tuple(
            Step(
                component,
                self._least(component),
                (component.bounds.most or layout.UNBOUNDED) if component.bounds else 1,
                begin_test,
                take_test,
                begin,
                take,
                final,
                self._vector.updates(component, Phase.BEGIN),
                self._vector.updates(component, Phase.TAKE) if component.is_kleene else (),
            )
            for component, begin_test, take_test, begin, take, final in steps
        )
        strategy = self._query.query.strategy
        by_partition = strategy is not ast.SelectionStrategy.STRICT_CONTIGUITY
        return NfaB(
            finished,
            _STRATEGIES[strategy],
            self._partition_attributes(),
            by_partition,
            tuple(self._vector.columns.items()),
            tuple(self._vector.registers.values()),
            self._vector.read_until,
            tuple(self._writer.constants),
            self._writer.source(),
            self._writer.count,
            tuple(self._edges),
        )

    def compile_negation(self, negated: NegatedComponent) -> NegationTest:
        """The test of one negated component."""
        own = negated.component.variable
        on_event: list[tuple[ast.Expression, ...]] = []
        across: list[Test] = []
        resolve = partial(self._vector.resolve, own=own, phase=Phase.BEGIN)
        for clause in negated.clauses:
            if clause.ranges:
                name = next(iter(clause.ranges))
                raise Untranslatable(f"every event of {name}[] is compared with the negated {own}")
            if self._is_on_event(clause, negated.component, Phase.BEGIN):
                on_event.append(clause.literals)
                continue
            self._check_attributes(clause, (*self._components, negated.component))
            across.append(Test(clause.expression, resolve))
            for name, length in clause.least_lengths.items():
                longer = ast.Comparison(">=", ast.Length(name), ast.Literal(length))
                across.append(Test(longer, resolve))
        for test in self._query.equivalences:
            if test.value is not None:
                on_event.append(
                    (ast.Comparison("=", ast.Attribute(own, test.attribute), test.value),)
                )
            for name in negated.component.types:
                if not self._schema.has_attribute(name, test.attribute):
                    raise Untranslatable(f"{name} has no attribute '{test.attribute}'")
        # Predicate 0 is the one across events, if there is one.
        if across:
            self._writer.add(across)
        event_test = self._event_test(negated.component, Phase.BEGIN, on_event, [])
        return NegationTest(
            negated.component,
            event_test,
            sum(1 << ix for ix in negated.after),
            sum(1 << ix for ix in negated.before),
            negated.waits,
            tuple(self._only_updates(component) for component in self._components),
            tuple(self._vector.columns.items()),
            tuple(self._vector.registers.values()),
            tuple(self._writer.constants),
            self._writer.source(),
            bool(across),
        )

    def _only_updates(self, component: ast.Component) -> Step:
        """A step that fills registers and tests nothing."""
        nothing = EventTest(())
        begin = self._vector.updates(component, Phase.BEGIN)
        take = self._vector.updates(component, Phase.TAKE) if component.is_kleene else ()
        none = layout.NONE
        return Step(component, 1, 1, nothing, nothing, none, none, none, begin, take)

    # --- partitions

    def _partition_attributes(self) -> tuple[str, ...]:
        """The attributes that partition the runs.

        Equivalence tests define partitions. A key that was found in the conditions is used as
        well, if leaving out other events changes nothing. In a pattern of one component it would
        change something: a list of one event may have null as its key.
        """
        attributes = [test.attribute for test in self._query.equivalences]
        if len(self._components) > 1 and self._query.query.strategy.skips:
            measure = self._query.query.window.measure if self._query.query.window else None
            if measure is not ast.WindowMeasure.EVENTS_PER_PARTITION:
                for key in self._alternative.partition_keys:
                    name = key.attributes[0]
                    if len(set(key.attributes)) == 1 and self._is_everywhere(name):
                        attributes.append(name)
        return tuple(dict.fromkeys(attributes))

    def _is_everywhere(self, attribute: str) -> bool:
        """Whether all events of a match and all that could violate it have this key."""
        return all(
            self._schema.has_attribute(name, attribute)
            for component in self._components
            for name in component.types
        ) and all(_is_tied(negated, attribute) for negated in self._alternative.negations)

    # --- clauses

    def _least(self, component: ast.Component) -> int:
        """The minimum length of a component: conditions may name a later element."""
        if component.bounds is None:
            return 1
        named = [c.least_lengths.get(component.variable, 1) for c in self._clauses]
        return max(component.bounds.least, *named, 1)

    def _place(self, ix: int, phase: Phase) -> tuple[EventTest, int]:
        """The test of an event and the predicate for this component and phase."""
        component = self._components[ix]
        self._vector.state = 2 * ix if phase is Phase.BEGIN else 2 * ix + 1
        on_event: list[tuple[ast.Expression, ...]] = []
        across: list[Test] = []
        for clause in self._clauses_at(ix, phase):
            if phase is not Phase.FINAL and self._is_on_event(clause, component, phase):
                on_event.append(clause.literals)
            else:
                self._check_attributes(clause, self._components)
                across.append(self._test(clause, ix, phase))
        present: list[str] = []
        for test in self._query.equivalences if phase is not Phase.FINAL else ():
            if test.value is not None:
                here = ast.Attribute(component.variable, test.attribute)
                on_event.append((ast.Comparison("=", here, test.value),))
            if self._query.query.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
                present.append(test.attribute)
                if ix > 0 or phase is Phase.TAKE:
                    same = self._same_as_first(component, test.attribute)
                    own = component.variable
                    across.append(Test(same, partial(self._vector.resolve, own=own, phase=phase)))
        number = layout.NONE
        if across:
            number = self._writer.add(across)
            self._edges.append((number, f"{component.variable}_{phase.value}"))
        return self._event_test(component, phase, on_event, present), number

    def _event_test(
        self,
        component: ast.Component,
        phase: Phase,
        clauses: list[tuple[ast.Expression, ...]],
        present: list[str],
    ) -> EventTest:
        """The test of an event alone, in generated code as far as possible."""
        resolve = partial(self._vector.resolve, own=component.variable, phase=phase)
        generated: list[Test] = []
        others: list[tuple[ast.Expression, ...]] = []
        for literals in clauses:
            test = Test(literals[0] if len(literals) == 1 else ast.Or(literals), resolve)
            if self._has_attributes(component, literals) and self._writer.can_add(test):
                generated.append(test)
            else:
                others.append(literals)
        number = self._writer.add_event_test(generated) if generated else layout.NONE
        return EventTest(component.types, number, tuple(others), tuple(present))

    def _has_attributes(
        self, component: ast.Component, literals: tuple[ast.Expression, ...]
    ) -> bool:
        return all(
            self._schema.has_attribute(name, attribute)
            for literal in literals
            for node in literal.walk()
            if (attribute := getattr(node, "attribute", None)) is not None
            for name in component.types
        )

    def _clauses_at(self, ix: int, phase: Phase) -> list[Clause]:
        """The clauses that are tested here: this is their last identifier."""
        found = []
        variable = self._components[ix].variable
        for clause in self._clauses:
            if clause.component_ix is None:
                if ix == 0 and phase is Phase.BEGIN:
                    found.append(clause)
                continue
            self._check_ranges(clause)
            at_end = clause.edge is Edge.PROCEED
            if phase is Phase.FINAL:
                here = at_end and clause.component_ix == ix
            elif phase is Phase.TAKE:
                here = clause.edge is Edge.TAKE and clause.component_ix == ix
            else:
                here = (at_end and clause.component_ix == ix - 1) or (
                    clause.component_ix == ix
                    and (clause.edge is Edge.BEGIN or clause.ranges.get(variable) == 1)
                    and not at_end
                )
            if here:
                found.append(clause)
        return found

    def _check_ranges(self, clause: Clause) -> None:
        assert clause.component_ix is not None
        here = self._components[clause.component_ix].variable
        for variable in clause.ranges:
            if variable != here or clause.edge is not Edge.TAKE:
                raise Untranslatable(
                    f"every event of {variable}[] is compared with what is known only later"
                )
            if clause.least_lengths.get(variable, 1) > 1:
                raise Untranslatable(f"every event of {variable}[] is compared with a numbered one")

    def _is_on_event(self, clause: Clause, component: ast.Component, phase: Phase) -> bool:
        """Whether the clause refers to the current event only."""
        for literal in clause.literals:
            for node in literal.walk():
                match node:
                    case ast.Attribute(variable) if variable == component.variable:
                        continue
                    case ast.Element(variable, ast.Index.CURRENT, _):
                        if variable == component.variable:
                            continue
                        return False
                    case ast.Element(variable, 1, _):
                        if variable == component.variable and phase is Phase.BEGIN:
                            continue
                        return False
                    case ast.Attribute() | ast.Element() | ast.Length() | ast.Aggregate():
                        return False
        return True

    def _test(self, clause: Clause, ix: int, phase: Phase) -> Test:
        """The test of a clause; a clause on a numbered element is tested at that element only."""
        variable = self._components[ix].variable
        if phase is not Phase.TAKE or clause.ranges:
            return Test(clause.expression, partial(self._vector.resolve, own=variable, phase=phase))
        number = clause.least_lengths[variable]
        length = self._vector.register(variable, "length", None, Storage.INT)
        return Test(
            clause.expression,
            partial(self._vector.resolve, own=variable, phase=phase, at=number),
            f"{register_value(length, is_float=False)} == {number - 1}",
        )

    def _same_as_first(self, component: ast.Component, attribute: str) -> ast.Expression:
        first = self._components[0]
        here: ast.Expression = ast.Attribute(component.variable, attribute)
        if component.is_kleene:
            here = ast.Element(component.variable, ast.Index.CURRENT, attribute)
        there: ast.Expression = ast.Attribute(first.variable, attribute)
        if first.is_kleene:
            there = ast.Element(first.variable, 1, attribute)
        return ast.Comparison("=", here, there)

    def _check_attributes(self, clause: Clause, components: tuple[ast.Component, ...]) -> None:
        check_attributes(self._schema, clause, components)


def check_attributes(schema: Schema, clause: Clause, components: tuple[ast.Component, ...]) -> None:
    """Refuse a clause across events with types that lack one of its attributes."""
    for component in components:
        for literal in clause.literals:
            for node in literal.walk():
                attribute = getattr(node, "attribute", None)
                if getattr(node, "variable", None) == component.variable and attribute:
                    for name in component.types:
                        if not schema.has_attribute(name, attribute):
                            raise Untranslatable(
                                f"{name} has no attribute '{attribute}', and a condition "
                                "compares it across events"
                            )


def _is_tied(negated: NegatedComponent, attribute: str) -> bool:
    """Whether a condition equates the attribute with that of an event of the match."""
    own = negated.component.variable
    for clause in negated.clauses:
        match clause.literals:
            case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                if own in (left.variable, right.variable) and (
                    left.attribute == right.attribute == attribute
                ):
                    return True
    return False
