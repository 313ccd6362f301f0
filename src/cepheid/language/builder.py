"""Queries built in Python: the same syntax tree as the parser makes, without a text.

>>> from cepheid.language.builder import avg, event, i, many, no, same, seq
>>> shelf, register, exit_ = event("Shelf", "a"), event("Register", "b"), event("Exit", "c")
>>> print(seq(shelf, no(register), exit_).where(same("tag_id")).within("12 hours"))
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id]
WITHIN 12 hours

>>> a, b = many("Stock", "a"), event("Stock", "b")
>>> trend = (
...     seq(a, b)
...     .where(same("symbol"), a[1].volume > 1000, a[i].price > avg(a.before.price))
...     .where(b.volume < 0.8 * a.last.volume)
...     .select("skip_till_next_match")
... )
>>> print(trend.returns(b.symbol, rise=a.last.price - a[1].price))
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match { [symbol] AND a[1].volume > 1000 AND
      a[i].price > avg(a[..i-1].price) AND b.volume < 0.8 * a[LEN].volume }
RETURN b.symbol, a[LEN].price - a[1].price AS rise

Every call gives a new object. An attribute whose name is also a method (``where``, ``build``),
begins with an underscore or is no Python name is reached by ``a["where"]``. ``min_``, ``max_``
and ``sum_`` have an underscore so that importing them does not hide Python's own functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import partial
from numbers import Integral, Real
from typing import Any

from cepheid.errors import OptionError, closest, list_words
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.naming import Prior, default_variable, name_components
from cepheid.language.printer import print_expression, print_query
from cepheid.language.units import CANONICAL_UNIT, NANOSECONDS_PER

# --- Expressions --------------------------------------------------------------------------

_Operator = Callable[["Expression", object], "Expression"]


def _binary(kind: type[ast.Comparison] | type[ast.Arithmetic], symbol: str) -> _Operator:
    return lambda left, right: Expression(kind(symbol, left.node, _lifted(right)))


def _reflected(symbol: str) -> _Operator:
    return lambda right, left: Expression(ast.Arithmetic(symbol, _lifted(left), right.node))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression:
    """Something with a value; Python's operators make larger expressions of it.

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
        return Expression(_joined(ast.And, (self, other)))

    def __or__(self, other: object) -> Expression:
        return Expression(_joined(ast.Or, (self, other)))

    def __invert__(self) -> Expression:
        return Expression(ast.Not(self.node))

    def __bool__(self) -> bool:
        raise OptionError(
            f"'{self!r}' is neither true nor false in Python: use & instead of and, | instead of "
            "or, ~ instead of not, with brackets around comparisons; for x < y < z write "
            "(x < y) & (y < z)"
        )

    def __repr__(self) -> str:
        match self.node:
            case Prior(variable, attribute):
                return f"{variable}[..i-1].{attribute}"
        return print_expression(self.node, ast.Query(ast.Component(("",), "event")))

    def is_in(self, *options: object) -> Expression:
        """``x IN (…)``."""
        if not options:
            raise OptionError(f"'{self!r}' is in nothing: give is_in() the values")
        return Expression(ast.In(self.node, tuple(map(_lifted, options))))

    def between(self, low: object, high: object) -> Expression:
        """``x BETWEEN low AND high``, both ends included."""
        return Expression(ast.Between(self.node, _lifted(low), _lifted(high)))

    def like(self, pattern: str) -> Expression:
        """``x LIKE 'a%_'``: % for any text, _ for any one character."""
        return Expression(ast.Like(self.node, pattern))

    def is_null(self) -> Expression:
        """``x IS NULL``."""
        return Expression(ast.IsNull(self.node))


def _joined(kind: type[ast.And] | type[ast.Or], parts: Iterable[object]) -> ast.Expression:
    flat: list[ast.Expression] = []
    for part in map(_lifted, parts):
        flat.extend(part.operands if isinstance(part, kind) else (part,))
    return kind(tuple(flat)) if len(flat) > 1 else flat[0]


def _lifted(value: object) -> Any:
    """The node of an expression, or the literal that a Python value is."""
    match value:
        case Expression():
            return value.node
        case None | bool() | str():
            return ast.Literal(value)
        case timedelta():
            duration = ast.Duration(*_in_largest_unit(abs(value)))
            return ast.Negative(duration) if value < timedelta() else duration
        case Integral() if abs(value) < 2**63:
            return ast.Literal(int(value))
        case Real() if not isinstance(value, Integral) and math.isfinite(value):
            return ast.Literal(float(value))
        case PatternBuilder() | Events():
            raise OptionError(f"{value!r} stands for events: use an attribute of it")
    raise OptionError(
        f"{value!r} cannot stand in a query, which takes numbers of 64 bits, texts, True, False, "
        "None and timedelta"
    )


def _in_largest_unit(duration: timedelta) -> tuple[Fraction, str]:
    nanoseconds = duration // timedelta(microseconds=1) * 1000
    exact = [unit for unit, size in NANOSECONDS_PER.items() if nanoseconds % size == 0]
    return Fraction(nanoseconds, NANOSECONDS_PER[exact[-1]]), exact[-1]


