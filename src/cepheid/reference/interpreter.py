"""Evaluates the expressions of a query for a binding.

Null is None, and so is unknown; ``80%`` is 0.8; a division by zero is null. A predicate on an
attribute that the event's type does not have is true, negated or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any, TypeVar

from cepheid.aggregates import AGGREGATES
from cepheid.functions import answer, find_function
from cepheid.language import syntax as ast
from cepheid.language.computed import EVENT
from cepheid.language.naming import variables_in
from cepheid.language.units import microseconds
from cepheid.schema import PARTITION_INDEX, Computed, Kind, Position

T = TypeVar("T")
Truth = bool | None
"""True, False, or None for unknown."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: ``values`` has a key for every attribute that its type has; null is None."""

    position: int
    ticks: int
    type: str
    values: Mapping[str, Any]


Binding = Mapping[str, "Event | list[Event]"]
"""The event of each variable, or the events of a Kleene variable."""


class _Missing(Exception):
    """An attribute that the type of the event does not have: the predicate is true."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Evaluates expressions for a binding and the current value of each i."""

    binding: Binding
    current: Mapping[str, int]

    def truth(self, node: ast.Expression, positive: bool = True) -> Truth:
        """The three-valued truth of the node, or of its negation if ``positive`` is False."""
        match node:
            case ast.Not(operand):
                return self.truth(operand, not positive)
            case ast.And(operands) | ast.Or(operands):
                truths = [self.truth(operand, positive) for operand in operands]
                decisive = isinstance(node, ast.Or) is positive
                if decisive in truths:
                    return decisive
                return None if None in truths else not decisive
        try:
            value = self.value(node)
        except _Missing:
            return True
        return None if value is None else bool(value) is positive

    def value(self, node: ast.Expression) -> Any:
        """The value of an expression; None for null and unknown."""
        match node:
            case ast.Literal(value):
                return value
            case ast.Duration(amount, unit):
                return timedelta(microseconds=microseconds(amount, unit))
            case ast.Attribute(variable, attribute):
                event = self.binding[variable]
                assert isinstance(event, Event)
                return _attribute(event, attribute)
            case ast.Element(variable, index, attribute):
                return _attribute(self._element(variable, index), attribute)
            case ast.Length(variable):
                return len(list_of(self.binding, variable))
            case ast.Aggregate():
                return self._aggregate(node)
            case ast.Call(function, arguments):
                found = find_function(function)
                assert found is not None
                is_of_times = Kind.TIMESTAMP in found.parameters
                return in_utc(found(*map(self._local if is_of_times else self.value, arguments)))
            case ast.Field(operand, name):
                value = self.value(operand)
                return None if value is None else value[name]
            case ast.Item(operand, number):
                value = self.value(operand)
                return None if value is None or number > len(value) else value[number - 1]
            case ast.Case(branches):
                values = list(map(self.value, node.values))  # All are read, also those not taken.
                truths = [self.truth(condition) for condition, _ in branches]
                return values[truths.index(True) if True in truths else -1]
            case ast.Negative(operand):
                value = self.value(operand)
                return None if value is None else answer(-value)
            case ast.Arithmetic(operator, left, right):
                return _arithmetic(operator, self.value(left), self.value(right))
            case ast.Comparison(operator, left, right):
                return compare(operator, self.value(left), self.value(right))
            case ast.In(operand, options):
                value = self.value(operand)
                found_in = [compare("=", value, self.value(option)) for option in options]
                return True if True in found_in else None if None in found_in else False
            case ast.Between(operand, low, high):
                value = self.value(operand)
                ends = [
                    compare(">=", value, self.value(low)),
                    compare("<=", value, self.value(high)),
                ]
                return False if False in ends else None if None in ends else True
            case ast.Like(operand, pattern):
                value = self.value(operand)
                return None if value is None else bool(_like(pattern).fullmatch(value))
            case ast.IsNull(operand):
                return self.value(operand) is None
            case ast.Not() | ast.And() | ast.Or():
                return self.truth(node)
        raise AssertionError(f"{type(node).__name__} has no value")

    def _local(self, node: ast.Expression) -> Any:
        """The value of an argument: an attribute is in the zone of its column, others in UTC."""
        match node:
            case ast.Attribute(variable, attribute):
                event = self.binding[variable]
                assert isinstance(event, Event)
                return _local_attribute(event, attribute)
            case ast.Element(variable, index, attribute):
                return _local_attribute(self._element(variable, index), attribute)
        return self.value(node)

    def returned(self, node: ast.Expression) -> Any:
        """The value of a RETURN item: variables may be absent, and lists are values."""
        try:
            match node:
                case ast.EventReference(variable):
                    bound = self.binding.get(variable)
                    if isinstance(bound, list):
                        return [dict(event.values) for event in bound]
                    return dict(bound.values) if bound else None
                case ast.Elements(variable, attribute):
                    if variable not in self.binding:
                        return None
                    events = list_of(self.binding, variable)
                    return [_value_or_null(event, attribute) for event in events]
                case ast.Length(variable) | ast.Aggregate("count" | "count distinct", variable):
                    if variable not in self.binding:
                        return 0
            if not variables_in(node) <= self.binding.keys():
                return None
            for part in node.walk():
                if isinstance(part, ast.Attribute | ast.Element | ast.Aggregate):
                    self.value(part)  # A missing attribute makes the item null, even inside NOT.
            return self.value(node)
        except _Missing:
            return None

    def _element(self, variable: str, index: int | ast.Index) -> Event:
        events = list_of(self.binding, variable)
        match index:
            case ast.Index.CURRENT:
                return events[self.current[variable] - 1]
            case ast.Index.PREVIOUS:
                return events[self.current[variable] - 2]
            case ast.Index.LAST:
                return events[-1]
        if index > len(events):
            raise _Missing
        return events[index - 1]

    def _aggregate(self, node: ast.Aggregate) -> Any:
        events = list_of(self.binding, node.variable)
        if node.scope is ast.Scope.PRIOR:
            events = events[: self.current[node.variable] - 1]
        if node.attribute is None:
            return len(events)
        if node.function in ("first", "last"):
            return _attribute(events[0 if node.function == "first" else -1], node.attribute)
        values = [in_utc(_value_or_null(event, node.attribute)) for event in events]
        present = [value for value in values if value is not None]
        aggregate = AGGREGATES[node.function]
        return answer(aggregate.python(present)) if present else aggregate.of_nothing


