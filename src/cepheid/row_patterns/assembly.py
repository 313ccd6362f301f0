"""Parse tree to abstract syntax. Expressions are assembled by the methods of SASE+."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from lark import Token, Tree

from cepheid.errors import Fault, Span, closest
from cepheid.language import syntax as ast
from cepheid.language.assembly_expressions import (
    ExpressionAssembler,
    one_method_per_rule,
    span_of_token,
)
from cepheid.language.naming import PlainValue, given, spread
from cepheid.language.units import CANONICAL_UNIT
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.calls import Arguments, Calls
from cepheid.row_patterns.sql import forms

_INTERVAL = re.compile(r"\s*(?P<amount>\d{1,18}(?:\.\d{0,18})?)\s*(?P<unit>[^\W\d]*)\s*")
_ROWS = {
    "ONE_ROW": rows.Rows.ONE,
    "ALL_ROWS": rows.Rows.ALL,
    "SHOW_EMPTY": rows.Rows.ALL,
    "OMIT_EMPTY": rows.Rows.ALL_OMIT_EMPTY,
    "WITH_UNMATCHED": rows.Rows.ALL_WITH_UNMATCHED,
}
_SIGNS = {"STAR": (0, None), "PLUS": (1, None), "QUESTION": (0, 1)}


def assemble(
    tree: Tree[Token], parameters: Mapping[str, PlainValue], faults: list[Fault]
) -> rows.Clause:
    """The clause of a parse tree; its faults are added to ``faults``."""
    clause: rows.Clause = _Assembler(parameters, faults).transform(tree)
    return clause


@one_method_per_rule
class _Assembler(ExpressionAssembler):
    """Patterns, clauses, and the expressions that only row patterns have."""

    def NAME(self, token: Token) -> Any:  # noqa: N802 - named like the terminal
        quote, span = token[0], span_of_token(token)
        if quote not in '"`':
            return rows.Name(str(token), span=span)
        return rows.Name(token[1:-1].replace(quote * 2, quote), is_quoted=True, span=span)

    # --- clauses

    def statement(self, span: Span, table: Any, clause: dict[str, Any], *alias: Any) -> rows.Clause:
        return rows.Clause(**clause, table=table or (), alias=alias[-1], span=span)

    def select(self, _span: Span, _star: Token, *table: rows.Name) -> tuple[rows.Name, ...]:
        return table

    def clauses(self, _span: Span, *parts: Any) -> dict[str, Any]:
        names = (
            "partition_by", "order_by", "measures", "rows", "skip",
            "pattern", "within", "subsets", "definitions",
        )  # fmt: skip
        return {name: each for name, each in zip(names, parts, strict=True) if each is not None}

    def partition_by(self, _span: Span, *items: Any) -> tuple[Any, ...]:
        return items

    order_by = measures = subsets = definitions = partition_by

    def sort_item(
        self, span: Span, column: rows.Name, order: Token | None, nulls: Token | None
    ) -> rows.SortItem:
        is_ascending = order is None or order.type == "ASC"
        nulls_first = nulls is not None and nulls.type == "NULLS_FIRST"
        return rows.SortItem(column, is_ascending, nulls_first, span=span)

    def measure(self, span: Span, expression: Any, name: rows.Name) -> rows.Measure:
        return rows.Measure(expression, name, span=span)

    def rows_per_match(self, _span: Span, *words: Token | None) -> rows.Rows:
        return _ROWS[[word for word in words if word is not None][-1].type]

    def skip(self, span: Span, *target: Any) -> rows.Skip:
        mode, variable = target if len(target) > 1 else (target[0], None)
        if variable is not None:
            is_first = mode is not None and mode.type == "FIRST"
            kind = rows.SkipMode.TO_FIRST if is_first else rows.SkipMode.TO_LAST
            return rows.Skip(kind, variable.key, span=variable.span)
        return rows.Skip(rows.SkipMode[mode.type], span=span)

    def within(self, _span: Span, duration: ast.Duration) -> ast.Duration:
        return duration

    def subset(self, span: Span, name: rows.Name, *members: rows.Name) -> rows.Subset:
        return rows.Subset(name.key, tuple(each.key for each in members), span=span)

    def definition(self, _span: Span, variable: rows.Name, condition: Any) -> rows.Definition:
        return rows.Definition(variable.key, condition, span=variable.span)

    # --- patterns

    def pattern_group(self, span: Span, pattern: Any) -> Any:
        return rows.Empty(span=span) if pattern is None else pattern

    pattern_clause = pattern_group

    def variable(self, span: Span, name: Any) -> rows.Variable:
        return rows.Variable(name.key, span=span)

    def concatenation(self, span: Span, *parts: Any) -> rows.Concatenation:
        return rows.Concatenation(parts, span=span)

    def alternation(self, span: Span, *parts: Any) -> rows.Alternation:
        return rows.Alternation(parts, span=span)

    def permutation(self, span: Span, _permute: Token, *parts: Any) -> rows.Permutation:
        return rows.Permutation(parts, span=span)

    def exclusion(self, span: Span, part: Any) -> rows.Exclusion:
        return rows.Exclusion(part, span=span)

    def anchored(self, span: Span, sign: Token) -> rows.Anchored:
        return rows.Anchored(rows.Anchor(str(sign)), span=span)

    def quantified(self, span: Span, part: Any, bounds: tuple[Any, ...]) -> rows.Quantified:
        return rows.Quantified(part, *bounds, span=span)

    def quantifier(self, _span: Span, sign: Any, reluctant: Token | None) -> tuple[Any, ...]:
        bounds = _SIGNS[sign.type] if isinstance(sign, Token) else sign
        return (*bounds, reluctant is None)

    def repetition(
        self, span: Span, least_token: Token, comma: Token | None, most_token: Token | None
    ) -> tuple[int, int | None]:
        least = self._whole(least_token)
        most = self._whole(most_token) if most_token else (None if comma else least)
        return self._bounds(least, most, span)

    def at_most(self, span: Span, _comma: Token, most: Token | None) -> tuple[int, int | None]:
        return self._bounds(0, self._whole(most) if most else None, span)

    def _bounds(self, least: int, most: int | None, span: Span) -> tuple[int, int | None]:
        if most == 0:
            self._fault("the upper bound of a repetition must be at least 1", span)
        elif most is not None and most < least:
            self._fault(
                f"a repetition of at least {least} and at most {most} times is impossible",
                span,
                f"Write {{{most},{least}}}.",
            )
        return least, most

    # --- expressions

    def concatenated(self, span: Span, left: Any, _sign: Token, right: Any) -> ast.Call:
        return ast.Call("concat", (left, right), span=span)

    def bare_name(self, span: Span, name: Any) -> Any:
        if not name.is_quoted and name.text in self._parameters:
            return given(ast.Parameter(name.text, span=span), self._parameters[name.text])
        return rows.Column(None, name, span=span)

    def in_(
        self, span: Span, operand: Any, negated: Token | None, _in: Token, *options: Any
    ) -> Any:
        found = spread(ast.In(operand, options, span=span))
        return ast.Not(found, span=span) if negated else found  # type: ignore[arg-type]

    def qualified(
        self, span: Span, variable: rows.Name, column: rows.Name, *steps: tuple[Any, Span]
    ) -> ast.Node:
        assert column.span is not None
        place = Span(span.start, column.span.end)
        node: Any = rows.Column(variable.key, column, span=place)
        for step, at in steps:
            made = ast.Item if isinstance(step, int) else ast.Field
            node = made(node, step, span=Span(span.start, at.end))
        return cast("ast.Node", node)

    def is_truth(
        self, span: Span, operand: Any, _is: Token, negated: Token | None, word: Token
    ) -> Any:
        wanted, is_negated = word.type == "TRUE", negated is not None
        return forms.is_truth(operand, wanted=wanted, is_negated=is_negated, span=span)

    def is_distinct(
        self, span: Span, left: Any, _is: Token, negated: Token | None, _distinct: Token, right: Any
    ) -> Any:
        return forms.is_distinct(left, right, is_negated=negated is not None, span=span)

    def type(self, span: Span, name: rows.Name, _more: Any, *numbers: Token | None) -> Any:
        sizes = [self._whole(each) for each in numbers if each is not None and each.type != "COMMA"]
        return forms.TypeName(name.key, tuple(sizes), span)

    def cast(self, span: Span, name: rows.Name, value: Any, to: forms.TypeName) -> Any:
        if name.key not in ("CAST", "TRY_CAST"):
            self._fault(f"AS in {name.text}(…)", span, "Only CAST(x AS type) has it.")
        return self._made(forms.cast(value, to, span))

    def cast_suffix(self, span: Span, value: Any, to: forms.TypeName) -> Any:
        return self._made(forms.cast(value, to, span))

    def extract(self, span: Span, name: rows.Name, part: rows.Name, value: Any) -> Any:
        if name.key != "EXTRACT":
            self._fault(f"FROM in {name.text}(…)", span, "Only EXTRACT(HOUR FROM x) has it.")
        return self._made(forms.extracted(part, value, span))

    def _made(self, found: Any) -> Any:
        if not isinstance(found, Fault):
            return found
        self._faults.append(found)
        return ast.Literal(None, span=found.span)

    def field_step(self, span: Span, name: rows.Name) -> tuple[str, Span]:  # type: ignore[override]
        return name.text, span

    def case(self, span: Span, *parts: Any) -> ast.Case:
        operand, *branches, otherwise = parts
        if operand is not None:
            branches = [
                (ast.Comparison("=", operand, value, span=value.span), result)
                for value, result in branches
            ]
        return ast.Case(tuple(branches), otherwise or ast.Literal(None), span=span)

    def interval(self, span: Span, amount: Any, *words: Any) -> ast.Duration:
        text = amount[1:-1] if isinstance(amount, Token) else str(amount.value)
        unit, last = [*(each for each in words if isinstance(each, rows.Name)), None, None][:2]
        if unit is not None and last is not None:
            seconds = forms.seconds_between(text, unit.key, last.key)
            if seconds is None:
                hint = "Write it like INTERVAL '1:30' HOUR TO MINUTE."
                self._fault("this is not an interval", span, hint)
            return ast.Duration(seconds or Fraction(1), "seconds", span=span)
        found = _INTERVAL.fullmatch(text)
        said = str(found["unit"] or (unit.text if unit else "")) if found else ""
        known = CANONICAL_UNIT.get(said.lower()) if said else None
        if found is None or known is None or (found["unit"] and unit):
            self._faults.append(_bad_interval(said, unit, span))
            return ast.Duration(Fraction(1), "seconds", span=span)
        return ast.Duration(Fraction(found["amount"]), known, span=span)

    # --- calls

    def all_rows(self, _span: Span, _star: Token) -> Arguments:
        return Arguments(star=(None,))

    def rows_of(self, _span: Span, variable: rows.Name, _star: Token) -> Arguments:
        return Arguments(star=(variable.key,))

    def values(self, _span: Span, distinct: Token | None, *values: Any) -> Arguments:
        return Arguments(values, distinct is not None)

    def call(self, span: Span, semantics: Any, name: Any, arguments: Any) -> Any:  # type: ignore[override]
        said = None if semantics is None else rows.Semantics(semantics.upper())
        return Calls(self._faults).made(name, arguments or Arguments(), said, span)


def _bad_interval(unit: str, named: rows.Name | None, span: Span) -> Fault:
    if unit.lower().removesuffix("s") in ("month", "quarter", "year"):
        unit = unit.lower().removesuffix("s")
        hint = f"A {unit} has no fixed length: write it in days or weeks."
        return Fault(f"an interval cannot be in {unit}s", span, hint=hint)
    near = closest(unit, CANONICAL_UNIT) if unit else ()
    place = named.span if named is not None and near else span
    candidates = tuple(each.upper() for each in near)
    advice = None if near else "Write it like INTERVAL '10' MINUTE."
    return Fault("this is not an interval", place, candidates=candidates, hint=advice)
