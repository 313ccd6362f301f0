"""Parse tree to abstract syntax.

After a query is assembled, a last pass resolves its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

from lark import Token, Tree

from cepheid.aggregates import AGGREGATES
from cepheid.errors import Fault, Span
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.assembly_expressions import (
    ExpressionAssembler,
    StrategyClause,
    canonical_unit,
    one_method_per_rule,
    span_of_token,
    without_tokens,
)
from cepheid.language.naming import (
    Names,
    PlainValue,
    RawCall,
    name_components,
    parameter_hint,
)
from cepheid.language.units import CANONICAL_UNIT, in_largest_unit

_QUANTITY = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<unit>[^\W\d]+)")
_COMPOSITES: Mapping[str, Callable[..., ast.Pattern]]
_COMPOSITES = {"SEQ": ast.Sequence, "AND": ast.Conjunction, "OR": ast.Disjunction}


def assemble(
    tree: Tree[Token], parameters: Mapping[str, PlainValue], faults: list[Fault]
) -> tuple[ast.Query, ...]:
    """The queries of a parse tree; their faults are added to ``faults``."""
    queries: tuple[ast.Query, ...] = _Assembler(parameters, faults).transform(tree)
    return queries


@one_method_per_rule
class _Assembler(ExpressionAssembler):
    """Patterns, clauses and whole queries."""

    def script(self, _span: Span, *queries: ast.Query) -> tuple[ast.Query, ...]:
        return queries

    # --- patterns

    def type_name(self, _span: Span, *parts: Token) -> str:
        return "".join("-" if part.type == "MINUS" else part for part in parts)

    def types(self, span: Span, *names: str) -> tuple[str, ...]:
        types = tuple(without_tokens(names))
        if len(set(types)) < len(types):
            self._fault("ANY names a type twice", span)
        return types

    def quantifier(self, _span: Span, quantifier: Token | ast.Bounds) -> ast.Bounds:
        if isinstance(quantifier, ast.Bounds):
            return quantifier
        return ast.Bounds(1 if quantifier.type == "PLUS" else 0, None)

    def repetition(
        self, span: Span, least_token: Token, comma: Token | None, most_token: Token | None
    ) -> ast.Bounds:
        least = self._bound(least_token)
        most = self._bound(most_token) if most_token else (None if comma else least)
        if most == 0:
            self._fault("the upper bound of a repetition must be at least 1", span)
        elif most is not None and most < least:
            self._fault(
                f"a repetition of at least {least} and at most {most} events is impossible",
                span,
                f"Write {{{most},{least}}}.",
            )
        return ast.Bounds(least, most)

    def _bound(self, token: Token) -> int:
        """A bound of a repetition: a number, or the value of a parameter."""
        if token.type == "INTEGER":
            return self._whole(token)
        span, value = span_of_token(token), self._parameters.get(token)
        if token not in self._parameters:
            self._fault(f"the name '{token}' has no value", span, parameter_hint(token))
        elif type(value) is not int or value < 0:
            self._fault(f"a repetition needs an integer, not {value!r}", span)
        else:
            return value
        return 1

    def variable(self, span: Span, name: Token, mark: Token | None) -> tuple[str, bool, Span]:
        return str(name), mark is not None, span

    def component(
        self,
        span: Span,
        types: tuple[str, ...],
        bounds: ast.Bounds | None,
        variable: tuple[str, bool, Span] | None,
        *without: ast.Component,
    ) -> ast.Component:
        self._check_without(span, types, bounds, without)
        if variable is None:
            return ast.Component(types, "", bounds, without, span=span)
        name, has_list_mark, place = variable
        if bounds is not None and not has_list_mark:
            self._fault(
                f"'{name}' is the variable of a Kleene component",
                place,
                f"A Kleene variable is a list: write {name}[].",
            )
        if bounds is None and has_list_mark:
            self._fault(
                f"'{name}[]' has brackets, but its component is a single event",
                place,
                f"Write {name}, or {types[0]}+ {name}[] for one or more events.",
            )
        return ast.Component(types, name, bounds, without, span=span)

    def _check_without(
        self,
        span: Span,
        types: tuple[str, ...],
        bounds: ast.Bounds | None,
        without: tuple[ast.Component, ...],
    ) -> None:
        if without and bounds is None:
            self._fault(
                "WITHOUT follows a list, and this component is a single event",
                span,
                f"Write {types[0]}+ a[] WITHOUT (…), or a negation between two components.",
            )
        for excluded in without:
            if excluded.is_kleene or excluded.without:
                self._fault(
                    "WITHOUT takes a component of one event",
                    excluded.span,
                    "Write WITHOUT (B b): it means that no B occurs inside the list.",
                )

    def timed_negation(self, span: Span, negation: ast.Pattern, window: ast.Window) -> ast.Pattern:
        if not isinstance(negation, ast.Negation):
            return negation
        return replace(negation, window=window, span=span)

    def negation(self, span: Span, _not: Token, part: ast.Pattern) -> ast.Pattern:
        if not isinstance(part, ast.Component):
            self._fault(
                "only a single component can be negated",
                part.span,
                "Negate each component on its own.",
            )
            return part
        if part.is_kleene:
            self._fault(
                "a Kleene component cannot be negated",
                span,
                "Write ~(B b): it means that no B occurs.",
            )
        return ast.Negation(part, span=span)

    def composite(self, span: Span, operator: Token, *parts: ast.Pattern) -> ast.Pattern:
        return _COMPOSITES[operator.type](parts, span=span)

    def bracketed(self, span: Span, *parts: ast.Pattern) -> ast.Pattern:
        """``PATTERN (A a, B b)`` is a sequence [Agrawal08 §6]."""
        return parts[0] if len(parts) == 1 else ast.Sequence(parts, span=span)

    # --- clauses

    def from_clause(self, _span: Span, name: Token) -> str:
        return str(name)

    def events(self, _span: Span, _events: Token, per: Token | None, *_: Any) -> ast.WindowMeasure:
        return ast.WindowMeasure.EVENTS_PER_PARTITION if per else ast.WindowMeasure.EVENTS

    def within_clause(
        self, span: Span, given: Token | ast.Literal, unit: Token | ast.WindowMeasure | None
    ) -> ast.Window:
        amount = self._given(given)
        if isinstance(unit, ast.WindowMeasure):
            window = ast.Window(self._extent(amount), unit, span=span)
            if isinstance(window.extent, Fraction) and window.extent.denominator != 1:
                self._fault("a window of EVENTS needs an integer", amount.span)
            return window
        if isinstance(amount, ast.Literal) and isinstance(amount.value, timedelta):
            exact, known = in_largest_unit(amount.value)
            return ast.Window(exact, unit=known, span=span)
        if isinstance(amount, ast.Literal) and isinstance(amount.value, str) and unit is None:
            return self._window_in_words(amount, span)
        canonical = canonical_unit(unit) if unit else None
        return ast.Window(self._extent(amount), unit=canonical, span=span)

    def _extent(self, amount: ast.Literal | ast.Parameter) -> Fraction | ast.Parameter:
        if isinstance(amount, ast.Parameter):
            return amount
        if type(amount.value) in (int, float):
            return self._exact(amount)
        hint = "Write it like '10 minutes'."
        self._fault(f"a window needs a number, not {amount.value!r}", amount.span, hint)
        return Fraction(1)

    def _window_in_words(self, text: ast.Literal, span: Span) -> ast.Window:
        """The value of a parameter can be a whole window: ``WITHIN T`` with T = '10 minutes'."""
        found = _QUANTITY.fullmatch(str(text.value).strip())
        if found and found["unit"].casefold() in ("event", "events"):
            extent = Fraction(found["number"])
            if extent.denominator == 1:
                return ast.Window(extent, ast.WindowMeasure.EVENTS, span=span)
        known = CANONICAL_UNIT.get(found["unit"].lower()) if found else None
        if found is None or known is None:
            self._fault(
                f"{text.value!r} is not a window",
                text.span,
                "Write it like '10 min', '10s' or '10 events'.",
            )
            return ast.Window(Fraction(1), span=span)
        return ast.Window(Fraction(found["number"]), unit=known, span=span)

    def confidence_clause(
        self, span: Span, comparison: Token, given: Token | ast.Literal
    ) -> ast.Confidence:
        if comparison not in (">", ">=", "≥"):
            self._fault(
                "WITH CONFIDENCE needs > or >=",
                span_of_token(comparison),
                "It is a lower bound: WITH CONFIDENCE > 0.8.",
            )
        amount = self._given(given)
        if isinstance(amount, ast.Literal) and type(amount.value) not in (int, float):
            self._fault(f"a confidence must be a number, not {amount.value!r}", amount.span)
            amount = ast.Literal(0)
        least = amount if isinstance(amount, ast.Parameter) else self._exact(amount)
        return ast.Confidence(least, comparison == ">", span=span)

    def return_clause(self, span: Span, *items: ast.ReturnItem) -> ast.Return:
        composite = _composite(items[0]) if len(items) == 1 else None
        if composite is None:
            return ast.Return(tuple(map(_named, items)), span=span)
        named = tuple(map(_named, composite.items))
        return ast.Return(named, composite.function, span=items[0].span)

    def at_most_once_per(
        self, span: Span, given: Token | ast.Literal, unit: Token | None
    ) -> ast.Window:
        return self.within_clause(span, given, unit)

    def output_clause(self, span: Span, *parts: Token | ast.Window | None) -> ast.Output:
        words = {part.type: part.lower() for part in parts if isinstance(part, Token)}
        gap = next((part for part in parts if isinstance(part, ast.Window)), None)
        return ast.Output(words.get("OUTPUT_MODE"), gap, "WITH_TIMED_OUT" in words, span=span)

    def query(
        self, span: Span, stream: str | None, pattern: ast.Pattern, where: Any, *clauses: Any
    ) -> ast.Query:
        window, confidence, returns, output = clauses
        pattern = name_components(pattern)
        strategy, condition = self._split_strategy(where)
        names = Names(pattern, self._parameters, self._faults)
        if condition is not None:
            condition = ast.rewrite(condition, names.in_condition)
        if returns is not None:
            self._refuse_strategies(returns)
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
            confidence,
            output,
            span=span,
        )

    def _split_strategy(
        self, condition: ast.Expression | None
    ) -> tuple[StrategyClause | None, ast.Expression | None]:
        """The strategy among the conjuncts, and the other conjuncts."""
        if condition is None:
            return None, None
        found: list[StrategyClause] = []
        rest: list[ast.Expression] = []
        for conjunct in condition.operands if isinstance(condition, ast.And) else (condition,):
            if isinstance(conjunct, StrategyClause):
                found.append(conjunct)
                if conjunct.body is not None:
                    rest.append(conjunct.body)
            else:
                rest.append(conjunct)
        for other in found[1:]:
            self._fault("a query can have only one selection strategy", other.span)
        for conjunct in rest:
            self._refuse_strategies(conjunct)
        others = ast.joined(ast.And, rest, condition.span) if rest else None
        return (found[0] if found else None), others

    def _refuse_strategies(self, tree: ast.Node) -> None:
        for node in tree.walk():
            if isinstance(node, StrategyClause):
                self._fault(
                    "a selection strategy applies to the whole query",
                    node.span,
                    "Put it first in WHERE, or join it to the conditions with AND.",
                )


def _composite(item: ast.ReturnItem) -> RawCall | None:
    """``Type(item, …)``, or None if the item is a value, as one in brackets always is."""
    if item.name is not None or _is_bracketed(item):
        return None
    node: ast.Node = item.expression
    match node:
        case RawCall(name):
            is_function = find_function(name) or name.lower() in AGGREGATES
            return None if is_function else node
        case ast.Arithmetic("-", left, right) if isinstance(right, RawCall) and _touch(left, right):
            words = _dashed(left)
            return RawCall(f"{words}-{right.function}", right.items) if words else None
    return None


def _dashed(node: ast.Node) -> str | None:
    """The words of ``SHELF-READING``, which is parsed as a difference."""
    match node:
        case ast.Parameter(name):
            return name
        case ast.Arithmetic("-", left, ast.Parameter(name) as right) if _touch(left, right):
            words = _dashed(left)
            return f"{words}-{name}" if words else None
    return None


def _touch(left: ast.Node, right: ast.Node) -> bool:
    """Whether only a dash is between the two nodes."""
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
