"""Parse tree to abstract syntax.

After a query is assembled, a last pass resolves its names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from lark import Token, Tree, v_args
from lark.tree import Meta

from cepheid.aggregates import AGGREGATES
from cepheid.errors import Fault, Span
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.assembly_expressions import (
    ExpressionAssembler,
    StrategyClause,
    canonical_unit,
    span_of,
    span_of_token,
)
from cepheid.language.naming import (
    Names,
    ParameterValue,
    RawCall,
    name_components,
)
from cepheid.language.units import CANONICAL_UNIT


def assemble(
    tree: Tree[Token], parameters: Mapping[str, ParameterValue], faults: list[Fault]
) -> tuple[ast.Query, ...]:
    """The queries of a parse tree; their faults are added to ``faults``."""
    queries: tuple[ast.Query, ...] = _Assembler(parameters, faults).transform(tree)
    return queries


@v_args(meta=True)
class _Assembler(ExpressionAssembler):
    """Patterns, clauses and whole queries; one method per grammar rule."""

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
            self._fault("ANY names a type twice", span_of(meta))
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
            self._fault("the upper bound of a repetition must be at least 1", span_of(meta))
        elif most is not None and most < least:
            self._fault(
                f"a repetition of at least {least} and at most {most} events is impossible",
                span_of(meta),
                f"Write {{{most},{least}}}.",
            )
        return ast.Bounds(least, most)

    def variable(self, meta: Meta, children: list[Token | None]) -> tuple[str, bool, Span]:
        name, list_mark = children
        return str(name), list_mark is not None, span_of(meta)

    def component(self, meta: Meta, children: list[Any]) -> ast.Component:
        types, bounds, variable = children
        if variable is None:
            return ast.Component(types, "", bounds, span=span_of(meta))
        name, has_list_mark, span = variable
        if bounds is not None and not has_list_mark:
            self._fault(
                f"'{name}' is the variable of a Kleene component",
                span,
                f"A Kleene variable is a list: write {name}[].",
            )
        if bounds is None and has_list_mark:
            self._fault(
                f"'{name}[]' has brackets, but its component is a single event",
                span,
                f"Write {name}, or {types[0]}+ {name}[] for one or more events.",
            )
        return ast.Component(types, name, bounds, span=span_of(meta))

    def negation(self, meta: Meta, children: list[Any]) -> ast.Pattern:
        part: ast.Pattern = children[-1]
        if isinstance(part, ast.Component):
            if part.is_kleene:
                self._fault(
                    "a Kleene component cannot be negated",
                    span_of(meta),
                    "Write ~(B b): it means that no B occurs.",
                )
            return ast.Negation(part, span=span_of(meta))
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
        return kinds[operator.type](tuple(parts), span=span_of(meta))

    def bracketed(self, meta: Meta, children: list[Any]) -> ast.Pattern:
        """``PATTERN (A a, B b)`` is a sequence [Agrawal08 §6]."""
        if len(children) == 1:
            only: ast.Pattern = children[0]
            return only
        return ast.Sequence(tuple(children), span=span_of(meta))

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
            amount = ast.Parameter(str(amount), span=span_of_token(amount))
            if amount.name in self._parameters:
                amount = self._value_of(amount)
        if isinstance(unit, ast.WindowMeasure):
            window = ast.Window(self._extent(amount), unit, span=span_of(meta))
            if isinstance(window.extent, Fraction) and window.extent.denominator != 1:
                self._fault("a window needs a whole number of events", amount.span)
            return window
        if isinstance(amount, ast.Literal) and isinstance(amount.value, str) and unit is None:
            return self._window_in_words(amount, span_of(meta))
        canonical = canonical_unit(unit) if unit else None
        return ast.Window(self._extent(amount), unit=canonical, span=span_of(meta))

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
        number, _, unit = str(text.value).strip().partition(" ")
        known = CANONICAL_UNIT.get(unit.strip().lower())
        if known is None or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number):
            self._fault(f"{text.value!r} is not a window", text.span, "Write it like '10 minutes'.")
            return ast.Window(Fraction(1), span=span)
        return ast.Window(Fraction(number), unit=known, span=span)

    def confidence_clause(self, meta: Meta, children: list[Any]) -> ast.Confidence:
        comparison, amount = children
        if comparison not in (">", ">=", "≥"):
            self._fault(
                "WITH CONFIDENCE needs > or >=",
                span_of_token(comparison),
                "It is a lower bound: WITH CONFIDENCE > 0.8.",
            )
        if isinstance(amount, Token) and amount.type == "PERCENTAGE":
            amount = self.percentage(meta, [amount])
        elif isinstance(amount, Token):
            amount = ast.Parameter(str(amount), span=span_of_token(amount))
            if amount.name in self._parameters:
                amount = self._value_of(amount)
        if isinstance(amount, ast.Literal) and type(amount.value) not in (int, float):
            self._fault(f"a confidence must be a number, not {amount.value!r}", amount.span)
            amount = ast.Literal(0)
        least = amount if isinstance(amount, ast.Parameter) else self._exact(amount)
        return ast.Confidence(least, comparison == ">", span=span_of(meta))

    def return_clause(self, meta: Meta, items: list[ast.ReturnItem]) -> ast.Return:
        composite = _composite(items[0]) if len(items) == 1 else None
        if composite is not None:
            inner = tuple(map(_named, composite.items))
            return ast.Return(inner, composite.function, span=span_of(meta))
        return ast.Return(tuple(map(_named, items)), span=span_of(meta))

    def query(self, meta: Meta, children: list[Any]) -> ast.Query:
        stream, pattern, condition, window, confidence, returns = children
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
            confidence,
            span=span_of(meta),
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
            for node in conjunct.walk():
                if isinstance(node, StrategyClause):
                    self._fault(
                        "a selection strategy applies to the whole query",
                        node.span,
                        "Put it first in WHERE, or join it to the conditions with AND.",
                    )
        others = ast.joined(ast.And, rest, condition.span) if rest else None
        return (found[0] if found else None), others


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