def all_bound(binding: Mapping[str, T | list[T]]) -> list[T]:
    """All events of a binding, or their positions."""
    each = (bound if isinstance(bound, list) else [bound] for bound in binding.values())
    return list(chain.from_iterable(each))


def list_of(binding: Binding, variable: str) -> list[Event]:
    """The events of a Kleene variable."""
    bound = binding[variable]
    assert isinstance(bound, list)
    return bound


def _attribute(event: Event, attribute: str) -> Any:
    return in_utc(_local_attribute(event, attribute))


def _value_or_null(event: Event, attribute: str) -> Any:
    try:
        return _local_attribute(event, attribute)
    except _Missing:
        return None


def _local_attribute(event: Event, attribute: str) -> Any:
    if isinstance(attribute, Computed):
        return Interpreter({EVENT: event}, {}).value(attribute.expression)
    if isinstance(attribute, Position) and attribute not in event.values:
        return event.values[PARTITION_INDEX] if attribute.is_of_partition else event.position
    if attribute not in event.values:
        raise _Missing
    return event.values[attribute]


def in_utc(value: Any) -> Any:
    """A point in time without its zone, in UTC; any other value as it is."""
    return _point(value) if isinstance(value, datetime) else value


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if isinstance(left, date) or isinstance(right, date):
        # A date is its midnight.
        left = _point(left) if isinstance(left, date) else left
        right = _point(right) if isinstance(right, date) else right
    try:
        match operator:
            case "+":
                return answer(left + right)
            case "-":
                return answer(left - right)
            case "*":
                return answer(left * right)
            case "/":
                return answer(_as_float(left) / _as_float(right))
            case _:
                return answer(left % right)
    except (ZeroDivisionError, OverflowError):
        return None


def compare(operator: str, left: Any, right: Any) -> Truth:
    """Whether the comparison is true; unknown if a side is null."""
    if left is None or right is None:
        return None
    left, right = _as_time(left, right), _as_time(right, left)
    if isinstance(left, float) or isinstance(right, float):
        left, right = _as_float(left), _as_float(right)
    match operator:
        case "=":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def _as_float(value: Any) -> Any:
    """An integer as the nearest float, for division and comparison with floats."""
    return float(value) if isinstance(value, int) else value


def _as_time(value: Any, other: Any) -> Any:
    """A string or date as a point in time, if the other side is one."""
    if not isinstance(other, date):
        if isinstance(value, date) and isinstance(other, str):
            return _point(value)
        return value
    return _point(datetime.fromisoformat(value) if isinstance(value, str) else value)


def _point(value: date) -> datetime:
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _like(pattern: str) -> re.Pattern[str]:
    first, *others = (
        "".join("." if c == "_" else re.escape(c) for c in part) for part in pattern.split("%")
    )
    if others:
        # Each part is at its first place after the one before: no other place is tried, which
        # would take exponential time.
        *middle, last = others
        first += "".join(f"(?>.*?{part})" for part in middle if part) + f".*{last}"
    return re.compile(first, re.DOTALL)
