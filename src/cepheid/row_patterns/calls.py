"""What ``name(…)`` is: a navigation, an aggregate, CLASSIFIER, MATCH_NUMBER or a function.

This is also where their nesting is checked: the operand of a navigation is evaluated at one row,
so that it can name the rows of one variable only, and no other navigation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cepheid.errors import Fault, Span, list_words
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.sql.forms import ALIASES, INSTEAD

LOGICAL = ("FIRST", "LAST")
PHYSICAL = ("PREV", "NEXT")
OWN_CALLS = (*LOGICAL, *PHYSICAL, "CLASSIFIER", "MATCH_NUMBER")
OF_ROWS = (rows.Logical, rows.Physical, rows.Aggregate)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is between the brackets of a call."""

    values: tuple[Any, ...] = ()
    is_distinct: bool = False
    star: tuple[str | None] | None = None
    """The variable of ``A.*``; None inside it is that of ``*``."""


class Calls:
    """Makes the nodes of calls; their faults are added to ``faults``."""

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults

    def _fault(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self._faults.append(Fault(message, span, hint=hint))

    def made(
        self, name: rows.Name, given: Arguments, semantics: rows.Semantics | None, span: Span
    ) -> ast.Node:
        """The node of a call."""
        word = name.key
        is_aggregate = word.lower() in rows.AGGREGATES and not name.is_quoted
        if semantics is not None and not is_aggregate and word not in LOGICAL:
            hint = "It is for FIRST, LAST and aggregates."
            if word in PHYSICAL:
                hint += f" Write {word}({semantics.value} LAST(A.x))."
            self._fault(f"{semantics.value} cannot be used with {word}", span, hint)
        if is_aggregate:
            return self._aggregate(word.lower(), given, semantics, span)
        if given.star is not None:
            self._fault(f"{word} cannot be applied to whole rows", span, "Only count(*) can.")
            return ast.Literal(None, span=span)
        if given.is_distinct:
            self._fault(f"DISTINCT cannot be used with {word}", span, "It is for aggregates.")
        if word in (*LOGICAL, *PHYSICAL):
            return self._navigation(word, given.values, semantics, span)
        if word == "CLASSIFIER":
            return self._classifier(given.values, span)
        if word == "MATCH_NUMBER":
            if given.values:
                self._fault("MATCH_NUMBER takes no arguments", span, "Write MATCH_NUMBER().")
            return rows.MatchNumber(span=span)
        if word == "MOD" and len(given.values) == 2:
            return ast.Arithmetic("%", *given.values, span=span)
        known = find_function(name.text) or find_function(ALIASES.get(word, ""))
        if known is None and word in INSTEAD:
            self._fault(f"there is no function '{name.text}'", span, f"Write {INSTEAD[word]}.")
            return ast.Literal(None, span=span)
        return ast.Call(known.name if known else name.text, given.values, span=span)

    def _aggregate(
        self, name: str, given: Arguments, semantics: rows.Semantics | None, span: Span
    ) -> ast.Node:
        if given.star is not None:
            if name != "count":
                self._fault(f"{name} cannot be applied to whole rows", span, "Only count(*) can.")
            return rows.Aggregate(name, None, *given.star, semantics=semantics, span=span)
        if len(given.values) != 1:
            self._fault(f"{name} takes 1 argument, not {len(given.values)}", span)
            return ast.Literal(None, span=span)
        (argument,) = given.values
        self._refuse_nested(name, argument)
        variable = self._variable(name, argument, span)
        return rows.Aggregate(name, argument, variable, given.is_distinct, semantics, span=span)

    def _classifier(self, values: tuple[Any, ...], span: Span) -> ast.Node:
        match values:
            case ():
                return rows.Classifier(None, span=span)
            case (rows.Column(None, name),):
                return rows.Classifier(name.key, span=span)
        hint = "Write CLASSIFIER(), or CLASSIFIER(A) for the last row of A."
        self._fault("CLASSIFIER takes the name of a variable, or nothing", span, hint)
        return rows.Classifier(None, span=span)

    def _navigation(
        self, name: str, values: tuple[Any, ...], semantics: rows.Semantics | None, span: Span
    ) -> ast.Node:
        if not 1 <= len(values) <= 2:
            self._fault(f"{name} takes 1 or 2 arguments, not {len(values)}", span)
            return ast.Literal(None, span=span)
        operand, offset = values[0], self._offset(name, values[1:])
        if name in PHYSICAL and isinstance(operand, rows.Logical):
            return rows.Physical(name, operand, operand.variable, offset, span=span)
        self._refuse_nested(name, operand)
        if not any(isinstance(each, rows.Column | rows.Classifier) for each in operand.walk()):
            self._fault(f"{name} needs a column", span, f"For example, write {name}(A.x).")
        variable = self._variable(name, operand, span)
        if name in PHYSICAL:
            return rows.Physical(name, operand, variable, offset, span=span)
        return rows.Logical(name, operand, variable, offset, semantics, span=span)

    def _offset(self, name: str, given: tuple[Any, ...]) -> int:
        match given:
            case ():
                return 1 if name in PHYSICAL else 0
            case (ast.Literal(int(number)),) if number >= 0 and not isinstance(number, bool):
                return number
        hint = f"For example, write {name}(A.x, 2)."
        self._fault(f"the offset of {name} must be an integer from 0", given[0].span, hint)
        return 1

    def _refuse_nested(self, outer: str, operand: ast.Node) -> None:
        for inner in operand.walk():
            if not isinstance(inner, OF_ROWS):
                continue
            hint = None
            if outer in LOGICAL and isinstance(inner, rows.Physical):
                hint = f"Write it the other way round: {inner.function}({outer}(A.x))."
            elif outer in PHYSICAL and isinstance(inner, rows.Logical):
                hint = f"It can only be the whole operand: {outer}({inner.function}(A.x), 2)."
            self._fault(f"{inner.function} cannot be inside {outer}", inner.span, hint)

    def _variable(self, name: str, operand: ast.Node, span: Span) -> str | None:
        """The one variable whose rows the operand names; None for all rows."""
        named = list(dict.fromkeys(_named(operand)))
        if len(named) > 1:
            listed = list_words([each or "all rows" for each in named])
            hint = "All columns in it must be of one variable, or all without a variable."
            self._fault(f"{name} names rows of several variables: {listed}", span, hint)
        return named[0] if named else None


def _named(operand: ast.Node) -> Iterator[str | None]:
    """The variables of columns, but not of those in a nested call, which is a separate fault."""
    if isinstance(operand, rows.Column | rows.Classifier):
        yield operand.variable
    elif not isinstance(operand, OF_ROWS):
        for child in operand.children():
            if not isinstance(child, rows.Name):
                yield from _named(child)
