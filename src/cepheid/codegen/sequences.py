"""A sequence compiled to an NFA^b: states, edges, formulas, registers [Agrawal08 §3.2].

Steps 1 and 2, the structure and the clauses on each edge, come from
:mod:`cepheid.codegen.edges`. Step 3, the selection strategy, is one number that the kernel reads.
Steps 4 and 5, the window, hold on every edge. Step 6: a run leaves a Kleene component only
on an event that can begin the next one.

Clauses on a single event become conditions for the mask of that event; the others become
predicates over the event and the registers of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge, NegatedComponent
from cepheid.codegen import layout
from cepheid.codegen.compiler import AlternativeCompiler, Literals, compiled_once, is_on_event
from cepheid.codegen.context_reads import register_value
from cepheid.codegen.edges import (
    current_event,
    edges_of,
    first_event,
    known_from,
    reads_prior,
)
from cepheid.codegen.expressions import Storage, Untranslatable
from cepheid.codegen.predicates import Test
from cepheid.codegen.steps import (
    EventTest,
    JointTest,
    JointTests,
    NegationTest,
    NfaB,
    Phase,
    Step,
)
from cepheid.codegen.value_vector import ValueVector
from cepheid.language import syntax as ast

_STRATEGIES = {
    ast.SelectionStrategy.STRICT_CONTIGUITY: layout.STRICT,
    ast.SelectionStrategy.PARTITION_CONTIGUITY: layout.PARTITION_CONTIGUITY,
    ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH: layout.NEXT,
    ast.SelectionStrategy.SKIP_TILL_ANY_MATCH: layout.ANY,
}


def refuse_nfa_b(query: AnalysedQuery) -> str | None:
    """Why an NFA^b cannot run the query, or None."""
    if query.schema is None and not all(each.is_sequence for each in query.alternatives):
        return "AND is not a sequence"
    return untranslatable(query, compile_nfa_b)


def has_too_many_components(query: AnalysedQuery) -> bool:
    """Whether an alternative has more components than native code can number."""
    return any(len(each.components) > layout.MAX_COMPONENTS for each in query.alternatives)


def untranslatable(
    query: AnalysedQuery, compiled: Callable[[AnalysedQuery, Alternative], object]
) -> str | None:
    """Why an alternative or a negation of the query cannot be compiled, or None.

    Without a schema nothing is compiled yet.
    """
    if has_too_many_components(query):
        return layout.TOO_MANY_COMPONENTS
    if query.schema is None:
        return None
    try:
        for alternative in query.alternatives:
            compiled(query, alternative)
            for negated in alternative.negations:
                compile_negation(query, alternative, negated)
    except Untranslatable as reason:
        return str(reason)
    return None


@compiled_once
def compile_nfa_b(query: AnalysedQuery, alternative: Alternative) -> NfaB:
    """The automaton of one alternative of a query with a known schema."""
    return SequenceCompiler(query, alternative).compile_automaton()


@compiled_once
def compile_joint_tests(query: AnalysedQuery, alternative: Alternative) -> JointTests:
    """The conditions across events of an alternative without lists, for any order of binding."""
    return SequenceCompiler(query, alternative).compile_joint_tests()


def compile_negation(
    query: AnalysedQuery, alternative: Alternative, negated: NegatedComponent
) -> NegationTest:
    """The test of one negated component of an alternative."""
    return SequenceCompiler(query, alternative).compile_negation(negated)


def partition_attributes(query: AnalysedQuery, alternative: Alternative) -> tuple[str, ...]:
    """The attributes by which runs are partitioned.

    Equivalence tests define the partitions. A key found in the conditions is used too, if leaving
    out other events changes no match. In a pattern of one component it would change matches: a
    list of one event may have a null in this attribute. Without a schema every type has every
    attribute.
    """
    attributes = [test.attribute for test in query.equivalences]
    if len(alternative.components) > 1 and query.query.strategy.skips:
        for key in () if query.counts_partitions else alternative.partition_keys:
            name = key.attributes[0]
            if len(set(key.attributes)) == 1 and _is_everywhere(query, alternative, name):
                attributes.append(name)
    return tuple(dict.fromkeys(attributes))


def _is_everywhere(query: AnalysedQuery, alternative: Alternative, attribute: str) -> bool:
    """Whether all events of a match, and those that could violate it, have this key."""
    schema = query.schema
    has_key = schema is None or all(
        schema.has_attribute(name, attribute)
        for component in alternative.components
        for name in component.types
    )
    return has_key and all(_is_tied(negated, attribute) for negated in alternative.negations)


class SequenceCompiler(AlternativeCompiler):
    """Compiles one alternative of a query to the steps of a sequence."""

    def __init__(self, query: AnalysedQuery, alternative: Alternative) -> None:
        super().__init__(query, alternative, ValueVector)
        self._edges: list[tuple[int, str]] = []

    def compile_automaton(self) -> NfaB:
        """The automaton that the kernels of nfa_b run."""
        if not self._alternative.is_sequence:
            raise Untranslatable("it has AND, and an NFA^b reads a sequence")
        steps = []
        all_edges = edges_of(self._query, self._alternative)
        for ix, edges in enumerate(all_edges):
            for clause in (*edges.begin, *edges.take, *edges.proceed):
                self._check_ranges(clause)
            test, predicate = self._place(ix, Phase.BEGIN, edges.entry)
            step = Step(edges.component, edges.least, edges.most, test, begin=predicate)
            if edges.component.is_kleene:
                test, predicate = self._place(ix, Phase.TAKE, edges.take)
                step = replace(step, take_test=test, take=predicate)
            steps.append(step)
        if self._components[-1].is_kleene:
            _, predicate = self._place(len(steps) - 1, Phase.FINAL, all_edges[-1].proceed)
            steps[-1] = replace(steps[-1], final=predicate)
        strategy = self._query.query.strategy
        by_partition = strategy is not ast.SelectionStrategy.STRICT_CONTIGUITY
        return NfaB(
            *self._generated(),
            tuple(map(self._with_updates, steps)),
            _STRATEGIES[strategy],
            partition_attributes(self._query, self._alternative),
            by_partition,
            self._vector.stored_values,
            self._vector.read_until,
            self._writer.count,
            tuple(self._edges),
        )

    def compile_joint_tests(self) -> JointTests:
        """One predicate for each set of components that conditions compare."""
        tests: list[JointTest] = []
        places = {component.variable: ix for ix, component in enumerate(self._components)}
        for ix, edges in enumerate(edges_of(self._query, self._alternative)):
            by_set: dict[int, list[Test]] = {}
            for clause in edges.entry:
                if not is_on_event(clause.literals, edges.component, Phase.BEGIN):
                    bound = sum(1 << places[name] for name in clause.variables)
                    by_set.setdefault(bound, []).append(self._test(clause, ix, Phase.BEGIN))
            tests += [
                JointTest(bound, ix, self._writer.add(across)) for bound, across in by_set.items()
            ]
        steps = tuple(self._with_updates(Step(each)) for each in self._components)
        return JointTests(*self._generated(), steps, tuple(tests))

    def compile_negation(self, negated: NegatedComponent) -> NegationTest:
        """The test of one negated component."""
        component = negated.component
        resolve = partial(self._vector.resolve, own=component.variable, phase=Phase.BEGIN)
        event_test, predicate = self._negation(negated, resolve)
        for test in self._query.equivalences:
            for name in component.types:
                if not self._schema.has_attribute(name, test.attribute):
                    raise Untranslatable(f"{name} has no attribute '{test.attribute}'")
        return NegationTest(
            *self._generated(),
            component,
            event_test,
            sum(1 << ix for ix in negated.after),
            sum(1 << ix for ix in negated.before),
            negated.waits,
            # Steps that fill registers and test nothing.
            tuple(self._with_updates(Step(each)) for each in self._components),
            # It is predicate 0 then: the test of an event alone is generated later.
            predicate != layout.NONE,
            negated.is_inside,
        )

    def _with_updates(self, step: Step) -> Step:
        """The step with its updates, when all registers that predicates read are known."""
        name, is_kleene = step.component.variable, step.component.is_kleene
        begin, take = (self._vector.updates(name, phase) for phase in (Phase.BEGIN, Phase.TAKE))
        return replace(step, begin_updates=begin, take_updates=take if is_kleene else ())

    # --- clauses

    def _place(self, ix: int, phase: Phase, clauses: tuple[Clause, ...]) -> tuple[EventTest, int]:
        """The test of an event and the predicate for this component and phase."""
        component = self._components[ix]
        self._vector.state = 2 * ix if phase is Phase.BEGIN else 2 * ix + 1
        on_event: list[Literals] = []
        across: list[Test] = []
        for clause in clauses:
            if phase is not Phase.FINAL and is_on_event(clause.literals, component, phase):
                on_event.append(clause.literals)
            else:
                across.append(self._test(clause, ix, phase))
        present: tuple[str, ...] = ()
        resolve = partial(self._vector.resolve, own=component.variable, phase=phase)
        is_strict = self._query.query.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY
        if is_strict and phase is not Phase.FINAL:
            present = tuple(test.attribute for test in self._query.equivalences)
            if ix > 0 or phase is Phase.TAKE:
                here, first = current_event(component), first_event(self._components[0])
                for name in present:
                    same = ast.Comparison("=", here.attribute(name), first.attribute(name))
                    across.append(Test(same, resolve))
        number = self._add_edge(across, f"{component.variable}_{phase.value}")
        if phase is Phase.FINAL:
            return EventTest(()), number
        return self._event_test(component, on_event, resolve, present), number

    def _add_edge(self, across: list[Test], name: str) -> int:
        """The predicate of an edge, which metrics show under this name; NONE without tests."""
        if not across:
            return layout.NONE
        number = self._writer.add(across)
        self._edges.append((number, name))
        return number

    def _check_ranges(self, clause: Clause) -> None:
        here = None
        if clause.component_ix is not None:
            here = self._components[clause.component_ix].variable
        for variable in clause.ranges:
            if variable != here or clause.edge is not Edge.TAKE:
                raise Untranslatable(
                    f"every event of {variable}[] is compared with what is known only later"
                )
            number = known_from(clause, variable)
            if number > layout.MAX_REGISTERS or (number > 1 and reads_prior(clause)):
                raise Untranslatable(f"every event of {variable}[] is compared with a numbered one")

    def _test(self, clause: Clause, ix: int, phase: Phase) -> Test:
        """The test of a clause; one on a numbered element waits for that element."""
        variable = self._components[ix].variable
        resolve = partial(self._vector.resolve, own=variable, phase=phase)
        number = known_from(clause, variable)
        if phase is not Phase.TAKE or (clause.ranges and number == 1):
            return self._across(clause, resolve)
        length = self._vector.register(variable, "length", None, Storage.INT)
        before = register_value(length, is_float=False)
        if clause.ranges:
            # Events up to the numbered one are tested by separate clauses.
            return replace(self._across(clause, resolve), guard=f"{before} >= {number}")
        test = self._across(clause, partial(resolve, at=number))
        return replace(test, guard=f"{before} == {number - 1}")


def _is_tied(negated: NegatedComponent, attribute: str) -> bool:
    """Whether a condition equates the attribute with that of an event of the match."""
    return any(
        own.variable == negated.component.variable and own.attribute == other.attribute == attribute
        for clause in negated.clauses
        for own, other in clause.equal_attributes
    )
