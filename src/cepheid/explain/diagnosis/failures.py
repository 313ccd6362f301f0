"""The tests of the next event of a component, and the values for which a binding fails them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

from cepheid.analysis.placement import Indices, indices_in
from cepheid.explain.diagnosis.prefixes import equivalences_of
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_expression
from cepheid.language.units import NANOSECONDS_PER
from cepheid.reference.interpreter import Binding, Interpreter, all_bound, compare, list_of

MOST_CHARACTERS = 40
"""The number of characters of a string that are shown."""


class Tests:
    """The equivalence tests of a query and conditions, numbered, for a binding with a component.

    ``keys`` has the tests that require one value of an attribute of the component's next event:
    the attribute, and the wanted value or the equivalence test. While a list is ``growing``, only
    equivalence tests are keys.
    """

    def __init__(
        self,
        query: ast.Query,
        component: ast.Component,
        conditions: Sequence[ast.Expression],
        *,
        growing: bool = False,
    ) -> None:
        self.component = component
        equivalences = equivalences_of(query)
        self._tests = [*equivalences, *conditions]
        self._query = query
        self._indices = [indices_in([test]) for test in self._tests]
        self.texts = [print_expression(test, query) for test in self._tests]
        self.keys = _keys(component, equivalences if growing else self._tests)
        self.is_key = [test in self.keys for test in self._tests]

    def failing(self, binding: Binding) -> tuple[int, ...]:
        """The numbers of the tests that the binding fails."""
        return tuple(n for n in range(len(self._tests)) if self.fails(n, binding))

    def fails(self, number: int, binding: Binding) -> bool:
        """Whether the binding fails a test."""
        test = self._tests[number]
        if isinstance(test, ast.Equivalence):
            return _disagreeing(test, binding) is not None
        return _counterexample(test, self._indices[number], binding) is not None

    def comparison(self, number: int, binding: Binding) -> str:
        """A test with the values for which it fails: ``b.x > a.x: 12 > 15``."""
        test, text = self._tests[number], self.texts[number]
        if isinstance(test, ast.Equivalence):
            values = _disagreeing(test, binding) or ()
            return f"{text}: {' = '.join(map(literal, values))}"
        indices = self._indices[number]
        current = _counterexample(test, indices, binding) or {}
        for name, least in indices.least_lengths.items():
            length = len(list_of(binding, name))
            if length < least:
                return f"{text}: {name}[] has {length} {'event' if length == 1 else 'events'}"
        shown = print_expression(_with_values(test, Interpreter(binding, current)), self._query)
        where = [f"i = {i}" for name, i in current.items() if len(list_of(binding, name)) > 1]
        return f"{text}: {shown}" + (f" ({', '.join(where)})" if where else "")


def _keys(
    component: ast.Component, tests: Sequence[ast.Expression]
) -> dict[ast.Expression, tuple[str, ast.Expression]]:
    found: dict[ast.Expression, tuple[str, ast.Expression]] = {}
    name = component.variable
    for test in tests:
        match test:
            case ast.Equivalence(attribute):
                found[test] = attribute, test
            case ast.Comparison("=", left, right) if not indices_in([test]).ranges:
                for here, there in ((left, right), (right, left)):
                    named = variables_in(there)
                    if (
                        isinstance(here, ast.Attribute)
                        and here.variable == name
                        and named
                        and name not in named
                    ):
                        found[test] = here.attribute, there
    return found


def wanted_value(wanted: ast.Expression, binding: Binding) -> Any:
    """The value that a key requires; None if it is null or not known yet."""
    if isinstance(wanted, ast.Equivalence):
        return _agreed_value(wanted, binding)
    return Interpreter(binding, {}).returned(wanted)


def _agreed_value(test: ast.Equivalence, binding: Binding) -> Any:
    """The value that the events of a binding share, or None if none of them has one."""
    if test.value is not None:
        return test.value.value
    for event in all_bound(binding):
        if event.values.get(test.attribute) is not None:
            return event.values[test.attribute]
    return None


def _disagreeing(test: ast.Equivalence, binding: Binding) -> tuple[Any, ...] | None:
    """Two values that should be equal, or a null; None if all agree."""
    values = [
        event.values[test.attribute]
        for event in all_bound(binding)
        if test.attribute in event.values
    ]
    wanted = _agreed_value(test, binding)
    for value in reversed(values):
        if value is None or not compare("=", wanted, value):
            return (None,) if wanted is None else (wanted, value)
    return None


def _counterexample(
    condition: ast.Expression, indices: Indices, binding: Binding
) -> Mapping[str, int] | None:
    """The values of i for which the condition is not true, or None if it is always true."""
    for name, least in indices.least_lengths.items():
        if len(list_of(binding, name)) < least:
            return {}
    if not indices.ranges:
        return None if Interpreter(binding, {}).truth(condition) is True else {}
    ranges = [
        range(first, len(list_of(binding, name)) + 1) for name, first in indices.ranges.items()
    ]
    # From the end: the last event is the one to explain.
    for values in product(*map(reversed, ranges)):
        current = dict(zip(indices.ranges, values, strict=True))
        if Interpreter(binding, current).truth(condition) is not True:
            return current
    return None


def _with_values(node: Any, interpreter: Interpreter) -> Any:
    """An expression with values in place of attributes, aggregates and calls."""
    match node:
        case ast.Attribute() | ast.Element() | ast.Length() | ast.Aggregate() | ast.Call():
            return _as_literal(interpreter.returned(node))
        case ast.Node():
            parts = {each.name: getattr(node, each.name) for each in fields(node)}
            return replace(node, **{k: _with_values(v, interpreter) for k, v in parts.items()})
        case tuple():
            return tuple(_with_values(each, interpreter) for each in node)
    return node


def _as_literal(value: Any) -> ast.Literal | ast.Duration:
    """A value as a literal of a query; long strings are cut."""
    match value:
        case None | bool() | int():
            return ast.Literal(value)
        case float():
            return ast.Literal(float(f"{value:.10g}"))
        case timedelta():
            seconds = Fraction(value // timedelta(microseconds=1), 1_000_000)
            for unit in ("days", "hours", "minutes", "seconds"):
                number = seconds * NANOSECONDS_PER["seconds"] / NANOSECONDS_PER[unit]
                if number.denominator == 1:
                    return ast.Duration(number, unit)
            return ast.Duration(seconds, "seconds")
        case datetime():
            return ast.Literal(value.isoformat(sep=" "))
        case date():
            return ast.Literal(value.isoformat())
    text = str(value)
    return ast.Literal(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…")


def literal(value: Any) -> str:
    """A value as the text of a literal.

    >>> literal(0.1 + 0.2), literal("it's"), literal(timedelta(minutes=3)), literal(None)
    ('0.3', "'it''s'", '3 minutes', 'NULL')
    """
    nowhere = ast.Query(ast.Component(("A",), "a"))
    return print_expression(_as_literal(value), nowhere)
