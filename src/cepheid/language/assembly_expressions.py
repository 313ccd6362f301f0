"""Parse tree to abstract syntax: conditions and expressions.

Expressions are assembled bottom-up, before the variables are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lark import Token, Transformer, v_args
from lark.tree import Meta

from cepheid.errors import Fault, Span
from cepheid.language import syntax as ast
from cepheid.language.naming import ParameterValue, Prior, RawCall, WholeElement
from cepheid.language.units import CANONICAL_UNIT

_COMPARISONS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_INTEGER_LIMIT = 2**63
_QUOTE_PAIRS = {"‘": "’", "’": "‘", "“": "”", "”": "“"}


@dataclass(frozen=True, slots=True)
class StrategyClause(ast.Node):
    """A selection strategy as a conjunct; ``head`` is its span without the body."""

    strategy: ast.SelectionStrategy
    variables: tuple[str, ...] | None
    body: ast.Expression | None
    head: Span


@v_args(meta=True)
class ExpressionAssembler(Transformer[Token, Any]):
    """One method per grammar rule, with the name of the rule."""

    def __init__(self, parameters: Mapping[str, ParameterValue], faults: list[Fault]) -> None:
        super().__init__()
        self._parameters = parameters
        self._faults = faults

    def _fault(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self._faults.append(Fault(message, span, hint=hint))

    # --- conditions

    def or_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return ast.joined(ast.Or, _without_tokens(children), span_of(meta))

    def and_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return ast.joined(ast.And, _without_tokens(children), span_of(meta))

    def not_(self, meta: Meta, children: list[Any]) -> ast.Not:
        return ast.Not(children[-1], span=span_of(meta))

    def strategy(self, meta: Meta, children: list[Any]) -> StrategyClause:
        token, *variables, body = children
        name = "_".join(re.split(r"[\s_-]+", token.lower()))
        listed = [variable for variable in variables if variable is not None]
        names = tuple(variable for variable, _ in listed)
        head = span_of_token(token)
        if listed:
            head = Span(head.start, listed[-1][1].end + len(")"))
        strategy = ast.SelectionStrategy(name)
        return StrategyClause(strategy, names or None, body, head, span=span_of(meta))

    def strategy_variable(self, meta: Meta, children: list[Token]) -> tuple[str, Span]:
        return str(children[0]), span_of(meta)

    def comparison(self, meta: Meta, children: list[Any]) -> ast.Comparison:
        left, operator, right = children
        return ast.Comparison(_comparison(operator), left, right, span=span_of(meta))

    def in_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _in, *options = children
        node = ast.In(operand, tuple(options), span=span_of(meta))
        return _negated_if(negated, node)

    def between(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _between, low, _and, high = children
        return _negated_if(negated, ast.Between(operand, low, high, span=span_of(meta)))

    def like(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _like, pattern = children
        return _negated_if(negated, ast.Like(operand, _unquoted(pattern), span=span_of(meta)))

    def is_null(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, _is, negated, _null = children
        return _negated_if(negated, ast.IsNull(operand, span=span_of(meta)))

    # --- expressions

    def arithmetic(self, meta: Meta, children: list[Any]) -> ast.Arithmetic:
        left, operator, right = children
        symbol = "-" if operator.type == "MINUS" else str(operator)
        return ast.Arithmetic(symbol, left, right, span=span_of(meta))

    def negative(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand = children[1]
        return _negative(operand, span_of(meta))

    def positive(self, _meta: Meta, children: list[Any]) -> ast.Expression:
        operand: ast.Expression = children[1]
        return operand

    def group(self, _meta: Meta, children: list[Any]) -> ast.Expression:
        inner: ast.Expression = children[0]
        return inner

    def number(self, meta: Meta, children: list[Token]) -> ast.Literal:
        token = children[0]
        value = self._whole(token) if token.type == "INTEGER" else self._finite(token, token)
        return ast.Literal(value, span=span_of(meta))

    def _whole(self, token: Token) -> int:
        # Python refuses to parse very long integers; 20 digits are already too many.
        value = int(token.lstrip("0")[:20] or 0)
        if value < _INTEGER_LIMIT:
            return value
        self._fault(
            "this whole number is too large",
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

    def negative_number(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return _negative(children[1], span_of(meta))

    def percentage(self, meta: Meta, children: list[Token]) -> ast.Literal:
        token = children[0]
        digits = token.rstrip("%").strip()
        # Shift the exponent, because a division could round again.
        return ast.Literal(self._finite(f"{digits}e-2", token), span=span_of(meta))

    def duration(self, meta: Meta, children: list[Any]) -> ast.Duration:
        number, unit = children
        return ast.Duration(self._exact(number), canonical_unit(unit), span=span_of(meta))

    def _exact(self, number: ast.Literal) -> Fraction:
        """The number as it is written; one that is too large for a duration is a fault."""
        if isinstance(number.value, int | float) and abs(number.value) < _INTEGER_LIMIT:
            return Fraction(str(number.value))
        self._fault("this number is too large", number.span)
        return Fraction(1)

    def string(self, meta: Meta, children: list[Token]) -> ast.Literal:
        return ast.Literal(_unquoted(children[0]), span=span_of(meta))

    def constant(self, meta: Meta, children: list[Token]) -> ast.Literal:
        value = {"TRUE": True, "FALSE": False, "NULL": None}[children[0].type]
        return ast.Literal(value, span=span_of(meta))

    def call(self, meta: Meta, children: list[Any]) -> RawCall:
        function, *items = children
        present = tuple(item for item in items if item is not None)
        return RawCall(str(function), present, span=span_of(meta))

    def argument(self, meta: Meta, children: list[Any]) -> ast.ReturnItem:
        expression, name = children
        return ast.ReturnItem(expression, str(name) if name else None, span=span_of(meta))

    def bare_name(self, meta: Meta, children: list[Token]) -> ast.Parameter:
        return ast.Parameter(str(children[0]), span=span_of(meta))

    def attribute(self, meta: Meta, children: list[Token]) -> ast.Attribute:
        variable, attribute = children
        return ast.Attribute(str(variable), str(attribute), span=span_of(meta))

    def element(self, meta: Meta, children: list[Any]) -> ast.Node:
        variable, index, attribute = children
        if index is ast.Scope.PRIOR:
            return Prior(str(variable), str(attribute), span=span_of(meta))
        if isinstance(index, str) and index != str(variable):
            self._fault(
                f"the length of '{index}' is not an index of '{variable}'",
                span_of(meta),
                f"Write {variable}[{variable}.LEN].",
            )
        index = ast.Index.LAST if isinstance(index, str) else index
        return ast.Element(str(variable), index, str(attribute), span=span_of(meta))

    def whole_element(self, meta: Meta, children: list[Any]) -> ast.Node:
        variable, index = children
        if index is ast.Scope.PRIOR:
            return Prior(str(variable), None, span=span_of(meta))
        return WholeElement(str(variable), span=span_of(meta))

    def elements(self, meta: Meta, children: list[Any]) -> ast.Elements:
        variable, _list_mark, attribute = children
        return ast.Elements(str(variable), str(attribute), span=span_of(meta))

    def all_elements(self, meta: Meta, children: list[Any]) -> ast.EventReference:
        return ast.EventReference(str(children[0]), span=span_of(meta))

    def fixed_index(self, meta: Meta, children: list[Token]) -> int:
        number = self._whole(children[0])
        if number == 0:
            self._fault("the first event of a Kleene variable has index 1, not 0", span_of(meta))
        return number

    def named_index(self, meta: Meta, children: list[Token | None]) -> ast.Index:
        name, _minus, distance = children
        if str(name).upper() == "LEN" and distance is None:
            return ast.Index.LAST
        if name != "i" or distance not in (None, "1"):
            self._index_fault(meta)
        return ast.Index.PREVIOUS if distance else ast.Index.CURRENT

    def forward_index(self, meta: Meta, _children: list[Token]) -> ast.Index:
        self._index_fault(meta)
        return ast.Index.CURRENT

    def prior_index(self, meta: Meta, children: list[Token]) -> ast.Scope:
        _dots, name, _minus, distance = children
        if name != "i" or distance != "1":
            self._index_fault(meta)
        return ast.Scope.PRIOR

    def length_index(self, meta: Meta, children: list[Token]) -> str:
        variable, attribute = children
        if attribute.upper() != "LEN":
            self._index_fault(meta)
        return str(variable)

    def _index_fault(self, meta: Meta) -> None:
        self._fault(
            "this is not an index of a Kleene variable",
            span_of(meta),
            "An index is a number, i, i-1, ..i-1 (in an aggregate) or LEN.",
        )

    def equivalences(self, meta: Meta, children: list[ast.Equivalence]) -> ast.Expression:
        return ast.joined(ast.And, children, span_of(meta))

    def equivalence(self, meta: Meta, children: list[Any]) -> ast.Equivalence:
        attribute, operator, value = children
        if operator is not None and _comparison(operator) != "=":
            self._fault(
                f"an equivalence test needs '=', not '{operator}'",
                span_of(meta),
                "Compare the attributes of the variables instead.",
            )
        if isinstance(value, ast.Parameter):
            value = self._value_of(value)
        return ast.Equivalence(str(attribute), value, span=span_of(meta))

    def _value_of(self, parameter: ast.Parameter) -> ast.Literal:
        """The value of a parameter in a place that needs a literal."""
        if parameter.name not in self._parameters:
            self._fault(
                f"the name '{parameter.name}' has no value",
                parameter.span,
                f"Write a string in quotes ('{parameter.name}'), or give the parameter a value.",
            )
        return ast.Literal(self._parameters.get(parameter.name), span=parameter.span)


def _without_tokens(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


def _negated_if(negated: Token | None, node: ast.Expression) -> ast.Expression:
    return ast.Not(node, span=node.span) if negated else node


def _negative(operand: ast.Expression, span: Span) -> ast.Expression:
    """``-5`` is a number, ``-x`` an operation."""
    if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
        assert isinstance(operand.value, int | float)
        return ast.Literal(-operand.value, span=span)
    return ast.Negative(operand, span=span)


def _comparison(operator: str) -> str:
    return _COMPARISONS.get(operator, str(operator))


def canonical_unit(token: Token) -> str:
    """The canonical name of a unit of time."""
    # Micro can be typed as the micro sign or as the Greek letter mu.
    return CANONICAL_UNIT[token.lower().replace("μ", "µ")]


def _unquoted(token: Token) -> str:
    quote, text = token[0], token[1:-1]
    return text if quote in _QUOTE_PAIRS else text.replace(quote * 2, quote)


def span_of(meta: Meta) -> Span:
    """The span of a node of the parse tree."""
    return Span(meta.start_pos, meta.end_pos) if not meta.empty else Span(0, 0)


def span_of_token(token: Token) -> Span:
    """The span of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)
