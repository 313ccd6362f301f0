"""How often the conditions of a query hold, for a sample of the events that they speak of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause
from cepheid.interpreter import Event, Interpreter
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression
from cepheid.runtime.events import Events
from cepheid.runtime.reference_run import attributes_tested, python_events

_SAMPLE = 32
"""On how many events of a component, or pairs of them, a condition is tested at most."""
_LEAST = 4
_EVENTS_PER_TEST = 2_000
"""How many events there are for one test: the sample must not take longer than it can save."""

_LOOKED_AT = 1 << 14
"""Among how many events those of a component are looked for."""


def sample_conditions(
    query: AnalysedQuery, events: Events
) -> tuple[dict[str, float], dict[str, float]]:
    """How often conditions hold: those on a variable alone, and those between two.

    The first by the variable, the part of its events that passes them all; the others by
    their text, the part of the pairs of events. What a sample cannot tell is left out.
    """
    random = np.random.default_rng(0)
    components = {part.variable: part for each in query.alternatives for part in each.components}
    clauses = {
        clause.literals: clause
        for alternative in query.alternatives
        for clause in alternative.clauses
        if _is_about_events(clause, alternative)
    }
    # In an order that is the same in every process, so that the same sample is drawn.
    named = sorted({name for clause in clauses.values() for name in clause.variables})
    size = min(max(len(events) // _EVENTS_PER_TEST // max(len(clauses), 1), _LEAST), _SAMPLE)
    samples = _samples(query, events, {name: components[name] for name in named}, size, random)
    passed: dict[str, float] = dict.fromkeys(components, 1.0)
    held: dict[str, float] = {}
    for clause in clauses.values():
        names = sorted(clause.variables)
        if not all(samples[name] for name in names):
            continue
        part = _part(clause, names, components, samples, size, random)
        if part is not None and len(names) == 1:
            passed[names[0]] *= part
        elif part is not None:
            held[print_expression(clause.expression, query.query)] = part
    return passed, held


def _samples(
    query: AnalysedQuery,
    events: Events,
    components: dict[str, ast.Component],
    size: int,
    random: np.random.Generator,
) -> dict[str, list[Event]]:
    """Some events of each variable, as far as there are any."""
    attributes = attributes_tested(query.query)
    present = [name for name in events.table.column_names if name in attributes]
    samples: dict[str, list[Event]] = {}
    by_types: dict[tuple[str, ...], list[Event]] = {}
    for name, component in components.items():
        if component.types not in by_types:
            is_wanted = np.array([each in component.types for each in events.type_names], np.bool_)
            stride = max(len(events) // _LOOKED_AT, 1)
            rows = np.flatnonzero(is_wanted[events.type_codes[::stride]]) * stride
            chosen = np.sort(
                random.choice(rows, min(size, len(rows)), replace=False, shuffle=False)
            )
            taken = replace(
                events,
                table=events.table.select(present).take(chosen),
                ticks=events.ticks[chosen],
                type_codes=events.type_codes[chosen],
            )
            by_types[component.types] = python_events(taken, attributes)
        samples[name] = by_types[component.types]
    return samples


def _is_about_events(clause: Clause, alternative: Alternative) -> bool:
    """Whether a clause is of single events, or of each event of one list."""
    lists = {part.variable for part in alternative.components if part.is_kleene}
    if not clause.variables or len(clause.variables) > 2 or clause.least_lengths:
        return False
    if not clause.variables & lists:
        return True
    return len(clause.variables) == 1 and all(
        isinstance(node, ast.Element) and node.index is ast.Index.CURRENT
        for literal in clause.literals
        for node in literal.walk()
        if hasattr(node, "variable")
    )


def _part(
    clause: Clause,
    names: list[str],
    components: dict[str, ast.Component],
    samples: dict[str, list[Event]],
    size: int,
    random: np.random.Generator,
) -> float | None:
    """The part of the sample for which the clause holds, or nearly none where it never does.

    None where a registered function fails: that is for the evaluation to tell.
    """
    current = {name: 1 for name in names if components[name].is_kleene}
    drawn = []
    for name in names:
        order = (random.permutation(size) % len(samples[name])).tolist()
        chosen = [samples[name][place] for place in order]
        drawn.append([[event] for event in chosen] if name in current else chosen)
    held = 0
    for bound in zip(*drawn, strict=True):
        binding = dict(zip(names, bound, strict=True))
        try:
            held += Interpreter(binding, current).truth(clause.expression) is True
        except Exception:
            return None
    return (held + 0.1) / (size + 0.2)
