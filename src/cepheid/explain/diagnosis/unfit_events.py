"""Why no event fits a component: the conditions on a single event that each of them fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.errors import list_words
from cepheid.events.arrays import Int64s
from cepheid.explain.diagnosis.counting import Count
from cepheid.explain.diagnosis.event_conditions import EventCondition, event_tests
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.reasons import MOST_EXAMPLES, Group, example, examples, failed
from cepheid.explain.diagnosis.report import Example, Reason, Stop
from cepheid.explain.diagnosis.stops import Miss
from cepheid.explain.diagnosis.stream import Stream, all_positions
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.reference.interpreter import Binding

MOST_CONDITIONS = 62
"""The largest number of conditions on a single event that are distinguished."""


def why_none_fits(
    stream: Stream,
    branch: ast.Query,
    component: ast.Component,
    conditions: Sequence[EventCondition],
    after: ast.Component | None = None,
) -> Stop:
    """Why no event fits the component, which must come ``after`` another one."""
    positions = stream.of_types(component.types)
    number = len(positions) or len(stream.events)
    groups = _groups(component, conditions[:MOST_CONDITIONS], positions)
    reasons = [
        Reason("condition", failed(group.misses[0].conditions), group.count) for group in groups
    ]
    if not len(positions):
        types = list_words(component.types, "or")
        reasons = [Reason("type", f"not of the type {types}", number)]
    tests = Tests(event_tests(branch, component), branch)

    def describe(miss: Miss) -> Example:
        (position,) = all_positions(miss.run)
        event = stream.python_events([position])[position]
        bound: Binding = {component.variable: [event] if component.is_kleene else event}
        compared = [tests.comparison(failing, bound) for failing in miss.failing]
        return example(stream, "condition", miss.run, {}, compared)

    return Stop(
        print_pattern(after) if after is not None else None,
        print_pattern(component),
        "event",
        Count(number),
        number,
        sum(reason.count for reason in reasons),
        tuple(reasons),
        examples(groups, describe),
    )


def _groups(
    component: ast.Component, conditions: Sequence[EventCondition], positions: Int64s
) -> list[Group]:
    """The groups of events that fail the same conditions, the largest first."""
    bits = np.zeros(len(positions), dtype=np.int64)
    for number, condition in enumerate(conditions):
        bits |= condition.failing.astype(np.int64) << number
    groups = []
    for failing, count in zip(*np.unique(bits, return_counts=True), strict=True):
        numbers = tuple(n for n in range(len(conditions)) if int(failing) >> n & 1)
        if numbers:
            texts = tuple(conditions[number].text for number in numbers)
            misses = [
                Miss(
                    "condition",
                    {component.variable: [at] if component.is_kleene else at},
                    conditions=texts,
                    failing=numbers,
                )
                for at in positions[bits == failing][:MOST_EXAMPLES].tolist()
            ]
            groups.append(Group(int(count), misses))
    return sorted(groups, key=lambda group: -group.count)
