"""Parse tree to abstract syntax: conditions and expressions.

Expressions are assembled bottom-up, before the variables are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from lark import Token, Transformer, v_args
from lark.tree import Meta

from cepheid.aggregates import COUNT_DISTINCT
from cepheid.errors import Fault, Span
from cepheid.language import syntax as ast
from cepheid.language.computed import EVENT, computed
from cepheid.language.naming import (
    PlainValue,
    Prior,
    RawCall,
    WholeElement,
    parameter_hint,
)
from cepheid.language.units import CANONICAL_UNIT

_COMPARISONS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_INTEGER_LIMIT = 2**63
_ONE_WAY_QUOTES = "‘’“”"


@dataclass(frozen=True, slots=True)
class StrategyClause(ast.Node):
    """A selection strategy as a conjunct; ``head`` is its span without the body."""

    strategy: ast.SelectionStrategy
    variables: tuple[str, ...] | None
    body: ast.Expression | None
    head: Span


def _with_span(rule: Callable[..., Any], _name: str, children: list[Any], meta: Meta) -> Any:
    """Call the method of a rule with the span of its node, and with its children."""
    span = Span(0, 0) if meta.empty else Span(meta.start_pos, meta.end_pos)
    return rule(span, *children)


one_method_per_rule = v_args(wrapper=_with_span)
"""Each method of the class has the name of a rule, and takes its span and its children."""


@one_method_per_rule
class ExpressionAssembler(Transformer[Token, Any]):
    """Conditions and expressions."""

    def __init__(self, parameters: Mapping[str, PlainValue], faults: list[Fault]) -> None:
        super().__init__()
        self._parameters = parameters
        self._faults = faults

    def _fault(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self._faults.append(Fault(message, span, hint=hint))

    def NAME(self, token: Token) -> Token:  # noqa: N802 - named like the terminal
        return token.update(value=token[1:-1]) if token.startswith("`") else token

    # --- conditions

    def or_(self, span: Span, *parts: Any) -> ast.Expression:
        return ast.joined(ast.Or, without_tokens(parts), span)

    def and_(self, span: Span, *parts: Any) -> ast.Expression:
        return ast.joined(ast.And, without_tokens(parts), span)

    def not_(self, span: Span, _not: Token, operand: ast.Expression) -> ast.Not:
        return ast.Not(operand, span=span)

    def strategy(self, span: Span, token: Token, *variables_and_body: Any) -> StrategyClause:
        *variables, body = variables_and_body
        name = "_".join(re.split(r"[\s_-]+", token.lower()))
        listed = [variable for variable in variables if variable is not None]
        names = tuple(variable for variable, _ in listed)
        head = span_of_token(token)
        if listed:
            head = Span(head.start, listed[-1][1].end + len(")"))
        return StrategyClause(ast.SelectionStrategy(name), names or None, body, head, span=span)

    def strategy_variable(self, span: Span, name: Token, _mark: Token | None) -> tuple[str, Span]:
        return str(name), span

    def comparison(
        self, span: Span, left: ast.Expression, operator: Token, right: ast.Expression
    ) -> ast.Comparison:
        return ast.Comparison(_comparison(operator), left, right, span=span)

    def in_(
        self, span: Span, operand: Any, negated: Token | None, _in: Token, *options: Any
    ) -> ast.Expression:
        return _negated_if(negated, ast.In(operand, options, span=span))

    def between(
        self, span: Span, operand: Any, negated: Token | None, _between: Token, *ends: Any
    ) -> ast.Expression:
        low, _and, high = ends
        return _negated_if(negated, ast.Between(operand, low, high, span=span))

    def like(
        self, span: Span, operand: Any, negated: Token | None, _like: Token, pattern: Token
    ) -> ast.Expression:
        return _negated_if(negated, ast.Like(operand, _unquoted(pattern), span=span))

    def is_null(
        self, span: Span, operand: Any, _is: Token, negated: Token | None, _null: Token
    ) -> ast.Expression:
        return _negated_if(negated, ast.IsNull(operand, span=span))

    # --- expressions

    def arithmetic(self, span: Span, left: Any, operator: Token, right: Any) -> ast.Arithmetic:
        symbol = "-" if operator.type == "MINUS" else str(operator)
        return ast.Arithmetic(symbol, left, right, span=span)

    def negative(self, span: Span, _minus: Token, operand: ast.Expression) -> ast.Expression:
        """``-5`` is a number, ``-x`` an operation."""
        if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
            assert isinstance(operand.value, int | float)
            return ast.Literal(-operand.value, span=span)
        return ast.Negative(operand, span=span)

    def positive(self, _span: Span, _plus: Token, operand: ast.Expression) -> ast.Expression:
        return operand

    def group(self, _span: Span, inner: ast.Expression) -> ast.Expression:
        is_null = isinstance(inner, ast.Literal) and inner.value is None
        return ast.Literal(None, is_meant=True, span=inner.span) if is_null else inner

    where_clause = group

    def number(self, span: Span, token: Token) -> ast.Literal:
        value = self._whole(token) if token.type == "INTEGER" else self._finite(token, token)
        return ast.Literal(value, span=span)

    def _whole(self, token: Token) -> int:
        # Python refuses to parse very long integers; 20 digits are already too many.
        value = int(token.lstrip("0")[:20] or 0)
        if value < _INTEGER_LIMIT:
            return value
        self._fault(
            "this integer is too large",
            span_of_token(token),
            f"The largest is {_INTEGER_LIMIT - 1}; write a larger one like 1e20.",
        )
        return 1

    def _finite(self, digits: str, token: Token) -> float:
        value = float(digits)
        if math.isfinite(value):
            return value
        self._fault("this number is too large", span_of_token(token), "The largest is about 1e308.")
        return 1.0

    def percentage(self, span: Span, token: Token) -> ast.Literal:
        digits = token.rstrip("%").strip()
        # Shift the exponent, because a division could round again.
        return ast.Literal(self._finite(f"{digits}e-2", token), span=span)

    def duration(self, span: Span, number: ast.Literal, unit: Token) -> ast.Duration:
        return ast.Duration(self._exact(number), canonical_unit(unit), span=span)

    def _exact(self, number: ast.Literal) -> Fraction:
        """The number as it is written; one that is too large for a duration is a fault."""
        if isinstance(number.value, int | float) and abs(number.value) < _INTEGER_LIMIT:
            return Fraction(str(number.value))
        self._fault("this number is too large", number.span)
        return Fraction(1)

    def string(self, span: Span, token: Token) -> ast.Literal:
        return ast.Literal(_unquoted(token), span=span)

    def constant(self, span: Span, token: Token) -> ast.Literal:
        return ast.Literal({"TRUE": True, "FALSE": False, "NULL": None}[token.type], span=span)

    def branch(self, _span: Span, *parts: Any) -> tuple[ast.Expression, ast.Expression]:
        condition, value = without_tokens(parts)
        return condition, value

    def case(self, span: Span, *parts: Any) -> ast.Case:
        branches = tuple(part for part in parts if isinstance(part, tuple))
        others: list[Any] = [part for part in parts if isinstance(part, ast.Node)]
        return ast.Case(branches, others[0] if others else ast.Literal(None), span=span)

    def call(
        self, span: Span, function: Token, distinct: Token | None, *items: ast.ReturnItem | None
    ) -> RawCall:
        name = str(function)
        if distinct is not None and name.lower() == "count":
            name = COUNT_DISTINCT
        elif distinct is not None:
            self._fault("DISTINCT goes with count", span_of_token(distinct))
        return RawCall(name, tuple(item for item in items if item is not None), span=span)

    def argument(
        self, span: Span, expression: ast.Expression, name: Token | None
    ) -> ast.ReturnItem:
        return ast.ReturnItem(expression, str(name) if name else None, span=span)

    def bare_name(self, span: Span, name: Token) -> ast.Parameter:
        return ast.Parameter(str(name), span=span)

    def field_step(self, span: Span, _dot: Token, name: Token) -> tuple[str, Span]:
        return str(name), span

    def item_step(self, span: Span, token: Token) -> tuple[int, Span]:
        number = self._whole(token)
        if number == 0:
            self._fault("the first element of a list has number 1, not 0", span)
        return number, span

    def attribute(
        self, span: Span, variable: Token, attribute: Token, *steps: Any
    ) -> ast.Attribute:
        return ast.Attribute(str(variable), _path(attribute, steps), span=span)

    def element(
        self, span: Span, variable: Token, index: Any, attribute: Token, *steps: Any
    ) -> ast.Node:
        path = _path(attribute, steps)
        if index is ast.Scope.PRIOR:
            return Prior(str(variable), path, span=span)
        if isinstance(index, str) and index != str(variable):
            self._fault(
                f"the length of '{index}' is not an index of '{variable}'",
                span,
                f"Write {variable}[{variable}.LEN].",
            )
        index = ast.Index.LAST if isinstance(index, str) else index
        return ast.Element(str(variable), index, path, span=span)

    def whole_element(self, span: Span, variable: Token, index: Any) -> ast.Node:
        is_prior = index is ast.Scope.PRIOR
        name = str(variable)
        return Prior(name, None, span=span) if is_prior else WholeElement(name, span=span)

    def elements(
        self, span: Span, variable: Token, _mark: Token, attribute: Token, *steps: Any
    ) -> ast.Elements:
        return ast.Elements(str(variable), _path(attribute, steps), span=span)

    def all_elements(self, span: Span, variable: Token, _mark: Token) -> ast.EventReference:
        return ast.EventReference(str(variable), span=span)

    def fixed_index(self, span: Span, token: Token) -> int:
        number = self._whole(token)
        if number == 0:
            self._fault("the first event of a Kleene variable has index 1, not 0", span)
        return number

    def named_index(
        self, span: Span, name: Token, sign: Token | None, distance: Token | None
    ) -> ast.Index:
        if sign is None and name.upper() == "LEN":
            return ast.Index.LAST
        is_index = sign is None or (sign.type, distance) == ("MINUS", "1")
        self._check_index(is_index and name == "i", span)
        return ast.Index.PREVIOUS if sign else ast.Index.CURRENT

    def prior_index(
        self, span: Span, _dots: Token, name: Token, _minus: Token, distance: Token
    ) -> ast.Scope:
        self._check_index(name == "i" and distance == "1", span)
        return ast.Scope.PRIOR

    def length_index(self, span: Span, variable: Token, attribute: Token) -> str:
        self._check_index(attribute.upper() == "LEN", span)
        return str(variable)

    def _check_index(self, is_index: bool, span: Span) -> None:
        if not is_index:
            self._fault(
                "this is not an index of a Kleene variable",
                span,
                "An index is a number, i, i-1, ..i-1 (in an aggregate) or LEN.",
            )

    def equivalences(self, span: Span, *tests: ast.Equivalence) -> ast.Expression:
        return ast.joined(ast.And, tests, span)

    def equivalence(
        self, span: Span, attribute: Token, operator: Token | None, value: Any
    ) -> ast.Equivalence:
        if operator is not None and _comparison(operator) != "=":
            self._fault(
                f"an equivalence test needs '=', not '{operator}'",
                span,
                "Compare the attributes of the variables instead.",
            )
        if isinstance(value, ast.Parameter):
            if value.name not in self._parameters:
                self._fault(
                    f"the name '{value.name}' has no value",
                    value.span,
                    f"Write a string in quotes ('{value.name}'). {parameter_hint(value.name)}",
                )
            given: Any = self._parameters.get(value.name)
            value = ast.Literal(given, span=value.span)
        return ast.Equivalence(str(attribute), value, span=span)

    def _given(self, amount: Any) -> ast.Literal | ast.Parameter:
        """The number in a clause; of a name the value of the parameter, if it has one."""
        if not isinstance(amount, Token):
            return cast("ast.Literal", amount)
        span = span_of_token(amount)
        if amount.type == "PERCENTAGE":
            return self.percentage(span, amount)
        if amount in self._parameters:
            value: Any = self._parameters[amount]
            return ast.Literal(value, span=span)
        return ast.Parameter(str(amount), span=span)


def _path(attribute: Token, steps: Iterable[tuple[str | int, Span]]) -> str:
    """The name of an attribute, or of a field or an element of it."""
    place = span_of_token(attribute)
    node: ast.Expression = ast.Attribute(EVENT, str(attribute), span=place)
    for step, span in steps:
        whole = Span(place.start, span.end)
        if isinstance(step, str):
            node = ast.Field(node, step, span=whole)
        else:
            node = ast.Item(node, step, span=whole)
    return str(attribute) if isinstance(node, ast.Attribute) else computed(node)


def without_tokens(children: Iterable[Any]) -> list[Any]:
    """The children without the words and signs between them."""
    return [child for child in children if not isinstance(child, Token)]


def _negated_if(negated: Token | None, node: ast.Expression) -> ast.Expression:
    return ast.Not(node, span=node.span) if negated else node


def _comparison(operator: str) -> str:
    return _COMPARISONS.get(operator, str(operator))


def canonical_unit(token: Token) -> str:
    """The canonical name of a unit of time."""
    # Micro can be typed as the micro sign or as the Greek letter mu.
    return CANONICAL_UNIT[token.lower().replace("μ", "µ")]


def _unquoted(token: Token) -> str:
    quote, text = token[0], token[1:-1]
    return text if quote in _ONE_WAY_QUOTES else text.replace(quote * 2, quote)


def span_of_token(token: Token) -> Span:
    """The span of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)
