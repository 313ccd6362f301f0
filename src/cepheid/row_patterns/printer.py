"""Abstract syntax to text; parsing the text gives an equal clause."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import Any

from cepheid.language import syntax as ast
from cepheid.language.printer import PRIMARY_LEVEL, ExpressionPrinter
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.mistakes import KEYWORDS

_PLAIN_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def print_clause(clause: rows.Clause) -> str:
    """The clause as text, one part per line.

    >>> from cepheid.row_patterns.parser import parse
    >>> print(print_clause(parse("match_recognize(order by t pattern(a b{,2}) define b as x>1)")))
    MATCH_RECOGNIZE (
      ORDER BY t
      PATTERN (A B{,2})
      DEFINE B AS x > 1
    )
    """
    lines = [f"  {line}" for line in _lines(clause)]
    head = f"SELECT * FROM {'.'.join(map(_name, clause.table))}\n" if clause.table else ""
    alias = f" AS {_name(clause.alias)}" if clause.alias else ""
    return "\n".join([f"{head}MATCH_RECOGNIZE (", *lines, f"){alias}"])


def _lines(clause: rows.Clause) -> list[str]:
    lines = []
    if clause.partition_by:
        lines.append(f"PARTITION BY {', '.join(map(_name, clause.partition_by))}")
    if clause.order_by:
        lines.append(f"ORDER BY {', '.join(map(_sort_item, clause.order_by))}")
    if clause.measures:
        lines.append(f"MEASURES {', '.join(map(_measure, clause.measures))}")
    if clause.rows is not rows.Rows.ONE:
        lines.append(clause.rows.value)
    if clause.skip != rows.Skip():
        variable = f" {print_variable(clause.skip.variable)}" if clause.skip.variable else ""
        lines.append(f"AFTER MATCH SKIP {clause.skip.mode.value}{variable}")
    lines.append(f"PATTERN ({print_pattern(clause.pattern)})")
    if clause.within:
        lines.append(f"WITHIN {print_expression(clause.within)}")
    if clause.subsets:
        lines.append(f"SUBSET {', '.join(map(_subset, clause.subsets))}")
    if clause.definitions:
        lines.append(f"DEFINE {', '.join(map(_definition, clause.definitions))}")
    return lines


def print_pattern(pattern: rows.Pattern) -> str:
    """A pattern as text, without the brackets of PATTERN."""
    match pattern:
        case rows.Variable(name):
            return print_variable(name)
        case rows.Concatenation(parts):
            return " ".join(map(_part, parts))
        case rows.Alternation(parts):
            return " | ".join(map(_part, parts))
        case rows.Permutation(parts):
            return f"PERMUTE({', '.join(map(print_pattern, parts))})"
        case rows.Exclusion(part):
            return f"{{- {print_pattern(part)} -}}"
        case rows.Anchored(anchor):
            return anchor.value
        case rows.Quantified(part, least, most, is_greedy):
            inner = f"({print_pattern(part)})" if isinstance(part, rows.Quantified) else _part(part)
            return inner + _quantifier(least, most) + ("" if is_greedy else "?")
    return "()"


def _part(part: rows.Pattern) -> str:
    is_composite = isinstance(part, rows.Concatenation | rows.Alternation)
    return f"({print_pattern(part)})" if is_composite else print_pattern(part)


def _quantifier(least: int, most: int | None) -> str:
    if (least, most) in _SIGNS:
        return _SIGNS[least, most]
    if least == most:
        return f"{{{least}}}"
    return f"{{{least or ''},{most or ''}}}" if most else f"{{{least},}}"


def print_variable(name: str | None) -> str:
    """A variable as text, in quotes if it needs them.

    >>> print_variable("UP"), print_variable("Up"), print_variable("FINAL")
    ('UP', '"Up"', '"FINAL"')
    """
    assert name is not None
    return name if _PLAIN_VARIABLE.fullmatch(name) and name not in KEYWORDS else quoted(name)


def print_expression(expression: Any) -> str:
    """An expression as text."""
    return _Printer().expression(expression)


class _Printer(ExpressionPrinter):
    """Prints expressions in the syntax of SQL."""

    def _text(self, node: Any) -> tuple[str, int]:
        match node:
            case rows.Column(variable, name):
                lead = f"{print_variable(variable)}." if variable is not None else ""
                return lead + _name(name), PRIMARY_LEVEL
            case rows.Classifier(variable):
                return f"CLASSIFIER({print_variable(variable) if variable else ''})", PRIMARY_LEVEL
            case rows.MatchNumber():
                return "MATCH_NUMBER()", PRIMARY_LEVEL
            case rows.Logical(function, operand, _, offset, semantics):
                return self._navigation(function, operand, offset, 0, semantics), PRIMARY_LEVEL
            case rows.Physical(function, operand, _, offset):
                return self._navigation(function, operand, offset, 1, None), PRIMARY_LEVEL
            case rows.Aggregate(function, argument, variable, is_distinct, semantics):
                over = f"{print_variable(variable)}.*" if variable is not None else "*"
                if argument is not None:
                    over = ("DISTINCT " if is_distinct else "") + self.expression(argument)
                return f"{_lead(semantics)}{function}({over})", PRIMARY_LEVEL
            case ast.Duration(amount, unit):
                exact = Context(40).divide(Decimal(amount.numerator), Decimal(amount.denominator))
                return f"INTERVAL '{exact:f}' {unit.removesuffix('s').upper()}", PRIMARY_LEVEL
            case ast.Field(operand, name):
                shown = name if _PLAIN_NAME.fullmatch(name) else quoted(name)
                return f"{self.expression(operand)}.{shown}", PRIMARY_LEVEL
            case ast.Item(operand, number):
                return f"{self.expression(operand)}[{number}]", PRIMARY_LEVEL
            case ast.Call(function, arguments):
                plain = _PLAIN_NAME.fullmatch(function)
                shown = function if plain else quoted(function)
                return f"{shown}({', '.join(map(self.expression, arguments))})", PRIMARY_LEVEL
        return super()._text(node)

    def _navigation(
        self, function: str, operand: Any, offset: int, usual: int, semantics: Any
    ) -> str:
        distance = "" if offset == usual else f", {offset}"
        return f"{_lead(semantics)}{function}({self.expression(operand)}{distance})"


def _lead(semantics: rows.Semantics | None) -> str:
    return f"{semantics.value} " if semantics else ""


def _name(name: rows.Name) -> str:
    return quoted(name.text) if name.is_quoted else name.text


def quoted(text: str) -> str:
    """A name as SQL writes it in quotes."""
    return '"' + text.replace('"', '""') + '"'


def _sort_item(item: rows.SortItem) -> str:
    order = "" if item.is_ascending else " DESC"
    return _name(item.column) + order + (" NULLS FIRST" if item.nulls_first else "")


def _measure(measure: rows.Measure) -> str:
    return f"{print_expression(measure.expression)} AS {_name(measure.name)}"


def _subset(subset: rows.Subset) -> str:
    return f"{print_variable(subset.name)} = ({', '.join(map(print_variable, subset.members))})"


def _definition(definition: rows.Definition) -> str:
    return f"{print_variable(definition.variable)} AS {print_expression(definition.condition)}"
