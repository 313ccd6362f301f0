"""Expressions built in Python: operators and functions that make nodes of the syntax tree.

Patterns are built in ``builder``, which is the module to import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from numbers import Integral, Real
from typing import Any, SupportsFloat, SupportsInt, cast

from cepheid.aggregates import AGGREGATES
from cepheid.errors import OptionError
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.naming import Prior, aggregate_over
from cepheid.language.printer import print_expression
from cepheid.language.units import in_largest_unit
from cepheid.visible import visible

_Operator = Callable[["Expression", object], "Expression"]


def _binary(kind: type[ast.Comparison] | type[ast.Arithmetic], symbol: str) -> _Operator:
    return lambda left, right: Expression(kind(symbol, left.node, lifted(right)))


def _reflected(symbol: str) -> _Operator:
    return lambda right, left: Expression(ast.Arithmetic(symbol, lifted(left), right.node))


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """An expression of a query; Python's operators combine expressions.

    >>> from cepheid.language.builder import event
    >>> a = event("Stock", "a")
    >>> (a.price * 2 > 10) & ~a.symbol.is_in("MSFT", "GOOG")
    a.price * 2 > 10 AND NOT a.symbol IN ('MSFT', 'GOOG')
    """

    node: Any

    __hash__ = None  # type: ignore[assignment]
    __eq__ = _binary(ast.Comparison, "=")  # type: ignore[assignment]
    __ne__ = _binary(ast.Comparison, "!=")  # type: ignore[assignment]
    __lt__ = _binary(ast.Comparison, "<")
    __le__ = _binary(ast.Comparison, "<=")
    __gt__ = _binary(ast.Comparison, ">")
    __ge__ = _binary(ast.Comparison, ">=")
    __add__, __radd__ = _binary(ast.Arithmetic, "+"), _reflected("+")
    __sub__, __rsub__ = _binary(ast.Arithmetic, "-"), _reflected("-")
    __mul__, __rmul__ = _binary(ast.Arithmetic, "*"), _reflected("*")
    __truediv__, __rtruediv__ = _binary(ast.Arithmetic, "/"), _reflected("/")
    __mod__, __rmod__ = _binary(ast.Arithmetic, "%"), _reflected("%")

    def __neg__(self) -> Expression:
        return Expression(ast.Negative(self.node))

    def __and__(self, other: object) -> Expression:
        return joined(ast.And, (self, other))

    def __or__(self, other: object) -> Expression:
        return joined(ast.Or, (self, other))

    def __invert__(self) -> Expression:
        return Expression(ast.Not(self.node))

    def __bool__(self) -> bool:
        raise OptionError(
            f"'{self!r}' has no truth value in Python: use & for and, | for or, ~ for not, with "
            "brackets around comparisons; for x < y < z write (x < y) & (y < z)"
        )

    def __repr__(self) -> str:
        if isinstance(self.node, Prior):
            return visible(f"{self.node.variable}[..i-1].{self.node.attribute}")
        return visible(print_expression(self.node, ast.Query(ast.Component(("",), "event"))))

    def is_in(self, *options: object) -> Expression:
        """``x IN (…)``."""
        if not options:
            raise OptionError("is_in() needs at least one value")
        return Expression(ast.In(self.node, tuple(map(lifted, options))))

    def between(self, low: object, high: object) -> Expression:
        """``x BETWEEN low AND high``, both ends included."""
        return Expression(ast.Between(self.node, lifted(low), lifted(high)))

    def like(self, pattern: str) -> Expression:
        """``x LIKE 'a%_'``: % for any string, _ for any one character."""
        if not isinstance(pattern, str):
            raise OptionError(f"like() takes a string such as 'a%', not {pattern!r}")
        return Expression(ast.Like(self.node, pattern))

    def is_null(self) -> Expression:
        """``x IS NULL``."""
        return Expression(ast.IsNull(self.node))


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """Events of a variable: ``a[1]``, ``a.last``, ``a.all``; their attributes are expressions."""

    _text: str
    _node: ast.Node
    _attribute: Callable[[str], ast.Node]

    def __repr__(self) -> str:
        return visible(self._text)

    def __getitem__(self, attribute: str) -> Expression:
        return Expression(self._attribute(checked_name(attribute)))

    def __getattr__(self, attribute: str) -> Expression:
        return self[not_private(attribute)]


def lifted(value: object) -> Any:
    """The node of an expression, or a literal for a Python value."""
    match value:
        case Expression():
            return value.node
        case None | bool() | str():
            return ast.Literal(value)
        case timedelta():
            duration = ast.Duration(*in_largest_unit(abs(value)))
            return ast.Negative(duration) if value < timedelta() else duration
        case Integral() if -(2**63) < int(cast("SupportsInt", value)) < 2**63:
            return ast.Literal(int(cast("SupportsInt", value)))
        case Real() if not isinstance(value, Integral) and math.isfinite(value):
            return ast.Literal(float(cast("SupportsFloat", value)))
    raise OptionError(
        f"{value!r} cannot be used in a query: use attributes such as a.x, 64-bit numbers, "
        "strings, True, False, None or timedelta"
    )


def joined(kind: type[ast.And] | type[ast.Or], parts: Iterable[object]) -> Expression:
    """One expression of all parts."""
    return Expression(ast.joined(kind, map(lifted, parts)))


def same(*attributes: str, **values: object) -> Expression:
    """Equivalence tests: all events of a match agree on these attributes.

    >>> same("symbol", site="7")
    [symbol] AND [site = '7']
    """
    tests = [ast.Equivalence(checked_name(attribute)) for attribute in attributes]
    for name, value in values.items():
        literal = lifted(value)
        if not isinstance(literal, ast.Literal):
            raise OptionError(f"same() compares {name} with a number or a string, not {value!r}")
        tests.append(ast.Equivalence(checked_name(name), literal))
    if not tests:
        raise OptionError("same() takes the names of attributes: same('tag_id')")
    return joined(ast.And, map(Expression, tests))


def parameter(name: str) -> Expression:
    """A name with a value that is given with the query."""
    return Expression(ast.Parameter(checked_name(name)))


def call(function: str, *arguments: object) -> Expression:
    """A scalar function, or an aggregate.

    >>> from cepheid.language.builder import avg, i, many
    >>> a = many("Stock", "a")
    >>> call("abs", a[i].price - avg(a.before.price)) > 10
    abs(a[i].price - avg(a[..i-1].price)) > 10
    """
    if function.lower() in AGGREGATES:
        return _aggregate(function.lower(), arguments[0] if len(arguments) == 1 else None)
    known = find_function(function)
    name = known.name if known else checked_name(function)
    return Expression(ast.Call(name, tuple(map(lifted, arguments))))


def _aggregate(function: str, over: object) -> Expression:
    node = over.node if isinstance(over, Expression) else None
    aggregate = aggregate_over(function, over._node if isinstance(over, Events) else node)
    if aggregate is not None:
        return Expression(aggregate)
    dot_x = "" if function == "count" else ".x"
    raise OptionError(
        f"{function} needs events of a Kleene variable: {function}(a.all{dot_x}) for all of them, "
        f"or {function}(a.before{dot_x}) for those selected before a[i]"
    )


min_, max_, sum_ = partial(call, "min"), partial(call, "max"), partial(call, "sum")
avg, count = partial(call, "avg"), partial(call, "count")
first, last = partial(call, "first"), partial(call, "last")


class CurrentIndex:
    """The index of the current event of a Kleene variable, ``i``; ``i - 1`` is the one before."""

    def __sub__(self, distance: int) -> ast.Index:
        if distance != 1:
            raise OptionError(f"there is no i - {distance}: an index is i, i - 1 or a number")
        return ast.Index.PREVIOUS


i = CurrentIndex()


def checked_name(name: object) -> str:
    """The name, if it can be used in a query."""
    if not isinstance(name, str) or not name or "`" in name:
        raise OptionError(f"{name!r} is not a name: a name is a string without backticks")
    return name


def not_private(attribute: str) -> str:
    """The name of an attribute; not a private one, so that ``__deepcopy__`` is not an attribute."""
    if attribute.startswith("_"):
        raise AttributeError(attribute)
    return attribute
