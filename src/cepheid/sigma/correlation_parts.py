"""The parts of a correlation: the events that each of its rules asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sigma.correlations import (
    SigmaCorrelationCondition,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationTimespan,
    SigmaCorrelationType,
)
from sigma.rule import SigmaRule

from cepheid.errors import Refused
from cepheid.sigma.detections import Detections, literal
from cepheid.sigma.logic import Condition, Joined, Test, any_of, conjuncts
from cepheid.sigma.mapping import LogMapping
from cepheid.sigma.naming import Variables, type_name

AnyRule = SigmaRule | SigmaCorrelationRule

MOST_VALUES = 20
"""The number of different values that are counted: each pair of them is a condition."""

_COMPARED = {
    SigmaCorrelationConditionOperator.GTE: ">=",
    SigmaCorrelationConditionOperator.GT: ">",
}
_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}


def duration(span: SigmaCorrelationTimespan) -> str:
    """A time span as a query writes it.

    >>> duration(SigmaCorrelationTimespan("5m")), duration(SigmaCorrelationTimespan("1M"))
    ('5 minutes', '2629746 seconds')
    """
    count, unit = span.count, _UNITS.get(span.unit)
    if unit is None:  # months and years
        count, unit = span.seconds, "second"
    return f"{count} {unit}{'' if count == 1 else 's'}"


def least_count(rule: SigmaCorrelationRule) -> int:
    """The count at which a correlation alerts.

    Raises:
        Refused: its condition is not that a count is reached.
    """
    condition = rule.condition
    assert isinstance(condition, SigmaCorrelationCondition)
    operator, count = condition.op, condition.count
    if operator is SigmaCorrelationConditionOperator.GTE:
        least = math.ceil(count)
    elif operator is SigmaCorrelationConditionOperator.GT:
        least = math.floor(count) + 1
    else:
        name = operator.name.lower()
        raise Refused(
            f"the condition '{name}: {count}' of a count is not supported, only gte and gt: a "
            "stream has an alert when a count is reached, and in every window the count is "
            "smaller before"
        )
    if least < 1:
        raise Refused(f"a count of {least} is always reached")
    return least


@dataclass(frozen=True, slots=True)
class Step:
    """Events of a match: one, or a list (``{3}``, ``+``), each found by one of the rules."""

    variable: str
    rules: tuple[SigmaRule, ...]
    quantifier: str = ""

    @property
    def each(self) -> str:
        """Every event of the step."""
        return f"{self.variable}[i]" if self.quantifier else self.variable

    @property
    def first(self) -> str:
        """Its first event."""
        return f"{self.variable}[1]" if self.quantifier else self.variable

    @property
    def last(self) -> str:
        """Its last event."""
        return f"{self.variable}[{self.variable}.LEN]" if self.quantifier else self.variable

    def types(self, mapping: LogMapping) -> tuple[str, ...]:
        """The types of its events."""
        all_types = (each for rule in self.rules for each in mapping.source(rule.logsource).types)
        return tuple(dict.fromkeys(all_types))

    def component(self, mapping: LogMapping, variable: str | None = None) -> str:
        """The step in a pattern; with another variable, one such event."""
        types = [type_name(each) for each in self.types(mapping)]
        taken = types[0] if len(types) == 1 else f"ANY({', '.join(types)})"
        if variable is not None or not self.quantifier:
            return f"{taken} {variable or self.variable}"
        return f"{taken}{self.quantifier} {self.variable}[]"

    def conditions(self, mapping: LogMapping, event: str) -> list[str]:
        """What is true of an event of the step."""
        detections = Detections(mapping, event)
        all_types = self.types(mapping)
        choices: list[Condition] = []
        for rule in self.rules:
            found = detections.condition(rule)
            types = mapping.source(rule.logsource).types
            if set(types) != set(all_types):
                names = ", ".join(map(literal, types))
                test = Test(f"{detections.attribute(mapping.type)} IN ({names})")
                found = Joined("AND", (test, found))
            choices.append(found)
        found_all = conjuncts(any_of(choices))
        if found_all is False:
            raise Refused("it never matches: no event has the fields that it needs")
        return [] if found_all is True else found_all


@dataclass(frozen=True, slots=True)
class Part:
    """The steps of one rule of a correlation, in order, and what else is true of them."""

    owner: AnyRule
    steps: tuple[Step, ...]
    conditions: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether it is one event."""
        return len(self.steps) == 1 and not self.steps[0].quantifier


