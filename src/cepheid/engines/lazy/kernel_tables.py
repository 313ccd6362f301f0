"""Turns a lazy automaton into the tables that its kernel reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.codegen.layout import UPDATE
from cepheid.codegen.steps import Update
from cepheid.engines.lazy import layout
from cepheid.engines.lazy.layout import Rows, Tables
from cepheid.engines.lazy.tables import LazyAutomaton, LazyTest


def kernel_tables(automaton: LazyAutomaton) -> tuple[Tables, tuple[str, ...]]:
    """The tables of an automaton, and the labels of its tests."""
    writer = _Writer(automaton)
    components = np.zeros(len(automaton.components), dtype=layout.COMPONENT)
    for ix, part in enumerate(automaton.components):
        row = components[ix]
        row["is_kleene"] = part.component.is_kleene
        row["least"], row["most"] = part.least, part.most
        row["earlier"], row["later"], row["rivals"] = part.earlier, part.later, part.rivals
        row["begin_low"], row["begin_high"] = writer.add_updates(part.begin_updates)
        row["take_low"], row["take_high"] = writer.add_updates(part.take_updates)
        row["test_low"] = len(writer.tests)
        for test in part.tests:
            writer.add_test(test)
        for number, negation in enumerate(automaton.negations):
            if negation.needs >> ix & 1:
                needs = negation.needs & ~(1 << ix)
                writer.tests.append((layout.ABSENT, needs, layout.NONE, number, 0))
                writer.labels.append(f"~{negation.component.variable}")
        row["test_high"] = len(writer.tests)
        phases = [test[0] for test in writer.tests[row["test_low"] :]]
        row["has_done"] = layout.COMPLETED in phases or layout.ABSENT in phases
    terms = _terms(automaton)
    for ix in range(len(components)):
        own = np.flatnonzero(terms["component"] == ix)
        if len(own):
            components[ix]["term_low"], components[ix]["term_high"] = own[0], own[-1] + 1
    negations = [(each.after, each.before, each.predicate, 0, 0, 0) for each in automaton.negations]
    tables = Tables(
        components,
        np.array(writer.tests, dtype=layout.TEST),
        np.array(writer.ranges, dtype=layout.RANGE),
        np.array(negations, dtype=layout.NEGATION),
        np.array(writer.updates, dtype=UPDATE),
        terms,
    )
    return tables, tuple(writer.labels)


def group_columns(automaton: LazyAutomaton) -> list[tuple[int, str]]:
    """The links with each of their attributes; an event has a group for each of these."""
    return list(
        dict.fromkeys(
            (number, attribute)
            for number, link in enumerate(automaton.links)
            for _, attribute in link.terms
        )
    )


def _terms(automaton: LazyAutomaton) -> Rows:
    """The terms of all links; the terms of a component are next to each other."""
    columns = group_columns(automaton)
    rows = [
        (component, number, columns.index((number, attribute)))
        for number, link in enumerate(automaton.links)
        for component, attribute in link.terms
    ]
    return np.array(sorted(rows), dtype=layout.TERM)


class _Writer:
    def __init__(self, automaton: LazyAutomaton) -> None:
        self._places = {
            name: layout.CONTEXT_COLUMNS + 2 * ix for ix, (name, _) in enumerate(automaton.columns)
        }
        self.tests: list[tuple[int, ...]] = []
        self.labels: list[str] = []
        self.ranges: list[tuple[int, ...]] = []
        self.updates: list[tuple[int, ...]] = []

    def add_updates(self, updates: Sequence[Update]) -> tuple[int, int]:
        low = len(self.updates)
        self.updates += [
            (
                update.operation,
                self._places.get(update.attribute or "", 0),
                update.register,
                update.argument,
                update.length_register,
            )
            for update in updates
        ]
        return low, len(self.updates)

    def add_test(self, test: LazyTest) -> None:
        low = len(self.ranges)
        for each in test.ranges:
            begin, take = self.add_updates(each.begin_updates), self.add_updates(each.take_updates)
            self.ranges.append((each.component, each.first, each.registers, *begin, *take))
        self.tests.append((test.phase, test.needs, test.predicate, low, len(self.ranges)))
        self.labels.append(test.label)
