"""Correlations of Sigma as queries.

A correlation is a choice of *sequences* of parts: one for each order of the rules of ``temporal``,
one alone for the other types. Runs take the next event that fits (``skip_till_next_match``). So
from each first event the earliest match is found if there is any, and a burst of events does not
multiply runs and matches, as it would if every combination of events counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice, permutations, product

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionItem,
    CorrelationConditionOR,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)

from cepheid.errors import Refused
from cepheid.sigma.correlation_parts import AnyRule, Part, Parts, duration, least_count
from cepheid.sigma.mapping import Column, LogMapping

MOST_ORDERS = 120
"""The number of sequences of one correlation: each is compiled."""

_Sequence = tuple[Part, ...]


@dataclass(slots=True)
class _Keys:
    """How the events of a match agree: by tests in brackets, or by equal attributes."""

    tests: list[str] = field(default_factory=list)
    equal: list[dict[str, Column]] = field(default_factory=list)
    """For each field: the column of each step, by its variable."""

    def conditions(self) -> Iterator[str]:
        yield from self.tests
        for columns in self.equal:
            for (left, one), (right, other) in combinations(columns.items(), 2):
                yield f"{left}.{one.name} = {right}.{other.name}"


def correlation_query(rule: SigmaCorrelationRule, mapping: LogMapping) -> str:
    """The text of the query of a correlation.

    Raises:
        Refused: it has none.
    """
    parts = Parts(mapping)
    sequences = list(islice(_sequences(rule, parts), MOST_ORDERS + 1))
    if len(sequences) > MOST_ORDERS:
        raise Refused(f"its rules have more than {MOST_ORDERS} orders")
    known = list({id(part): part for each in sequences for part in each}.values())
    for part in known:
        _check_references(part)
        _check_nested(rule, part)
    keys = _keys(rule, known, mapping)
    patterns: list[str] = []
    conditions = list(keys.conditions())
    for part in known:
        for step in part.steps:
            conditions += step.conditions(mapping, step.each)
        conditions += [*part.conditions, *_span(rule, part, mapping)]
    latest: dict[str, str] = {}
    for each in sequences:
        steps = [step for part in each for step in part.steps]
        components = [step.component(mapping) for step in steps]
        if keys.equal and len(steps) > 1:
            first = steps[0]
            if first.variable not in latest:
                again = latest[first.variable] = parts.variables(f"later_{first.variable}")
                conditions += first.conditions(mapping, again)
                for columns in keys.equal:
                    name = columns[first.variable].name
                    conditions.append(f"{again}.{name} = {first.variable}.{name}")
            components.insert(1, f"~({first.component(mapping, latest[first.variable])})")
        patterns.append(f"SEQ({', '.join(components)})" if len(steps) > 1 else components[0])
    span = duration(rule.timespan)
    output = "FIRST" if keys.equal else f"NON_OVERLAPPING AT MOST ONCE PER {span}"
    choice = ",\n   ".join(patterns)
    pattern = choice if len(patterns) == 1 else f"OR({choice})"
    inside = "\n  AND ".join(conditions)
    braces = f" {{\n      {inside}\n}}" if conditions else ""
    return f"PATTERN {pattern}\nWHERE skip_till_next_match{braces}\nWITHIN {span}\nOUTPUT {output}"


def _sequences(rule: SigmaCorrelationRule, parts: Parts) -> Iterator[_Sequence]:
    """The orders in which the parts of a correlation can come."""
    if rule.type not in (SigmaCorrelationType.TEMPORAL, SigmaCorrelationType.TEMPORAL_ORDERED):
        yield (parts.of(rule),)
        return
    is_ordered = rule.type is SigmaCorrelationType.TEMPORAL_ORDERED
    for choice in _choices(rule):
        found = tuple(parts.of(each) for each in choice)
        yield from (found,) if is_ordered else permutations(found)


def _choices(rule: SigmaCorrelationRule) -> Iterator[tuple[AnyRule, ...]]:
    """The rules that have to match together, in the order in which they are named."""
    rules = {each.reference: each.rule for each in rule.referenced_rules}
    condition = rule.condition
    if isinstance(condition, SigmaExtendedCorrelationCondition):
        for names in dict.fromkeys(_disjuncts(condition.parsed)):
            yield tuple(rules[each] for each in names)
        return
    if condition.op not in (
        SigmaCorrelationConditionOperator.GTE,
        SigmaCorrelationConditionOperator.GT,
    ):
        raise Refused(
            f"the condition '{condition.op.name.lower()}: {condition.count}' asks for rules that "
            "do not match; only gte and gt are supported"
        )
    count = least_count(rule)
    if count > len(rules):
        raise Refused(f"it asks for {count} rules and has {len(rules)}")
    yield from combinations(rules.values(), count)


def _disjuncts(
    node: CorrelationConditionItem | SigmaRuleReference,
) -> Iterator[tuple[str, ...]]:
    """The choices of an extended condition: ``a and (b or c)`` is (a, b) and (a, c)."""
    match node:
        case SigmaRuleReference():
            yield (node.reference,)
        case CorrelationConditionOR():
            for each in node.args:
                yield from _disjuncts(each)
        case CorrelationConditionAND():
            for choice in product(*(list(_disjuncts(each)) for each in node.args)):
                yield tuple(dict.fromkeys(name for names in choice for name in names))
        case _:
            raise Refused("'not' in the condition of a correlation is not supported")


def _field_of(rule: SigmaCorrelationRule, name: str, owner: AnyRule) -> str:
    """The field of a rule's events that an alias means; a name that is no alias is a field."""
    alias = rule.aliases.aliases.get(name)
    for reference, found in alias.mapping.items() if alias else ():
        if reference.reference in (owner.name, str(owner.id)):
            return found
    return name


