"""Resolves the names of a query when the whole pattern is known.

Until then an expression has raw nodes: a bare name may be a parameter, an attribute of the only
component, or an event, and ``f(x)`` may be a function or an aggregate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any, cast

from cepheid.aggregates import AGGREGATES
from cepheid.errors import Fault, OptionError, Span
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.computed import computed
from cepheid.language.units import in_largest_unit
from cepheid.schema import POSITIONS, Position
from cepheid.visible import LONE_SURROGATE, said

Scalar = int | float | str | bool | None
ParameterValue = Scalar | date | timedelta | Collection[Scalar | date]
"""The value of a parameter of a query; a collection is for IN."""

_LISTS = (list, tuple, set, frozenset)

PlainValue = Scalar | timedelta | tuple[Any, ...]
"""The value of a parameter as a query has it: a point in time is a string."""


def plain_parameters(parameters: Mapping[str, ParameterValue]) -> dict[str, PlainValue]:
    """The values as Python numbers and strings; NaN is null.

    >>> plain_parameters({"since": date(2024, 5, 1), "ids": {7}})
    {'since': '2024-05-01', 'ids': (7,)}

    >>> from fractions import Fraction
    >>> plain_parameters({"T": Fraction(1, 2), "name": "x"})
    {'T': 0.5, 'name': 'x'}
    """
    if not isinstance(parameters, Mapping):
        raise OptionError(
            f"parameters must map names to values, such as {{'T': 5}}, not {said(parameters)}"
        )
    for name in parameters:
        if not isinstance(name, str):
            raise OptionError(f"the name of a parameter is a string, not {said(name)}")
    return {name: _plain_value(name, value) for name, value in parameters.items()}


def _plain_value(name: str, value: Any) -> Any:
    if isinstance(value, _LISTS):
        for each in value:
            if isinstance(each, _LISTS):
                raise OptionError(f"the parameter {name!r} has a list in a list: {said(value)}")
        return tuple(_plain_value(name, each) for each in value)
    if isinstance(value, str) and LONE_SURROGATE.search(value):
        raise OptionError(f"the parameter {name!r} has a lone surrogate, which is not a character")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    if not isinstance(value, Integral):
        number = float(value)
        return None if math.isnan(number) else number
    if not -(2**63) <= int(value) < 2**63:
        raise OptionError(
            f"the parameter {name!r} is {said(value)}, which exceeds 64 bits; give it as a float"
        )
    return int(value)


@dataclass(frozen=True, slots=True)
class Prior(ast.Node):
    """``a[..i-1].x``, until it is known to be inside an aggregate."""

    variable: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class GivenList(ast.Node):
    """A parameter whose value is a list, until it is known to be inside ``IN (…)``."""

    name: str
    values: tuple[ast.Literal, ...]


@dataclass(frozen=True, slots=True)
class WholeElement(ast.Node):
    """``a[1]`` without an attribute, which is always a fault."""

    variable: str


@dataclass(frozen=True, slots=True)
class RawCall(ast.Node):
    """``name(item, …)``: a function, an aggregate, or the composite type of RETURN."""

    function: str
    items: tuple[ast.ReturnItem, ...]


def parameter_hint(name: str) -> str:
    """How to give a parameter its value."""
    return f'Give the parameter a value: parameters={{"{name}": …}} (--set {name}=…).'


def name_components(pattern: ast.Pattern) -> ast.Pattern:
    """The pattern with a name for every component that has none: its type, numbered if taken.

    >>> from cepheid.language.parser import parse
    >>> [c.variable for c, _ in ast.components(parse("EVENT SEQ(A, A, ANY(B, C) x)").pattern)]
    ['A', 'A_2', 'x']
    """
    taken = {component.variable for component, _ in ast.components(pattern)}
    numbers: Counter[str] = Counter()

    def named(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Component) or node.variable:
            return node
        wanted = default_variable(node.types)
        variable = wanted
        while variable in taken:
            numbers[wanted] += 1
            variable = f"{wanted}_{numbers[wanted] + 1}"
        taken.add(variable)
        return replace(node, variable=variable)

    return ast.rewrite(pattern, named)


def default_variable(types: tuple[str, ...]) -> str:
    """The variable of a component that declares none."""
    return types[0] if len(types) == 1 else "ANY"


class Names:
    """Resolves the names of expressions, given the pattern."""

    def __init__(
        self,
        pattern: ast.Pattern,
        parameters: Mapping[str, PlainValue],
        faults: list[Fault],
    ) -> None:
        declared = [component for component, _ in ast.components(pattern)]
        self._kleene = {component.variable for component in declared if component.is_kleene}
        self._variables = {component.variable for component in declared}
        self._only = pattern.variable if isinstance(pattern, ast.Component) else None
        self._parameters = parameters
        self._faults = faults

    def in_return(self, node: ast.Node) -> ast.Node:
        """Resolve a node of RETURN, where a variable can be an item by its name alone."""
        if isinstance(node, ast.Parameter) and node.name in self._variables:
            return ast.EventReference(node.name, span=node.span)
        return self.in_condition(node)

    def in_condition(self, node: ast.Node) -> ast.Node:
        """Resolve a node of a condition."""
        if isinstance(node, ast.Parameter) and node.name in self._parameters:
            return given(node, self._parameters[node.name])
        if isinstance(node, ast.In) and any(isinstance(each, GivenList) for each in node.options):
            return spread(node)
        if isinstance(node, ast.Attribute) and node.attribute.upper() == "LEN":
            is_kleene = node.variable in self._kleene
            return ast.Length(node.variable, span=node.span) if is_kleene else node
        if isinstance(node, ast.Parameter) and self._only and node.name not in self._variables:
            return self.in_condition(ast.Attribute(self._only, node.name, span=node.span))
        attribute = getattr(node, "attribute", None)
        if attribute is not None and hasattr(node, "variable") and attribute.upper() in POSITIONS:
            return replace(node, attribute=Position(attribute))  # type: ignore[call-arg]
        if isinstance(node, RawCall):
            return self._called(node)
        return node

    def _called(self, call: RawCall) -> ast.Node:
        for item in call.items:
            if item.name is not None:
                self._faults.append(
                    Fault("an argument of a function cannot have a name", item.span)
                )
        arguments = tuple(item.expression for item in call.items)
        name = call.function.lower()
        if name in AGGREGATES and len(arguments) == 1:
            aggregate = aggregate_over(name, arguments[0], call.span)
            if aggregate is not None:
                return aggregate
        known = find_function(call.function)
        return ast.Call(known.name if known else call.function, arguments, span=call.span)

    def refuse_loose(self, tree: ast.Node | None) -> None:
        """Report elements of Kleene variables in places where they have no meaning."""
        for node in tree.walk() if tree is not None else ():
            match node:
                case Prior(variable, attribute):
                    message = f"'{variable}[..i-1]' can only be used in an aggregate"
                    hint = f"For example, write avg({variable}[..i-1].{attribute or 'x'})."
                    self._faults.append(Fault(message, node.span, hint=hint))
                case GivenList(name):
                    message = f"the parameter '{name}' is a list"
                    hint = f"Write it like a.x IN ({name})."
                    self._faults.append(Fault(message, node.span, hint=hint))
                case WholeElement(variable):
                    message = f"an event of '{variable}' is not a value"
                    hint = f"Name one of its attributes, such as {variable}[i].x."
                    self._faults.append(Fault(message, node.span, hint=hint))


def given(parameter: ast.Parameter, value: Any) -> ast.Node:
    """The value of a parameter as an expression."""
    if isinstance(value, timedelta):
        duration = ast.Duration(*in_largest_unit(abs(value)), span=parameter.span)
        return ast.Negative(duration, span=parameter.span) if value < timedelta() else duration
    if isinstance(value, tuple):
        values = tuple(ast.Literal(each, is_meant=True, span=parameter.span) for each in value)
        return GivenList(parameter.name, values, span=parameter.span)
    return ast.Literal(value, is_meant=True, span=parameter.span)


def spread(node: ast.In) -> ast.Node:
    """``x IN (…)`` with the values of lists; nothing is in an empty list."""
    options: list[Any] = []
    for each in cast("tuple[ast.Node, ...]", node.options):
        options += each.values if isinstance(each, GivenList) else (each,)
    return replace(node, options=tuple(options)) if options else ast.Literal(False, span=node.span)


def aggregate_over(
    function: str, argument: ast.Node | None, span: Span | None = None
) -> ast.Aggregate | None:
    """The aggregate over this argument, or None if it cannot be aggregated."""
    match argument:
        case ast.Elements(variable, attribute) | ast.Element(
            variable, ast.Index.CURRENT, attribute
        ):
            return ast.Aggregate(function, variable, ast.Scope.WHOLE, attribute, span=span)
        case Prior(variable, attribute) if attribute or function == "count":
            return ast.Aggregate(function, variable, ast.Scope.PRIOR, attribute, span=span)
        case ast.EventReference(variable) if function == "count":
            return ast.Aggregate(function, variable, ast.Scope.WHOLE, None, span=span)
    return None if argument is None else _aggregate_of_values(function, argument, span)


def _aggregate_of_values(
    function: str, argument: ast.Node, span: Span | None
) -> ast.Aggregate | None:
    """``sum(a[].x * a[].y)``: an aggregate over a value that is computed for each event."""
    leaves = {
        (leaf.variable, _scope_of(leaf)) for leaf in argument.walk() if hasattr(leaf, "variable")
    }
    if len(leaves) != 1:
        return None
    [(variable, scope)] = leaves
    if scope is None:
        return None
    return ast.Aggregate(function, variable, scope, computed(argument), span=span)


def _scope_of(leaf: ast.Node) -> ast.Scope | None:
    match leaf:
        case Prior(_, str()):
            return ast.Scope.PRIOR
        case ast.Elements() | ast.Element(_, ast.Index.CURRENT, _):
            return ast.Scope.WHOLE
    return None


def variables_in(node: ast.Node) -> set[str]:
    """The variables that an expression names.

    >>> from cepheid.language.parser import parse
    >>> sorted(variables_in(parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x").condition))
    ['a', 'b']
    """
    return {part.variable for part in node.walk() if hasattr(part, "variable")}
