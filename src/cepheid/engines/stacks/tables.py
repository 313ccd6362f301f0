"""A sequence compiled for active instance stacks: tests, predicates and equivalence keys [Wu06 §4].

Construction binds the components from the last one back. A condition is therefore tested when
the first component that it names, in pattern order, is bound: its other variables are bound by
then. The values of an event that later tests read are kept with its instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.compiler import compiled_once
from cepheid.codegen.sequences import SequenceCompiler, partition_attributes, untranslatable
from cepheid.codegen.steps import EventTest, Generated, Phase, Step
from cepheid.engines.stacks.plan import BoundConditions, bound_conditions, usable_keys
from cepheid.language import syntax as ast


@dataclass(frozen=True, slots=True)
class InstanceStacks(Generated):
    """A sequence as plain data: everything that the kernels need except the events.

    ``keys`` has, for each equivalence key, its attribute in every component; all events of a
    match agree on it. Negated components are found by ``partition_attributes``. The ``begin``
    predicate of a step is tested when its component is bound.
    """

    steps: tuple[Step, ...]
    keys: tuple[tuple[str, ...], ...]
    partition_attributes: tuple[str, ...]
    predicate_count: int
    edges: tuple[tuple[int, str], ...]

    @property
    def tests(self) -> list[EventTest]:
        """The tests of single events, as bits 0, 2, 4 and so on of a mask."""
        return [test for step in self.steps for test in (step.begin_test, step.take_test)]


def refuse_instance_stacks(query: AnalysedQuery) -> str | None:
    """Why instance stacks cannot run the query, or None."""
    if query.query.strategy is not ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        return f"its selection strategy is {query.query.strategy.value}, not skip_till_any_match"
    for alternative in query.alternatives:
        lists = [component for component in alternative.components if component.is_kleene]
        if lists:
            return f"{lists[0].variable}[] takes several events, and an instance is one"
        if not alternative.is_sequence:
            return "it has AND, and stacks are in the order of a sequence"
    return untranslatable(query, compile_instance_stacks)


@compiled_once
def compile_instance_stacks(query: AnalysedQuery, alternative: Alternative) -> InstanceStacks:
    """The stacks of one alternative of a query with a known schema."""
    return _Compiler(query, alternative).compile_stacks()


class _Compiler(SequenceCompiler):
    def compile_stacks(self) -> InstanceStacks:
        keys = usable_keys(self._query, self._alternative)
        bound = bound_conditions(self._query, self._alternative)
        placed = list(map(self._place_bound, bound))
        # Only now is it known which registers the predicates read.
        steps = tuple(
            self._with_updates(Step(component, begin_test=test, begin=predicate))
            for component, (test, predicate) in zip(self._components, placed, strict=True)
        )
        return InstanceStacks(
            *self._generated(),
            steps,
            tuple(key.attributes for key in keys),
            partition_attributes(self._query, self._alternative),
            self._writer.count,
            tuple(self._edges),
        )

    def _place_bound(self, bound: BoundConditions) -> tuple[EventTest, int]:
        """The test of an event alone, and the predicate for when the component is bound."""
        component = bound.component
        here = partial(self._vector.resolve, own=component.variable, phase=Phase.BEGIN)
        resolve = partial(self._vector.resolve, own="", phase=Phase.BEGIN)
        on_event = [clause.literals for clause in bound.on_event]
        across = [self._across(clause, resolve) for clause in bound.across]
        number = self._add_edge(across, f"{component.variable}_bound")
        return self._event_test(component, on_event, here), number