def _keys(rule: SigmaCorrelationRule, parts: list[Part], mapping: LogMapping) -> _Keys:
    keys = _Keys()
    for name in dict.fromkeys(rule.group_by or ()):
        columns: dict[str, Column] = {}
        for part in parts:
            for step in part.steps:
                owners = step.rules if part.owner is rule else (part.owner,)
                found = {mapping.key(_field_of(rule, name, each)).name for each in owners}
                columns[step.variable] = Column(found.pop())
                if found:
                    raise Refused(_ONE_COLUMN.format(name))
        same = set(columns.values())
        if len(same) == 1 and (column := same.pop()).is_plain:
            keys.tests.append(f"[{column.name}]")
        elif all(part.is_single for part in parts) and len(parts) > 1:
            keys.equal.append(columns)
        else:
            raise Refused(_ONE_COLUMN.format(name))
    return keys


_ONE_COLUMN = (
    "a correlation that counts groups by one column of all events, and {!r} is none: add such a "
    "column to the events, and map the fields to it"
)


def _check_references(part: Part) -> None:
    for each in (part.owner, *(rule for step in part.steps for rule in step.rules)):
        if each.errors:
            raise Refused(f"it refers to {each.title or each.name!r}, which cannot be read")


def _check_nested(rule: SigmaCorrelationRule, part: Part) -> None:
    """A correlation inside of another groups as the outer one does."""
    owner = part.owner
    if owner is rule or not isinstance(owner, SigmaCorrelationRule):
        return
    if owner.aliases.aliases:
        raise Refused(f"the correlation {owner.title!r} has aliases, and is inside of another")
    outer = {_field_of(rule, name, owner) for name in rule.group_by or ()}
    if outer != set(owner.group_by or ()):
        raise Refused(f"the correlation {owner.title!r} inside of it groups by other fields")


def _span(rule: SigmaCorrelationRule, part: Part, mapping: LogMapping) -> Iterator[str]:
    """The time span of a correlation inside of another, if it is the shorter one."""
    owner = part.owner
    if owner is rule or not isinstance(owner, SigmaCorrelationRule):
        return
    if owner.timespan.seconds < rule.timespan.seconds and not part.is_single:
        time, first, last = mapping.time.name, part.steps[0].first, part.steps[-1].last
        yield f"{last}.{time} - {first}.{time} < {duration(owner.timespan)}"
