"""Queries built in Python: the same syntax tree as the parser makes.

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

Every call gives a new object. Use ``a["where"]`` for an attribute with the name of a method, with a
leading underscore, or with a name that is not a Python identifier. ``min_``, ``max_`` and ``sum_``
have an underscore so that importing them does not hide Python's own functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import partial
from typing import Any

from cepheid.errors import OptionError, QuerySyntaxError, unknown_name
from cepheid.language import syntax as ast
from cepheid.language.expressions import (
    CurrentIndex,
    Events,
    Expression,
    avg,
    call,
    checked_name,
    count,
    first,
    i,
    joined,
    last,
    lifted,
    max_,
    min_,
    not_private,
    parameter,
    same,
    sum_,
)
from cepheid.language.naming import Prior, WholeElement, default_variable, name_components
from cepheid.language.parser import OUTPUT_MODES, parse
from cepheid.language.printer import print_pattern, print_query
from cepheid.language.units import in_largest_unit
from cepheid.visible import said, visible

__all__ = [
    "EventVariable",
    "Events",
    "Expression",
    "KleeneVariable",
    "PatternBuilder",
    "all_of",
    "any_of",
    "avg",
    "call",
    "count",
    "event",
    "first",
    "i",
    "last",
    "many",
    "max_",
    "min_",
    "no",
    "parameter",
    "same",
    "seq",
    "sum_",
]


@dataclass(frozen=True, eq=False, repr=False)
class PatternBuilder:
    """A pattern with its clauses so far; ``build`` gives the query."""

    _query: ast.Query

    def __str__(self) -> str:
        return print_query(self.build())

    def __repr__(self) -> str:
        return visible(f"<{print_pattern(name_components(self._query.pattern))}>")

    def where(self, *conditions: Expression) -> PatternBuilder:
        """Add conditions; all of them must hold, and those given before."""
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise OptionError(f"{condition!r} is not a condition, such as a.x > 5")
            _refuse_loose(condition, Prior, ast.Elements)
        if self._query.condition is not None:
            conditions = (Expression(self._query.condition), *conditions)
        return self._with(condition=joined(ast.And, conditions).node) if conditions else self

    def select(
        self, strategy: str | ast.SelectionStrategy, *variables: PatternBuilder
    ) -> PatternBuilder:
        """The selection strategy, such as ``"skip_till_next_match"``."""
        known = [each.value for each in ast.SelectionStrategy]
        if not isinstance(strategy, ast.SelectionStrategy) and strategy not in known:
            raise OptionError(unknown_name("selection strategy", strategy, known))
        names = tuple(map(_variable, variables)) or None
        return self._with(strategy=ast.SelectionStrategy(strategy), strategy_variables=names)

    def within(self, extent: float | str | timedelta, measure: str = "") -> PatternBuilder:
        """The window: ``"12 hours"``, a timedelta, or a number.

        ``measure`` of a number is a unit of time, ``"events"`` or ``"events per partition"``; by
        default it is the unit of the time column.
        """
        return self._with(window=_window(extent, measure))

    def with_confidence(
        self, *, more_than: float | None = None, at_least: float | None = None
    ) -> PatternBuilder:
        """The least confidence of a match, if times are uncertain.

        >>> print(event("A").with_confidence(at_least=0.8))
        PATTERN A
        WITH CONFIDENCE >= 0.8
        """
        given: Any = more_than if at_least is None else at_least
        if given is None or (more_than is not None and at_least is not None):
            raise OptionError("with_confidence takes either more_than or at_least")
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
            raise OptionError(f"a confidence must be a number from 0 to 1, not {given!r}")
        clause = ast.Confidence(Fraction(str(given)), is_strict=at_least is None)
        return self._with(confidence=clause)

    def returns(self, /, *items: object, **named: object) -> PatternBuilder:
        """The items of a match: variables, lists such as ``a.all.x``, and expressions."""
        return self._with(returns=ast.Return(_items(items, named)))

    def returns_event(self, type_name: str, /, *items: object, **named: object) -> PatternBuilder:
        """A composite event of this type for each match."""
        return self._with(returns=ast.Return(_items(items, named), checked_name(type_name)))

    def output(
        self,
        mode: str | None = None,
        *,
        at_most_once_per: float | str | timedelta | None = None,
        timed_out: bool = False,
    ) -> PatternBuilder:
        """Which matches are reported.

        >>> print(event("A").output("first", at_most_once_per="10 minutes"))
        PATTERN A
        OUTPUT FIRST AT MOST ONCE PER 10 minutes
        """
        known = [each.lower() for each in OUTPUT_MODES]
        if mode is not None and mode not in known:
            raise OptionError(unknown_name("output mode", mode, known))
        gap = None if at_most_once_per is None else duration(at_most_once_per)
        if mode is None and gap is None and not timed_out:
            raise OptionError("output takes a mode, at_most_once_per or timed_out")
        return self._with(output=ast.Output(mode, gap, timed_out))

    def from_stream(self, name: str) -> PatternBuilder:
        """The name of the stream of the events."""
        return self._with(stream=checked_name(name))

    def build(self) -> ast.Query:
        """The query.

        >>> event("Reading").within(10).build().window
        Window(extent=Fraction(10, 1), measure=<WindowMeasure.TIME: 'time'>, unit=None)
        """
        pattern = name_components(self._query.pattern)
        mentioned = {
            getattr(node, "variable", None)
            for part in (self._query.condition, self._query.returns)
            for node in (part.walk() if part else ())
        }
        for (before, _), (after, _) in zip(
            ast.components(self._query.pattern), ast.components(pattern), strict=True
        ):
            wanted = before.variable or default_variable(before.types)
            if after.variable != wanted and wanted in mentioned:
                raise OptionError(
                    f"several components have the name {wanted}: give each a variable, such as "
                    f"event({wanted!r}, 'a')"
                )
        return replace(self._query, pattern=pattern)

    def _with(self, **changes: Any) -> PatternBuilder:
        return PatternBuilder(replace(self._query, **changes))


@dataclass(frozen=True, eq=False, repr=False)
class EventVariable(PatternBuilder):
    """A component of one event; ``a.x`` and ``a["x"]`` are its attributes."""

    def __getitem__(self, attribute: str) -> Expression:
        return Expression(ast.Attribute(_variable(self), checked_name(attribute)))

    def __getattr__(self, attribute: str) -> Expression:
        return self[not_private(attribute)]


@dataclass(frozen=True, eq=False, repr=False)
class KleeneVariable(PatternBuilder):
    """A component of many events: ``a[1].x``, ``a[i].x``, ``a[i - 1].x``, ``a.last.x``.

    ``a.all.x`` and ``a.before.x`` (the events selected before ``a[i]``) are for aggregates.
    """

    def __getitem__(self, index: int | ast.Index | CurrentIndex) -> Events:
        name = _variable(self)
        index = ast.Index.CURRENT if isinstance(index, CurrentIndex) else index
        match index:
            case ast.Index():
                shown = index.value
            case int() if index > 0:
                shown = str(index)
            case _:
                raise OptionError(
                    f"{index!r} is not an index of {name}: use i, i - 1 or a number from 1; "
                    f"{name}.last is the last event"
                )
        return Events(f"{name}[{shown}]", WholeElement(name), partial(ast.Element, name, index))

    def __getattr__(self, attribute: str) -> Expression:
        wanted = not_private(attribute)
        name = _variable(self)
        raise OptionError(
            f"{name} is a Kleene variable, and each of its events has its own {wanted!r}: write "
            f"{name}[i].{wanted}, {name}.last.{wanted} or avg({name}.all.{wanted})"
        )

    def without(self, *components: EventVariable) -> KleeneVariable:
        """No such event occurs between the first and the last event.

        >>> many("Error", "e", at_least=3).without(event("Restart", "r"))
        <Error{3,} e[] WITHOUT (Restart r)>
        """
        excluded = tuple(_single("excluded", each) for each in components)
        pattern = self._query.pattern
        assert isinstance(pattern, ast.Component)
        without = (*pattern.without, *excluded)
        return KleeneVariable(ast.Query(replace(pattern, without=without)))

    @property
    def last(self) -> Events:
        """The last event, ``a[a.LEN]``."""
        return self[ast.Index.LAST]

    @property
    def all(self) -> Events:
        """All events, ``a[]``."""
        name = _variable(self)
        return Events(f"{name}[]", ast.EventReference(name), partial(ast.Elements, name))

    @property
    def before(self) -> Events:
        """What was selected before ``a[i]``, ``a[..i-1]``."""
        name = _variable(self)
        return Events(f"{name}[..i-1]", Prior(name, None), partial(Prior, name))

    @property
    def length(self) -> Expression:
        """How many events there are, ``a.LEN``."""
        return Expression(ast.Length(_variable(self)))


def event(*types: str, variable: str | None = None) -> EventVariable:
    """One event: of a type, with a variable, or of any of several types.

    >>> event("Shelf"), event("Shelf", "a"), event("Counter", "Shelf", variable="z")
    (<Shelf>, <Shelf a>, <ANY(Counter, Shelf) z>)
    """
    return EventVariable(ast.Query(_component(types, variable, None)))


def many(
    *types: str, variable: str | None = None, at_least: int = 1, at_most: int | None = None
) -> KleeneVariable:
    """Many events: by default one or more (Kleene plus).

    >>> many("Stock", "a"), many("Stock", "a", at_least=0), many("Stock", "a", at_most=3)
    (<Stock+ a[]>, <Stock* a[]>, <Stock{1,3} a[]>)
    """
    if at_least < 0 or (at_most is not None and not 0 < at_most >= at_least):
        raise OptionError(f"there cannot be at least {at_least} and at most {at_most} events")
    return KleeneVariable(ast.Query(_component(types, variable, ast.Bounds(at_least, at_most))))


def duration(given: float | str | timedelta, name: str = "at_most_once_per") -> ast.Window:
    """The duration that a keyword gives: a number, a string such as ``"5 seconds"``, a timedelta.

    >>> duration("5 s").unit
    'seconds'
    """
    try:
        window: ast.Window | None = _window(given)
    except OptionError:
        window = None
    is_positive = window is not None and isinstance(window.extent, Fraction) and window.extent > 0
    if window is None or not is_positive or window.measure is not ast.WindowMeasure.TIME:
        raise OptionError(
            f"{name}={said(given)} is not a duration: give a number, or a string such as "
            "'10 minutes'"
        )
    return window


def no(
    component: EventVariable, *, within: float | str | timedelta | None = None
) -> PatternBuilder:
    """Negation: no such event occurs here, or none within a time after the events before it.

    >>> no(event("Buy", "b"), within="30 minutes")
    <~(Buy b) WITHIN 30 minutes>
    """
    window = None if within is None else _window(within)
    return PatternBuilder(ast.Query(ast.Negation(_single("negated", component), window)))


def _single(how: str, component: EventVariable) -> ast.Component:
    [pattern] = _parts("no" if how == "negated" else "without", (component,))
    if not isinstance(pattern, ast.Component) or pattern.is_kleene:
        raise OptionError(f"only a single event can be {how}, not {component!r}")
    return pattern


def _window(extent: float | str | timedelta, measure: str = "") -> ast.Window:
    in_words = f"{extent} {measure}".strip()
    if isinstance(extent, timedelta):
        amount, unit = in_largest_unit(extent)
        in_words = f"{amount} {unit}"
    try:
        query = parse(f"EVENT A WITHIN {in_words}")
    except QuerySyntaxError as error:
        fault = error.faults[0]
        message = f"'{in_words}' is not a window: {fault.message}. {fault.advice()}"
        raise OptionError(message.strip()) from None
    if query.window is None or query.returns is not None:
        raise OptionError(f"'{in_words}' is not a window: write it like '10 minutes'")
    return ast.rewrite(query.window, lambda node: replace(node, span=None))


def seq(*parts: PatternBuilder) -> PatternBuilder:
    """All parts, one after the other."""
    return PatternBuilder(ast.Query(ast.Sequence(_parts("seq", parts))))


def all_of(*parts: PatternBuilder) -> PatternBuilder:
    """All parts, in any order: AND."""
    return PatternBuilder(ast.Query(ast.Conjunction(_parts("all_of", parts))))


def any_of(*parts: PatternBuilder) -> PatternBuilder:
    """One of the parts: OR."""
    return PatternBuilder(ast.Query(ast.Disjunction(_parts("any_of", parts))))


def _parts(function: str, parts: tuple[PatternBuilder, ...]) -> tuple[ast.Pattern, ...]:
    if not parts:
        raise OptionError(f"{function}() takes at least one pattern")
    for part in parts:
        if not isinstance(part, PatternBuilder):
            raise OptionError(f"{part!r} is not a pattern, such as event({part!r}, 'a')")
        if part._query != ast.Query(part._query.pattern):
            raise OptionError(
                f"where, select, within and returns apply to the whole pattern: write "
                f"{function}(…).where(…)"
            )
    return tuple(part._query.pattern for part in parts)


def _component(
    types: tuple[str, ...], variable: str | None, bounds: ast.Bounds | None
) -> ast.Component:
    if variable is None:
        if len(types) > 2:
            raise OptionError("an event of several types needs a variable: add variable='a'")
        types, variable = types[:1], types[1] if len(types) == 2 else None
    if not types or len(set(types)) < len(types):
        raise OptionError("an event needs one type, or several different ones: event('Type', 'a')")
    name = "" if variable is None else checked_name(variable)
    return ast.Component(tuple(map(checked_name, types)), name, bounds)


def _items(items: tuple[object, ...], named: dict[str, object]) -> tuple[ast.ReturnItem, ...]:
    return (
        *(ast.ReturnItem(_returned(item)) for item in items),
        *(ast.ReturnItem(_returned(item), checked_name(name)) for name, item in named.items()),
    )


def _returned(item: object) -> Any:
    if isinstance(item, EventVariable | KleeneVariable):
        return ast.EventReference(_variable(item))
    if isinstance(item, Events) and isinstance(item._node, ast.EventReference):
        return item._node
    node = lifted(item)
    _refuse_loose(Expression(node), Prior)
    return node


def _refuse_loose(expression: Expression, *kinds: type[ast.Node]) -> None:
    for node in expression.node.walk():
        if isinstance(node, kinds):
            shown = repr(Expression(node))
            raise OptionError(f"{shown} is a list: aggregate it, as in avg({shown})")


def _variable(pattern: PatternBuilder) -> str:
    component = pattern._query.pattern
    if not isinstance(component, ast.Component):
        raise OptionError(f"{pattern!r} is not a variable")
    return component.variable or default_variable(component.types)