def same(*attributes: str, **values: object) -> Expression:
    """Equivalence tests: all events of a match agree on these attributes.

    >>> same("symbol", site="7")
    [symbol] AND [site = '7']
    """
    tests = [ast.Equivalence(_name(attribute)) for attribute in attributes]
    tests += [ast.Equivalence(_name(name), _lifted(value)) for name, value in values.items()]
    if not tests:
        raise OptionError("same() takes the names of attributes: same('tag_id')")
    return Expression(_joined(ast.And, map(Expression, tests)))


def parameter(name: str) -> Expression:
    """A name whose value is given along with the query."""
    return Expression(ast.Parameter(_name(name)))


def call(function: str, *arguments: object) -> Expression:
    """A function of scalars, or an aggregate.

    >>> a = many("Stock", "a")
    >>> call("abs", a[i].price - avg(a.before.price)) > 10
    abs(a[i].price - avg(a[..i-1].price)) > 10
    """
    if function.lower() in ast.AGGREGATES:
        return _aggregate(function.lower(), *arguments)
    known = find_function(function)
    name = known.name if known else _name(function)
    return Expression(ast.Call(name, tuple(map(_lifted, arguments))))


def _aggregate(function: str, *arguments: object) -> Expression:
    over = arguments[0] if len(arguments) == 1 else None
    match over.node if isinstance(over, Expression | Events) else None:
        case ast.Elements(variable, attribute) | ast.Element(
            variable, ast.Index.CURRENT, attribute
        ):
            return Expression(ast.Aggregate(function, variable, ast.Scope.WHOLE, attribute))
        case ast.EventReference(variable) if function == "count":
            return Expression(ast.Aggregate(function, variable, ast.Scope.WHOLE, None))
        case Prior(variable, attribute) if attribute or function == "count":
            return Expression(ast.Aggregate(function, variable, ast.Scope.PRIOR, attribute))
    raise OptionError(
        f"{function} is over an attribute of a Kleene variable: {function}(a.all.x) for all of a, "
        f"{function}(a.before.x) for what was selected before a[i]"
    )


min_, max_, sum_ = partial(call, "min"), partial(call, "max"), partial(call, "sum")
avg, count = partial(call, "avg"), partial(call, "count")
first, last = partial(call, "first"), partial(call, "last")


class _Current:
    """The index of a Kleene variable's current event, ``i``; ``i - 1`` is the one before."""

    def __sub__(self, distance: int) -> ast.Index:
        if distance != 1:
            raise OptionError(f"there is no i-{distance}: an index is i, i - 1 or a number from 1")
        return ast.Index.PREVIOUS


i = _Current()


@dataclass(frozen=True, slots=True, repr=False)
class Events:
    """Events of a variable, whose attributes are expressions: ``a[1]``, ``a.last``, ``a.all``."""

    text: str
    node: Any
    attribute_of: Callable[[str], Any]

    def __repr__(self) -> str:
        return self.text

    def __getitem__(self, attribute: str) -> Expression:
        return Expression(self.attribute_of(_name(attribute)))

    def __getattr__(self, attribute: str) -> Expression:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return self[attribute]


# --- Patterns -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PatternBuilder:
    """A pattern with what was said about it so far; ``build()`` gives the query."""

    query: ast.Query

    def __str__(self) -> str:
        return print_query(self.build())

    def __repr__(self) -> str:
        return f"<{print_pattern(name_components(self.query.pattern))}>"

    def where(self, *conditions: Expression) -> PatternBuilder:
        """The conditions, all of which have to hold, along with those given before."""
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise OptionError(
                    f"{condition!r} is no condition: compare attributes, as in a.x > 5"
                )
            _refuse_lists(condition, (Prior, ast.Elements))
        before = [] if self.query.condition is None else [Expression(self.query.condition)]
        parts = [*before, *conditions]
        return self._with(condition=_joined(ast.And, parts) if parts else None)

    def select(
        self, strategy: str | ast.SelectionStrategy, *variables: Variable
    ) -> PatternBuilder:
        """How events are selected: strategy is a name such as ``skip_till_next_match``."""
        known = [one.value for one in ast.SelectionStrategy]
        if not isinstance(strategy, ast.SelectionStrategy) and strategy not in known:
            raise OptionError(
                _unknown("selection strategy", strategy, known)
            )
        names = tuple(variable.name for variable in variables) or None
        return self._with(strategy=ast.SelectionStrategy(strategy), strategy_variables=names)

    def within(
        self, extent: float | str | timedelta | Expression, measure: str | None = None
    ) -> PatternBuilder:
        """The window: ``"12 hours"``, a timedelta, or a number with or without a measure.

        A measure is a unit of time, ``"events"`` or ``"events per partition"``; a number without
        one is in the units of the time column.
        """
        if isinstance(extent, timedelta):
            amount, measure = _in_largest_unit(extent)
        elif isinstance(extent, str):
            number, _, words = extent.strip().partition(" ")
            amount, measure = _amount(number), measure or words.strip() or None
        ...

    def _with(self, **changes: Any) -> PatternBuilder:
        return PatternBuilder(replace(self.query, **changes))
