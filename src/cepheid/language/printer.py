"""Abstract syntax to text; parsing the text gives an equal query."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import cast

from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.computed import EVENT
from cepheid.language.naming import default_variable
from cepheid.language.parser import KEYWORDS, STRATEGIES
from cepheid.schema import Computed

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED = {word.casefold() for word in (*KEYWORDS, *STRATEGIES)}
_COMPOSITES = {ast.Sequence: "SEQ", ast.Conjunction: "AND", ast.Disjunction: "OR"}

# How tightly an expression binds: an operand that binds less tightly needs brackets.
_OR, _AND, _NOT, _PREDICATE, _SUM, _PRODUCT, _SIGNED, _PRIMARY = range(8)
PRIMARY_LEVEL = _PRIMARY
_ARITHMETIC_LEVEL = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def print_query(query: ast.Query) -> str:
    """The query as text, one clause per line.

    >>> from cepheid.language.parser import parse
    >>> print(print_query(parse("event A a where a.x%2==0 and a.y<80% within 1 hour")))
    PATTERN A a
    WHERE a.x % 2 = 0 AND a.y < 0.8
    WITHIN 1 hour
    """
    printer = ExpressionPrinter(query.pattern)
    lines = [f"FROM {_name(query.stream)}"] if query.stream else []
    pattern = print_pattern(query.pattern)
    if isinstance(query.pattern, ast.Negation) and query.pattern.window:
        pattern = f"({pattern})"  # without brackets, this would be the window of the query
    lines.append(f"PATTERN {pattern}")
    where = _where(query, printer)
    if where:
        lines.append(f"WHERE {where}")
    if query.window:
        lines.append(f"WITHIN {print_window(query.window)}")
    if query.confidence:
        sign = ">" if query.confidence.is_strict else ">="
        lines.append(f"WITH CONFIDENCE {sign} {_amount(query.confidence.least)}")
    if query.returns:
        lines.append(f"RETURN {_returns(query.returns, printer)}")
    if query.output:
        lines.append(f"OUTPUT {print_output(query.output)}")
    return "\n".join(lines)


def print_pattern(pattern: ast.Pattern) -> str:
    """A pattern as text."""
    # A variable with the name of the type is left out, unless the parser would number it.
    uses = Counter(component.variable for component, _ in ast.components(pattern))
    return _pattern(pattern, {variable for variable, number in uses.items() if number == 1})


def print_expression(expression: ast.Expression, query: ast.Query) -> str:
    """An expression of this query as text."""
    return ExpressionPrinter(query.pattern).expression(expression)


def print_window(window: ast.Window) -> str:
    """The extent of a window as text."""
    shown = _amount(window.extent)
    if window.measure is not ast.WindowMeasure.TIME:
        return f"{shown} {window.measure.value}"
    return f"{shown} {_unit(window.unit, window.extent)}" if window.unit else shown


def print_output(output: ast.Output) -> str:
    """What OUTPUT says, as text.

    >>> from cepheid.language.parser import parse
    >>> print_output(parse("EVENT A OUTPUT first at most once per 1 h").output)
    'FIRST AT MOST ONCE PER 1 hour'
    """
    words = [output.mode.upper()] if output.mode else []
    if output.at_most_once_per:
        words.append(f"AT MOST ONCE PER {print_window(output.at_most_once_per)}")
    if output.timed_out:
        words.append("WITH TIMED OUT")
    return " ".join(words)


def item_name(item: ast.ReturnItem, query: ast.Query) -> str:
    """The name of a RETURN item: the one that the query gives it, or else its text."""
    return item.name or print_expression(item.expression, query)


def item_names(query: ast.Query) -> list[str]:
    """The names of all RETURN items."""
    return [item_name(item, query) for item in query.returns.items] if query.returns else []


def _where(query: ast.Query, printer: ExpressionPrinter) -> str:
    condition = printer.expression(query.condition) if query.condition is not None else ""
    is_default = query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
    if is_default and query.strategy_variables is None:
        return condition
    variables = ""
    if query.strategy_variables is not None:
        variables = f"({', '.join(map(_name, query.strategy_variables))})"
    body = f" {{ {condition} }}" if condition else ""
    return f"{query.strategy.value}{variables}{body}"


def _returns(returns: ast.Return, printer: ExpressionPrinter) -> str:
    items = ", ".join(map(printer.item, returns.items))
    if returns.type_name is not None:
        return f"{_name(returns.type_name)}({items})"
    match returns.items:
        case (ast.ReturnItem(ast.Call(function), None),) if find_function(function) is None:
            # Without brackets this would be a composite event.
            return f"({items})"
    return items


def _pattern(pattern: ast.Pattern, unique: set[str]) -> str:
    if isinstance(pattern, ast.Component):
        return _component(pattern, unique)
    if isinstance(pattern, ast.Negation):
        text = f"~({_component(pattern.component, unique)})"
        return f"{text} WITHIN {print_window(pattern.window)}" if pattern.window else text
    parts = ", ".join(_pattern(part, unique) for part in pattern.parts)
    return f"{_COMPOSITES[type(pattern)]}({parts})"


def _component(component: ast.Component, unique: set[str]) -> str:
    types = ", ".join(map(print_type, component.types))
    text = f"ANY({types})" if len(component.types) > 1 else types
    bounds = component.bounds
    if bounds is not None:
        text += _bounds(bounds)
    variable = component.variable
    if variable != default_variable(component.types) or variable not in unique:
        text += f" {_name(variable)}{'[]' if bounds else ''}"
    excluded = (f" WITHOUT ({_component(each, unique)})" for each in component.without)
    return text + "".join(excluded)


def _bounds(bounds: ast.Bounds) -> str:
    match bounds:
        case ast.Bounds(1, None):
            return "+"
        case ast.Bounds(0, None):
            return "*"
        case ast.Bounds(least, None):
            return f"{{{least},}}"
        case ast.Bounds(least, most):
            return f"{{{least},{most}}}"


class ExpressionPrinter:
    """Prints the expressions of a query; the pattern decides how variables are written."""

    def __init__(self, pattern: ast.Pattern | None = None) -> None:
        declared = ast.components(pattern) if pattern is not None else ()
        self._kleene = {c.variable for c, _ in declared if c.is_kleene}
        # How the event of a computed attribute is written.
        self._event = ""
        # The variable of a query with one component without a name is left out.
        self._bare: str | None = None
        match pattern:
            case ast.Component(types, variable, None) if variable == default_variable(types):
                self._bare = variable

    def item(self, item: ast.ReturnItem) -> str:
        """The text of an item of RETURN."""
        expression = self.expression(item.expression)
        if item.name:
            return f"{expression} AS {_name(item.name)}"
        match item.expression:
            case ast.Comparison("=", left) if self._is_bare_name(left):
                # Without brackets this would be an item with a name.
                return f"({expression})"
        return expression

    def _is_bare_name(self, node: ast.Expression) -> bool:
        is_bare = isinstance(node, ast.Attribute) and node.variable == self._bare
        return is_bare or isinstance(node, ast.Parameter | ast.EventReference)

    def expression(self, node: ast.Expression, least: int = _OR) -> str:
        """The text of an expression, in brackets if it binds less tightly than ``least``."""
        text, level = self._text(node)
        return text if level >= least else f"({text})"

    def _text(self, node: ast.Expression) -> tuple[str, int]:
        match node:
            case ast.Literal(None) if node.is_meant:
                return "(NULL)", _PRIMARY
            case ast.Literal(value):
                negative = isinstance(value, int | float) and str(value).startswith("-")
                return _literal(value), _SIGNED if negative else _PRIMARY
            case ast.Duration(amount, unit):
                return f"{_amount(amount)} {_unit(unit, amount)}", _PRIMARY
            case ast.Parameter(name):
                return _name(name), _PRIMARY
            case ast.Attribute(variable, attribute) if variable == EVENT and self._event:
                return f"{self._event}.{print_attribute(attribute)}", _PRIMARY
            case ast.Field() | ast.Item():
                return f"{self._event}.{_path(node)}", _PRIMARY
            case ast.Attribute(variable, attribute) if variable == self._bare != attribute:
                if not isinstance(attribute, Computed):
                    return _name(attribute), _PRIMARY
                return f"{_name(variable)}.{print_attribute(attribute)}", _PRIMARY
            case ast.Attribute(variable, attribute):
                return f"{_name(variable)}.{print_attribute(attribute)}", _PRIMARY
            case ast.Element(variable, index, attribute):
                shown = index.value if isinstance(index, ast.Index) else index
                return f"{_name(variable)}[{shown}].{print_attribute(attribute)}", _PRIMARY
            case ast.Length(variable):
                return f"{_name(variable)}.LEN", _PRIMARY
            case ast.Aggregate(function, variable, scope, attribute):
                events = f"{_name(variable)}[{scope.value}]"
                name, _, distinct = function.partition(" ")
                if isinstance(attribute, Computed):
                    self._event = events
                    shown = self.expression(attribute.expression)
                    self._event = ""
                else:
                    shown = events + (f".{print_attribute(attribute)}" if attribute else "")
                return f"{name}({distinct.upper()}{' ' * bool(distinct)}{shown})", _PRIMARY
            case ast.EventReference(variable):
                return _name(variable) + ("[]" if variable in self._kleene else ""), _PRIMARY
            case ast.Elements(variable, attribute):
                return f"{_name(variable)}[].{print_attribute(attribute)}", _PRIMARY
            case ast.Call(function, arguments):
                return f"{_name(function)}({', '.join(map(self.expression, arguments))})", _PRIMARY
            case ast.Case(branches, otherwise):
                shown = "".join(
                    f" WHEN {self.expression(condition)} THEN {self.expression(value)}"
                    for condition, value in branches
                )
                if otherwise != ast.Literal(None):
                    shown += f" ELSE {self.expression(otherwise)}"
                return f"CASE{shown} END", _PRIMARY
            case ast.Equivalence(attribute, value):
                shown = f" = {_literal(value.value)}" if value is not None else ""
                return f"[{_name(attribute)}{shown}]", _PRIMARY
            case ast.Negative(operand):
                return f"-{self.expression(operand, _PRIMARY)}", _SIGNED
            case ast.Arithmetic(operator, left, right):
                level = _ARITHMETIC_LEVEL[operator]
                shown = f"{self.expression(left, level)} {operator} "
                # In 80 % -x the parser would read a percentage.
                least = _PRIMARY if operator == "%" else level + 1
                return shown + self.expression(right, least), level
            case ast.Comparison(operator, left, right):
                shown = f"{self.expression(left, _SUM)} {operator} "
                return shown + self.expression(right, _SUM), _PREDICATE
            case ast.In(operand, options):
                shown = ", ".join(self.expression(option, _SUM) for option in options)
                return f"{self.expression(operand, _SUM)} IN ({shown})", _PREDICATE
            case ast.Between(operand, low, high):
                shown = f"{self.expression(low, _SUM)} AND {self.expression(high, _SUM)}"
                return f"{self.expression(operand, _SUM)} BETWEEN {shown}", _PREDICATE
            case ast.Like(operand, pattern):
                return f"{self.expression(operand, _SUM)} LIKE {_literal(pattern)}", _PREDICATE
            case ast.IsNull(operand):
                return f"{self.expression(operand, _SUM)} IS NULL", _PREDICATE
            case ast.Not(ast.IsNull(operand)):
                return f"{self.expression(operand, _SUM)} IS NOT NULL", _PREDICATE
            case ast.Not(operand):
                return f"NOT {self.expression(operand, _NOT)}", _NOT
            case ast.And(operands):
                return " AND ".join(self.expression(part, _NOT) for part in operands), _AND
            case ast.Or(operands):
                return " OR ".join(self.expression(part, _AND) for part in operands), _OR
        raise AssertionError(f"not an expression: {node!r}")


def _literal(value: float | str | bool | None) -> str:
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _amount(value: Fraction | ast.Parameter) -> str:
    if isinstance(value, ast.Parameter):
        return _name(value.name)
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _unit(unit: str, amount: Fraction | ast.Parameter) -> str:
    return unit.removesuffix("s") if amount == 1 else unit


def _name(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) and name.casefold() not in _RESERVED
    return name if plain else f"`{name}`"


def print_attribute(name: str) -> str:
    """The name of an attribute after a dot.

    >>> print_attribute("price"), print_attribute("unit price")
    ('price', '`unit price`')
    """
    if isinstance(name, Computed):
        return _path(name.expression)
    # After a dot every word is a name, except LEN of a Kleene variable.
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name}`"


def _path(node: ast.Node) -> str:
    """A field or an element of an attribute, as it is written after the dot."""
    match node:
        case ast.Attribute(_, attribute):
            return print_attribute(attribute)
        case ast.Field(operand, name):
            return f"{_path(operand)}.{print_attribute(name)}"
        case ast.Item(operand, number):
            return f"{_path(operand)}[{number}]"
    printer = ExpressionPrinter(ast.Component(("",), EVENT))
    return f"({printer.expression(cast('ast.Expression', node))})"


def print_type(name: str) -> str:
    """The name of a type of events, quoted if it has to be.

    >>> print_type("SHELF-READING"), print_type("add to cart")
    ('SHELF-READING', '`add to cart`')
    """
    parts = name.split("-")
    return name if all(_name(part) == part for part in parts) else f"`{name}`"
