"""Compiles alternatives to the tables of a lazy automaton, for any order of binding.

The components of a chain are bound in an order of frequency that is not known here, and those
of a tree in an order that each instance chooses. So every clause is compiled once for each of
its variables, as the test for when that variable is bound last [Kolchinsky17 §4].
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.analysis.partitions import Term
from cepheid.analysis.placement import reads_whole_list
from cepheid.codegen.compiler import AlternativeCompiler, compiled_once
from cepheid.codegen.expressions import Resolve, Untranslatable
from cepheid.codegen.layout import MAX_COMPONENTS
from cepheid.codegen.sequences import untranslatable
from cepheid.codegen.steps import EventTest, Generated, Phase, Update, update_table
from cepheid.engines.base.options import BY_COST
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.layout import Tables
from cepheid.engines.lazy.placement import (
    AcrossComponents,
    LazyPlacement,
    needed_by,
    place_lazily,
)
from cepheid.engines.lazy.sharing import SharedAlternatives, place_shared
from cepheid.engines.lazy.values import PRIOR, SlotVector
from cepheid.language import syntax as ast
from cepheid.schema import Kind


@dataclass(frozen=True, slots=True)
class LazyAutomaton(Generated):
    """One or more alternatives as plain data: all that the kernel needs except orders and events.

    ``placement`` is what it was compiled from. ``event_tests`` are of the components and then of
    the negated ones. ``labels`` has the condition of each test, as metrics show it. ``in_order``
    means that the order of components is total. A link is a group of attributes that are equal in
    every match, by which events are looked up; negated components are numbered after the others.
    A list may be linked only to itself, where all its events agree in an attribute: the group-by
    attribute of an iteration [Kolchinsky17 §4.5]. ``group_columns`` are the links with each of
    their attributes: an event has a group for each of these.
    """

    placement: LazyPlacement
    tables: Tables
    event_tests: tuple[EventTest, ...]
    labels: tuple[str, ...]
    in_order: bool
    links: tuple[tuple[Term, ...], ...]
    group_columns: tuple[tuple[int, str], ...]

    @property
    def slot_roles(self) -> int:
        """The number of slots of each component in an instance."""
        if not self.tables.components["is_kleene"].any():
            return 1
        return 5 if len(self.tables.ranges) else 3


def refuse_lazy(query: AnalysedQuery) -> str | None:
    """Why a lazy automaton cannot run the query, or None."""
    if query.query.strategy is not ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        return f"it asks for {query.query.strategy.value}, and lazy automata find any match"
    return untranslatable(query, lambda query, each: compile_lazy(query, each, BY_COST))


@compiled_once
def compile_lazy(query: AnalysedQuery, alternative: Alternative, negation: str) -> LazyAutomaton:
    """The lazy automaton of one alternative of a query with a schema.

    ``negation`` is the option: which negations are tested before a match is complete.
    """
    placement = place_lazily(query, alternative, negation)
    return _Compiler(query, alternative, placement).compile(alternative.is_sequence)


@compiled_once
def compile_shared(query: AnalysedQuery, shared: SharedAlternatives) -> LazyAutomaton:
    """The lazy automaton of several alternatives: components that they share are one."""
    # An alternative may have components in another order than they are in the union.
    in_order = all(query.alternatives[number].is_sequence for number in shared.numbers) and all(
        list(places) == sorted(places) for places in shared.places
    )
    return _Compiler(query, shared.union, place_shared(query, shared)).compile(in_order)


@dataclass(frozen=True, slots=True)
class _LazyTest:
    """A clause, tested when a component is bound and the ones it ``needs`` are bound already.

    ``phase`` is a constant of the layout. Every element of the ``ranges`` is tested: Kleene
    components, with the number of the first element.
    """

    phase: int
    needs: int
    predicate: int
    label: str
    ranges: tuple[tuple[int, int], ...] = ()


class _Compiler(AlternativeCompiler):
    _vector: SlotVector

    def __init__(
        self, query: AnalysedQuery, alternative: Alternative, placement: LazyPlacement
    ) -> None:
        super().__init__(query, alternative, SlotVector)
        if len(self._components) + len(alternative.negations) > MAX_COMPONENTS:
            raise Untranslatable(f"it has more than {MAX_COMPONENTS} components")
        self._placement = placement
        self._places = {part.variable: ix for ix, part in enumerate(alternative.components)}
        self._updates: list[Update] = []

    def compile(self, in_order: bool) -> LazyAutomaton:
        tests: list[list[_LazyTest]] = [[] for _ in self._components]
        # By clause: snapshots depend on this order, which numbers the registers.
        for clause in self._alternative.clauses:
            for ix, placed in enumerate(self._placement.components):
                for condition in placed.across:
                    if condition.clause is clause:
                        tests[ix].extend(self._tests(placed.component, condition))
        negated = [
            self._negation(each, partial(self._vector.at_hand, own=each.component.variable))
            for each in self._placement.early
        ]
        event_tests = [
            self._event_test(
                placed.component,
                [clause.literals for clause in placed.on_event],
                partial(self._vector.at_hand, own=placed.component.variable, begins=True),
            )
            for placed in self._placement.components
        ]
        links = tuple(map(tuple, self._links()))
        group_columns = tuple(
            dict.fromkeys((number, name) for number, link in enumerate(links) for _, name in link)
        )
        terms = sorted(
            (ix, number, group_columns.index((number, name)))
            for number, link in enumerate(links)
            for ix, name in link
        )
        # Only now is it known which registers the predicates read.
        tables, labels = self._tables(tests, [predicate for _, predicate in negated], terms)
        return LazyAutomaton(
            *self._generated(),
            self._placement,
            tables,
            (*event_tests, *(test for test, _ in negated)),
            labels,
            in_order,
            links,
            group_columns,
        )

    def _tables(
        self,
        tests_of: Sequence[Sequence[_LazyTest]],
        predicates: Sequence[int],
        terms: Sequence[tuple[int, int, int]],
    ) -> tuple[Tables, tuple[str, ...]]:
        """The tables that the kernel reads, and the labels of its tests.

        ``predicates`` are of the negations that are tested early.
        """
        tests: list[tuple[int, ...]] = []
        ranges: list[tuple[int, ...]] = []
        components, negations = [], []
        labels: list[str] = []
        early = self._placement.early
        needed = [_bits(needed_by(self._alternative, each)) for each in early]
        for each, predicate in zip(early, predicates, strict=True):
            negations.append((_bits(each.after), _bits(each.before), predicate, 0, 0, 0))
        for ix, placed in enumerate(self._placement.components):
            part, low = placed.component, len(tests)
            updates = self._add_updates(part.variable) if part.is_kleene else (0,) * 4
            for test in tests_of[ix]:
                first = len(ranges)
                for other, start in test.ranges:
                    prior = self._components[other].variable + PRIOR
                    bits = self._vector.register_bits(prior)
                    ranges.append((other, start, bits, *self._add_updates(prior)))
                tests.append((test.phase, test.needs, test.predicate, first, len(ranges)))
                labels.append(test.label)
            for number, needs in enumerate(needed):
                if needs >> ix & 1:
                    tests.append((layout.ABSENT, needs & ~(1 << ix), layout.NONE, number, 0))
                    labels.append(f"~{early[number].component.variable}")
            waits = any(phase in (layout.COMPLETED, layout.ABSENT) for phase, *_ in tests[low:])
            looked_up = bisect_left(terms, (ix,)), bisect_left(terms, (ix + 1,))
            order = placed.earlier, placed.later, self._rivals(ix)
            row = (part.is_kleene, placed.least, placed.most, *order, low, len(tests))
            components.append((*row, *updates, waits, *looked_up))
        tables = Tables(
            np.array(components, dtype=layout.COMPONENT),
            np.array(tests, dtype=layout.TEST),
            np.array(ranges, dtype=layout.RANGE),
            np.array(negations, dtype=layout.NEGATION),
            update_table(self._updates, tuple(self._vector.columns.items())),
            np.array(terms, dtype=layout.TERM),
        )
        return tables, tuple(labels)

    def _add_updates(self, variable: str) -> tuple[int, int, int, int]:
        """Where the updates of the registers of a variable begin and end, at first and later."""
        low = len(self._updates)
        self._updates += self._vector.updates(variable, Phase.BEGIN)
        middle = len(self._updates)
        self._updates += self._vector.updates(variable, Phase.TAKE)
        return low, middle, middle, len(self._updates)

    # --- clauses across events

    def _tests(self, component: ast.Component, condition: AcrossComponents) -> Iterator[_LazyTest]:
        """The tests of the condition where this component is bound last."""
        clause, own = condition.clause, component.variable
        is_each, others = own in clause.ranges, clause.ranges.keys() - {own}
        at_hand = partial(self._vector.at_hand, own=own)
        last_number = max(
            (
                node.index
                for literal in clause.literals
                for node in literal.walk()
                if isinstance(node, ast.Element)
                and node.variable == own
                and isinstance(node.index, int)
            ),
            default=0,
        )
        if others or (
            component.is_kleene
            and (
                not (is_each or last_number)
                or any(reads_whole_list(literal, own) for literal in clause.literals)
                or (is_each and last_number > 1)
            )
        ):
            # All components must be complete: every element that the clause names is tested.
            named = clause.ranges.items()
            ranges = [(self._places[name], ix) for name, ix in named if name in self._places]
            yield self._test(layout.COMPLETED, condition, self._vector.of_instance, ranges)
        elif not component.is_kleene:
            yield self._test(layout.BIND, condition, at_hand)
        elif is_each or last_number == 1:
            if clause.ranges.get(own, 1) == 1:
                yield self._test(layout.BEGIN, condition, partial(at_hand, begins=True))
            if is_each:
                yield self._test(layout.TAKE, condition, at_hand)
        else:
            length = self._vector.of_instance(ast.Length(own)).code
            guard = f"{length} == {last_number - 1}"
            numbered = partial(at_hand, at=last_number)
            yield self._test(layout.TAKE, condition, numbered, guard=guard)

    def _test(
        self,
        phase: int,
        condition: AcrossComponents,
        resolve: Resolve,
        ranges: Iterable[tuple[int, int]] = (),
        guard: str | None = None,
    ) -> _LazyTest:
        test = replace(self._across(condition.clause, resolve), guard=guard)
        predicate = self._writer.add([test])
        return _LazyTest(phase, condition.needs, predicate, condition.label, tuple(ranges))

    # --- components

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

    def _links(self) -> list[list[Term]]:
        """The attributes by which events of a component are looked up in a partition.

        There are none if the window counts the events of a partition: a group of a partition
        without new events would never be evicted.
        """
        if self._query.counts_partitions:
            return []
        groups = [list(terms) for terms in self._placement.equal]
        for number, negated in enumerate(self._placement.early, start=len(self._components)):
            for own, other in self._ties(negated):
                group = next((each for each in groups if other in each), None)
                if group is None:
                    group = [other]
                    groups.append(group)
                group.append((number, own))
                break
        return groups

    def _ties(self, negated: NegatedComponent) -> Iterator[tuple[str, Term]]:
        """Attributes of the negated component that equal one of a single component."""
        own, partitions = negated.component, self._placement.partition_attributes
        for mine, other in (pair for each in negated.clauses for pair in each.equal_attributes):
            place = self._places.get(other.variable)
            if mine.variable != own.variable or place is None:
                continue
            kinds = {self._schema.kind(mine.attribute), self._schema.kind(other.attribute)}
            if (
                len(kinds) == 1
                and Kind.LIST not in kinds
                and not mine.attribute == other.attribute in partitions
                and not self._components[place].is_kleene
                and self._has_attributes(own, (mine,))
                and self._has_attributes(self._components[place], (other,))
            ):
                yield mine.attribute, (place, other.attribute)


def _bits(components: Iterable[int]) -> int:
    return sum(1 << ix for ix in components)