class Parts:
    """The parts of a correlation, one for each rule that it refers to."""

    def __init__(self, mapping: LogMapping) -> None:
        self.mapping = mapping
        self.variables = Variables()
        self._known: dict[int, Part] = {}

    def of(self, rule: AnyRule) -> Part:
        """The part of a rule.

        Raises:
            Refused: the rule is a correlation that has no part.
        """
        if id(rule) not in self._known:
            self._known[id(rule)] = self._part(rule)
        return self._known[id(rule)]

    def _part(self, rule: AnyRule) -> Part:
        if isinstance(rule, SigmaRule):
            return Part(rule, (Step(self._variable(rule), (rule,)),))
        match rule.type:
            case SigmaCorrelationType.EVENT_COUNT:
                count = least_count(rule)
                quantifier = f"{{{count}}}" if count > 1 else ""
                return Part(rule, (Step(self._variable(rule), _counted(rule), quantifier),))
            case SigmaCorrelationType.VALUE_COUNT:
                return self._different_values(rule)
            case SigmaCorrelationType.VALUE_SUM:
                return self._sum(rule)
        name = rule.type.name.lower()
        if name.startswith("temporal"):
            raise Refused(f"a correlation of the type {name} inside of another is not supported")
        raise Refused(
            f"a correlation of the type {name} is not supported: it depends on all events of a "
            "window, and no event says when the window is complete"
        )

    def _variable(self, rule: AnyRule) -> str:
        return self.variables(rule.name or rule.title or "e")

    def _different_values(self, rule: SigmaCorrelationRule) -> Part:
        """One event for each value: each has another value than all before it."""
        columns = self._columns(rule)
        count = least_count(rule)
        if count > MOST_VALUES:
            raise Refused(
                f"it counts {count} different values; at most {MOST_VALUES} are supported, because "
                "each value is compared with each other"
            )
        rules = _counted(rule)
        steps = tuple(Step(self._variable(rule), rules) for _ in range(count))
        conditions = [f"{steps[0].variable}.{each} IS NOT NULL" for each in columns]
        for number, step in enumerate(steps[1:], start=1):
            if len(columns) == 1:
                others = ", ".join(f"{before.variable}.{columns[0]}" for before in steps[:number])
                conditions.append(f"{step.variable}.{columns[0]} NOT IN ({others})")
                continue
            for before in steps[:number]:
                tests = [f"{step.variable}.{each} != {before.variable}.{each}" for each in columns]
                conditions.append(f"({' OR '.join(tests)})")
        return Part(rule, steps, tuple(conditions))

    def _sum(self, rule: SigmaCorrelationRule) -> Part:
        """Events until their sum is reached; values are not negative, so that it only grows."""
        condition, columns = rule.condition, self._columns(rule)
        assert isinstance(condition, SigmaCorrelationCondition)
        least_count(rule)  # it is refused if the sum is not to be reached
        if len(columns) > 1:
            raise Refused("the sum of several fields is not supported")
        step = Step(self._variable(rule), _counted(rule), "+")
        is_reached = _COMPARED[condition.op]
        is_not = {">=": "<", ">": "<="}[is_reached]
        name, column, least = step.variable, columns[0], condition.count
        return Part(
            rule,
            (step,),
            (
                f"{name}[i].{column} >= 0",
                f"sum({name}[..i-1].{column}) {is_not} {least!r}",
                f"sum({name}[].{column}) {is_reached} {least!r}",
            ),
        )

    def _columns(self, rule: SigmaCorrelationRule) -> list[str]:
        """The columns whose values are counted."""
        assert isinstance(rule.condition, SigmaCorrelationCondition)
        given = rule.condition.fieldref
        names = given if isinstance(given, list) else [str(given)]
        return [self.mapping.key(each).name for each in names]


def _counted(rule: SigmaCorrelationRule) -> tuple[SigmaRule, ...]:
    """The rules whose events are counted."""
    rules: Sequence[AnyRule] = [each.rule for each in rule.referenced_rules]
    if not all(isinstance(each, SigmaRule) for each in rules):
        raise Refused("matches of a correlation cannot be counted, only events")
    return tuple(each for each in rules if isinstance(each, SigmaRule))
