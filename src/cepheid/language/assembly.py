"""Parse tree to abstract syntax.

Expressions are assembled bottom-up, before it is known which names are variables; when the
whole query is there, one more pass settles what each name is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lark import Token, Transformer, Tree, v_args
from lark.tree import Meta

from cepheid.errors import Fault, Span
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.naming import (
    Names,
    ParameterValue,
    Prior,
    RawCall,
    WholeElement,
    name_components,
)
from cepheid.language.units import CANONICAL_UNIT

_COMPARISONS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_INTEGER_LIMIT = 2**63
_QUOTE_PAIRS = {"‘": "’", "’": "‘", "“": "”", "”": "“"}


@dataclass(frozen=True, slots=True)
class _Strategy(ast.Node):
    """A selection strategy as a conjunct; ``head`` is its place without the body."""

    strategy: ast.SelectionStrategy
    variables: tuple[str, ...] | None
    body: ast.Expression | None
    head: Span


def assemble(
    tree: Tree[Token], parameters: Mapping[str, ParameterValue], faults: list[Fault]
) -> tuple[ast.Query, ...]:
    """The queries of a parse tree; what is wrong with them is added to ``faults``."""
    queries: tuple[ast.Query, ...] = _Assembler(parameters, faults).transform(tree)
    return queries


@v_args(meta=True)
class _Assembler(Transformer[Token, Any]):
    """One method per rule of the grammar, named like it."""

    def __init__(self, parameters: Mapping[str, ParameterValue], faults: list[Fault]) -> None:
        super().__init__()
        self._parameters = parameters
        self._faults = faults

    def _fault(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self._faults.append(Fault(message, span, hint=hint))

    # --- names and patterns

    def script(self, _meta: Meta, queries: list[ast.Query]) -> tuple[ast.Query, ...]:
        return tuple(queries)

    def NAME(self, token: Token) -> Token:  # noqa: N802 - named like the terminal
        return token.update(value=token[1:-1]) if token.startswith("`") else token

    def type_name(self, _meta: Meta, children: list[Token]) -> str:
        return "".join("-" if part.type == "MINUS" else part for part in children)

    def types(self, _meta: Meta, children: list[Any]) -> tuple[str, ...]:
        types = children[0]
        return (types,) if isinstance(types, str) else types

    def any_types(self, meta: Meta, children: list[Any]) -> tuple[str, ...]:
        types = tuple(children[1:])
        if len(set(types)) < len(types):
            self._fault("ANY names a type twice", _span(meta))
        return types

    def quantifier(self, _meta: Meta, children: list[Any]) -> ast.Bounds:
        quantifier = children[0]
        if isinstance(quantifier, ast.Bounds):
            return quantifier
        return ast.Bounds(1 if quantifier.type == "PLUS" else 0, None)

    def repetition(self, meta: Meta, children: list[Any]) -> ast.Bounds:
        least_token, comma, most_token = children
        least = self._whole(least_token)
        most = self._whole(most_token) if most_token else (None if comma else least)
        if most == 0:
            self._fault("a repetition of at most zero events never occurs", _span(meta))
        elif most is not None and most < least:
            self._fault(
                f"a repetition of at least {least} and at most {most} events is impossible",
                _span(meta),
                f"Write {{{most},{least}}}.",
            )
        return ast.Bounds(least, most)

    def variable(self, meta: Meta, children: list[Token | None]) -> tuple[str, bool, Span]:
        name, list_mark = children
        return str(name), list_mark is not None, _span(meta)

    def component(self, meta: Meta, children: list[Any]) -> ast.Component:
        types, bounds, variable = children
        if variable is None:
            return ast.Component(types, "", bounds, span=_span(meta))
        name, has_list_mark, span = variable
        if bounds is not None and not has_list_mark:
            self._fault(
                f"'{name}' is the variable of a Kleene component",
                span,
                f"A Kleene variable is a list: write {name}[].",
            )
        if bounds is None and has_list_mark:
            self._fault(
                f"'{name}[]' is written like a Kleene variable, but is one event",
                span,
                f"Write {name}, or {types[0]}+ {name}[] for one or more events.",
            )
        return ast.Component(types, name, bounds, span=_span(meta))

    def negation(self, meta: Meta, children: list[Any]) -> ast.Pattern:
        part: ast.Pattern = children[-1]
        if isinstance(part, ast.Component):
            if part.is_kleene:
                self._fault(
                    "a negated component is a single event",
                    _span(meta),
                    "~(B b) already says that no B occurs, not even one.",
                )
            return ast.Negation(part, span=_span(meta))
        self._fault(
            "only a single component can be negated",
            part.span,
            "Negate each component on its own.",
        )
        return part

    def composite(self, meta: Meta, children: list[Any]) -> ast.Pattern:
        operator, *parts = children
        kinds: dict[str, type[ast.Sequence] | type[ast.Conjunction] | type[ast.Disjunction]]
        kinds = {"SEQ": ast.Sequence, "AND": ast.Conjunction, "OR": ast.Disjunction}
        return kinds[operator.type](tuple(parts), span=_span(meta))

    def bracketed(self, meta: Meta, children: list[Any]) -> ast.Pattern:
        """``PATTERN (A a, B b)`` is a sequence [Agrawal08 §6]."""
        if len(children) == 1:
            only: ast.Pattern = children[0]
            return only
        return ast.Sequence(tuple(children), span=_span(meta))

    # --- conditions

    def or_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return _joined(ast.Or, _without_tokens(children), _span(meta))

    def and_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return _joined(ast.And, _without_tokens(children), _span(meta))

    def not_(self, meta: Meta, children: list[Any]) -> ast.Not:
        return ast.Not(children[-1], span=_span(meta))

    def strategy(self, meta: Meta, children: list[Any]) -> _Strategy:
        token, *variables, body = children
        name = "_".join(re.split(r"[\s_-]+", token.lower()))
        listed = [variable for variable in variables if variable is not None]
        names = tuple(variable for variable, _ in listed)
        head = _token_span(token)
        if listed:
            head = Span(head.start, listed[-1][1].end + len(")"))
        strategy = ast.SelectionStrategy(name)
        return _Strategy(strategy, names or None, body, head, span=_span(meta))

    def strategy_variable(self, meta: Meta, children: list[Token]) -> tuple[str, Span]:
        return str(children[0]), _span(meta)

    def comparison(self, meta: Meta, children: list[Any]) -> ast.Comparison:
        left, operator, right = children
        return ast.Comparison(_comparison(operator), left, right, span=_span(meta))

    def in_(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _in, *options = children
        node = ast.In(operand, tuple(options), span=_span(meta))
        return _negated_if(negated, node)

    def between(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _between, low, _and, high = children
        return _negated_if(negated, ast.Between(operand, low, high, span=_span(meta)))

    def like(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, negated, _like, pattern = children
        return _negated_if(negated, ast.Like(operand, _unquoted(pattern), span=_span(meta)))

    def is_null(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand, _is, negated, _null = children
        return _negated_if(negated, ast.IsNull(operand, span=_span(meta)))

    # --- expressions

    def arithmetic(self, meta: Meta, children: list[Any]) -> ast.Arithmetic:
        left, operator, right = children
        symbol = "-" if operator.type == "MINUS" else str(operator)
        return ast.Arithmetic(symbol, left, right, span=_span(meta))

    def negative(self, meta: Meta, children: list[Any]) -> ast.Expression:
        operand = children[1]
        return _negative(operand, _span(meta))

    def positive(self, _meta: Meta, children: list[Any]) -> ast.Expression:
        operand: ast.Expression = children[1]
        return operand

    def group(self, _meta: Meta, children: list[Any]) -> ast.Expression:
        inner: ast.Expression = children[0]
        return inner

    def number(self, meta: Meta, children: list[Token]) -> ast.Literal:
        token = children[0]
        value = self._whole(token) if token.type == "INTEGER" else self._finite(token, token)
        return ast.Literal(value, span=_span(meta))

    def _whole(self, token: Token) -> int:
        # Python refuses to read very many digits; twenty are already too many.
        value = int(token.lstrip("0")[:20] or 0)
        if value < _INTEGER_LIMIT:
            return value
        self._fault(
            "this whole number is too large",
            _token_span(token),
            f"The largest is {_INTEGER_LIMIT - 1}; a larger one is written like 1e20.",
        )
        return 1

    def _finite(self, digits: str, token: Token) -> float:
        value = float(digits)
        if math.isfinite(value):
            return value
        self._fault("this number is too large", _token_span(token), "The largest is about 1e308.")
        return 1.0

    def negative_number(self, meta: Meta, children: list[Any]) -> ast.Expression:
        return _negative(children[1], _span(meta))

    def percentage(self, meta: Meta, children: list[Token]) -> ast.Literal:
        token = children[0]
        digits = token.rstrip("%").strip()
        # The exponent is shifted: a division could round once more.
        return ast.Literal(self._finite(f"{digits}e-2", token), span=_span(meta))

    def duration(self, meta: Meta, children: list[Any]) -> ast.Duration:
        number, unit = children
        return ast.Duration(self._exact(number), _canonical_unit(unit), span=_span(meta))

    def _exact(self, number: ast.Literal) -> Fraction:
        """The number as it is written; what no count of time units reaches is a fault."""
        if isinstance(number.value, int | float) and abs(number.value) < _INTEGER_LIMIT:
            return Fraction(str(number.value))
        self._fault("this number is too large", number.span)
        return Fraction(1)

    def string(self, meta: Meta, children: list[Token]) -> ast.Literal:
        return ast.Literal(_unquoted(children[0]), span=_span(meta))

    def constant(self, meta: Meta, children: list[Token]) -> ast.Literal:
        value = {"TRUE": True, "FALSE": False, "NULL": None}[children[0].type]
        return ast.Literal(value, span=_span(meta))

    def call(self, meta: Meta, children: list[Any]) -> RawCall:
        function, *items = children
        present = tuple(item for item in items if item is not None)
        return RawCall(str(function), present, span=_span(meta))

    def argument(self, meta: Meta, children: list[Any]) -> ast.ReturnItem:
        expression, name = children
        return ast.ReturnItem(expression, str(name) if name else None, span=_span(meta))

    def bare_name(self, meta: Meta, children: list[Token]) -> ast.Parameter:
        return ast.Parameter(str(children[0]), span=_span(meta))

    def attribute(self, meta: Meta, children: list[Token]) -> ast.Attribute:
        variable, attribute = children
        return ast.Attribute(str(variable), str(attribute), span=_span(meta))

    def element(self, meta: Meta, children: list[Any]) -> ast.Node:
        variable, index, attribute = children
        if index is ast.Scope.PRIOR:
            return Prior(str(variable), str(attribute), span=_span(meta))
        if isinstance(index, str) and index != str(variable):
            self._fault(
                f"the length of '{index}' does not number the events of '{variable}'",
                _span(meta),
                f"Write {variable}[{variable}.LEN].",
            )
        index = ast.Index.LAST if isinstance(index, str) else index
        return ast.Element(str(variable), index, str(attribute), span=_span(meta))

    def whole_element(self, meta: Meta, children: list[Any]) -> ast.Node:
        variable, index = children
        if index is ast.Scope.PRIOR:
            return Prior(str(variable), None, span=_span(meta))
        return WholeElement(str(variable), span=_span(meta))

    def elements(self, meta: Meta, children: list[Any]) -> ast.Elements:
        variable, _list_mark, attribute = children
        return ast.Elements(str(variable), str(attribute), span=_span(meta))

    def all_elements(self, meta: Meta, children: list[Any]) -> ast.EventReference:
        return ast.EventReference(str(children[0]), span=_span(meta))

    def fixed_index(self, meta: Meta, children: list[Token]) -> int:
        number = self._whole(children[0])
        if number == 0:
            self._fault("events of a Kleene variable are counted from 1", _span(meta))
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
            _span(meta),
            "An index is a number, i, i-1, ..i-1 (in an aggregate) or LEN.",
        )

    def equivalences(self, meta: Meta, children: list[ast.Equivalence]) -> ast.Expression:
        return _joined(ast.And, children, _span(meta))

    def equivalence(self, meta: Meta, children: list[Any]) -> ast.Equivalence:
        attribute, operator, value = children
        if operator is not None and _comparison(operator) != "=":
            self._fault(
                f"an equivalence test takes '=', not '{operator}'",
                _span(meta),
                "Compare the attributes of the variables instead.",
            )
        if isinstance(value, ast.Parameter):
            value = self._value_of(value)
        return ast.Equivalence(str(attribute), value, span=_span(meta))

    def _value_of(self, parameter: ast.Parameter) -> ast.Literal:
        """The value of a parameter where only a literal can stand."""
        if parameter.name not in self._parameters:
            self._fault(
                f"the name '{parameter.name}' has no value",
                parameter.span,
                f"A text is written in quotes ('{parameter.name}'); the value of a parameter "
                "is given along with the query.",
            )
        return ast.Literal(self._parameters.get(parameter.name), span=parameter.span)

    # --- clauses

    def from_clause(self, _meta: Meta, children: list[Token]) -> str:
        return str(children[0])

    def where_clause(self, _meta: Meta, children: list[Any]) -> ast.Expression:
        condition: ast.Expression = children[0]
        return condition

    def events(self, _meta: Meta, children: list[Token | None]) -> ast.WindowMeasure:
        per_partition = children[1] is not None
        return ast.WindowMeasure.EVENTS_PER_PARTITION if per_partition else ast.WindowMeasure.EVENTS

    def within_clause(self, meta: Meta, children: list[Any]) -> ast.Window:
        amount, unit = children
        if isinstance(amount, Token):
            amount = ast.Parameter(str(amount), span=_token_span(amount))
            if amount.name in self._parameters:
                amount = self._value_of(amount)
        if isinstance(unit, ast.WindowMeasure):
            window = ast.Window(self._extent(amount), unit, span=_span(meta))
            if isinstance(window.extent, Fraction) and window.extent.denominator != 1:
                self._fault("a window counts whole events", amount.span)
            return window
        if isinstance(amount, ast.Literal) and isinstance(amount.value, str) and unit is None:
            return self._window_in_words(amount, _span(meta))
        canonical = _canonical_unit(unit) if unit else None
        return ast.Window(self._extent(amount), unit=canonical, span=_span(meta))

    def _extent(self, amount: ast.Literal | ast.Parameter) -> Fraction | ast.Parameter:
        if isinstance(amount, ast.Parameter):
            return amount
        if type(amount.value) in (int, float):
            return self._exact(amount)
        self._fault(f"a window has a number, not {amount.value!r}", amount.span)
        return Fraction(1)

    def _window_in_words(self, text: ast.Literal, span: Span) -> ast.Window:
        """A parameter may hold the whole window: ``WITHIN T`` with T = '10 minutes'."""
        number, _, unit = str(text.value).strip().partition(" ")
        known = CANONICAL_UNIT.get(unit.strip().lower())
        if known is None or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number):
            self._fault(f"{text.value!r} is not a window", text.span, "Write it like '10 minutes'.")
            return ast.Window(Fraction(1), span=span)
        return ast.Window(Fraction(number), unit=known, span=span)

    def return_clause(self, meta: Meta, items: list[ast.ReturnItem]) -> ast.Return:
        composite = _composite(items[0]) if len(items) == 1 else None
        if composite is not None:
            inner = tuple(map(_named, composite.items))
            return ast.Return(inner, composite.function, span=_span(meta))
        return ast.Return(tuple(map(_named, items)), span=_span(meta))

    def query(self, meta: Meta, children: list[Any]) -> ast.Query:
        stream, pattern, condition, window, returns = children
        pattern = name_components(pattern)
        strategy, condition = self._split_strategy(condition)
        names = Names(pattern, self._parameters, self._faults)
        if condition is not None:
            condition = ast.rewrite(condition, names.in_condition)
        if returns is not None:
            returns = ast.rewrite(returns, names.in_return)
        names.refuse_loose(condition)
        names.refuse_loose(returns)
        return ast.Query(
            pattern,
            strategy.strategy if strategy else ast.SelectionStrategy.SKIP_TILL_ANY_MATCH,
            strategy.variables if strategy else None,
            condition,
            window,
            returns,
            stream,
            strategy.head if strategy else None,
            span=_span(meta),
        )

    def _split_strategy(
        self, condition: ast.Expression | None
    ) -> tuple[_Strategy | None, ast.Expression | None]:
        """The strategy that stands among the conjuncts, and the other conjuncts."""
        if condition is None:
            return None, None
        found: list[_Strategy] = []
        rest: list[ast.Expression] = []
        for conjunct in condition.operands if isinstance(condition, ast.And) else (condition,):
            if isinstance(conjunct, _Strategy):
                found.append(conjunct)
                if conjunct.body is not None:
                    rest.append(conjunct.body)
            else:
                rest.append(conjunct)
        for other in found[1:]:
            self._fault("a query has one selection strategy", other.span)
        for conjunct in rest:
            for node in conjunct.walk():
                if isinstance(node, _Strategy):
                    self._fault(
                        "a selection strategy applies to the whole query",
                        node.span,
                        "It stands first in WHERE, or is joined to the conditions by AND.",
                    )
        joined = _joined(ast.And, rest, condition.span) if rest else None
        return (found[0] if found else None), joined


def _composite(item: ast.ReturnItem) -> RawCall | None:
    """``Type(item, …)``, or None where the item is a value; one in brackets always is."""
    if item.name is not None or _is_bracketed(item):
        return None
    node: ast.Node = item.expression
    match node:
        case RawCall(name):
            is_function = find_function(name) or name.lower() in ast.AGGREGATES
            return None if is_function else node
        case ast.Arithmetic("-", left, right) if isinstance(right, RawCall) and _touch(left, right):
            words = _dashed(left)
            return RawCall(f"{words}-{right.function}", right.items) if words else None
    return None


def _dashed(node: ast.Node) -> str | None:
    """The words of ``SHELF-READING``, which reads as a difference."""
    match node:
        case ast.Parameter(name):
            return name
        case ast.Arithmetic("-", left, ast.Parameter(name) as right) if _touch(left, right):
            words = _dashed(left)
            return f"{words}-{name}" if words else None
    return None


def _touch(left: ast.Node, right: ast.Node) -> bool:
    """Whether only a dash stands between the two."""
    return bool(left.span and right.span and left.span.end + 1 == right.span.start)


def _named(item: ast.ReturnItem) -> ast.ReturnItem:
    """``name = expression`` is an item with a name; in brackets it is a comparison."""
    match item:
        case ast.ReturnItem(ast.Comparison("=", ast.Parameter(name), value), None):
            return item if _is_bracketed(item) else ast.ReturnItem(value, name, span=item.span)
    return item


def _is_bracketed(item: ast.ReturnItem) -> bool:
    inner = item.expression.span
    return item.span is not None and inner is not None and item.span.start < inner.start


def _without_tokens(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


def _joined(
    kind: type[ast.And] | type[ast.Or], parts: list[Any], span: Span | None
) -> ast.Expression:
    """One node for all parts; ``x AND (y AND z)`` is the same as ``x AND y AND z``."""
    if len(parts) == 1:
        only: ast.Expression = parts[0]
        return only
    flat: list[ast.Expression] = []
    for part in parts:
        flat.extend(part.operands if isinstance(part, kind) else (part,))
    return kind(tuple(flat), span=span)


def _negated_if(negated: Token | None, node: ast.Expression) -> ast.Expression:
    return ast.Not(node, span=node.span) if negated else node


def _negative(operand: ast.Expression, span: Span) -> ast.Expression:
    """``-5`` is a number; ``-x`` an operation."""
    if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
        assert isinstance(operand.value, int | float)
        return ast.Literal(-operand.value, span=span)
    return ast.Negative(operand, span=span)


def _comparison(operator: str) -> str:
    return _COMPARISONS.get(operator, str(operator))


def _canonical_unit(token: Token) -> str:
    # The sign for micro has a code of its own, and is also typed as a Greek letter.
    return CANONICAL_UNIT[token.lower().replace("μ", "µ")]


def _unquoted(token: Token) -> str:
    quote, text = token[0], token[1:-1]
    return text if quote in _QUOTE_PAIRS else text.replace(quote * 2, quote)


def _span(meta: Meta) -> Span:
    return Span(meta.start_pos, meta.end_pos) if not meta.empty else Span(0, 0)


def _token_span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)
