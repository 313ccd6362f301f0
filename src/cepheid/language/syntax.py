"""The abstract syntax of a query.

Nodes are frozen values. A node has its place in the text (``span``), but equality ignores it:
printing a query and parsing it again gives an equal query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar, cast

from cepheid.errors import Span

N = TypeVar("N", bound="Node")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of a query."""

    span: Span | None = field(default=None, compare=False, repr=False)

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in the order of the text."""
        node_type: Any = type(self)
        for name in _names(node_type):
            yield from _nodes_in(getattr(self, name))

    def walk(self) -> Iterator[Node]:
        """This node and all nodes below it, parents first."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += [*node.children()][::-1]


@cache
def _names(node_type: type[Node]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(node_type))


def _nodes_in(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


# --- Patterns -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """The number of events of a Kleene component; ``most`` is None without an upper bound."""

    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Component(Node):
    """``Type var``, ``Type+ var[]``, ``ANY(Type, Type) var``: events bound to a variable.

    ``bounds`` is None for a component that is one event. ``without`` are the components that have
    no event between the first and the last event of the list: ``Type+ var[] WITHOUT (Type var)``.
    """

    types: tuple[str, ...]
    variable: str
    bounds: Bounds | None = None
    without: tuple[Component, ...] = ()

    @property
    def is_kleene(self) -> bool:
        """Whether the variable is a list of events."""
        return self.bounds is not None


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """``~(Type var)``: no such event occurs here; ``window`` is its own, if it has one."""

    component: Component
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """``SEQ(p, q, …)``: all events of p before all events of q."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    """``AND(p, q, …)``: all parts, in any order."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(Node):
    """``OR(p, q, …)``: exactly one of the parts."""

    parts: tuple[Pattern, ...]


Pattern = Component | Negation | Sequence | Conjunction | Disjunction


def components(pattern: Pattern) -> Iterator[tuple[Component, bool]]:
    """Every component in the order of the text, and whether it is negated or excluded."""
    if isinstance(pattern, Component):
        yield pattern, False
        yield from ((excluded, True) for excluded in pattern.without)
    elif isinstance(pattern, Negation):
        yield pattern.component, True
    else:
        for part in pattern.parts:
            yield from components(part)


def positive_variables(pattern: Pattern) -> list[str]:
    """The variables of the components that are not negated, in the order of the text."""
    return list(
        dict.fromkeys(part.variable for part, is_negated in components(pattern) if not is_negated)
    )


def own_windows(pattern: Pattern) -> Iterator[Window]:
    """The own windows of negations."""
    for node in pattern.walk():
        if isinstance(node, Negation) and node.window is not None:
            yield node.window


# --- Expressions --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a string, TRUE, FALSE or NULL. ``80%`` is the number 0.8.

    A NULL in brackets, and the value of a parameter, ``is_meant``: a comparison with it is no slip.
    """

    value: int | float | str | bool | None
    is_meant: bool = field(default=False, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        # In Python 1 == 1.0 == True; as literals they differ.
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """``10 minutes`` in an expression; the unit is canonical."""

    amount: Fraction
    unit: str


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A bare name with a value that is given with the query: ``a.price > T``."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``a.x``: an attribute of a single event."""

    variable: str
    attribute: str


class Index(Enum):
    """An index of a Kleene variable that is not a number."""

    CURRENT = "i"
    PREVIOUS = "i-1"
    LAST = "LEN"


@dataclass(frozen=True, slots=True)
class Element(Node):
    """``a[1].x``, ``a[i].x``, ``a[i-1].x``, ``a[a.LEN].x``; a number counts from one."""

    variable: str
    index: int | Index
    attribute: str


@dataclass(frozen=True, slots=True)
class Length(Node):
    """``a.LEN``: the number of events of a Kleene variable."""

    variable: str


class Scope(Enum):
    """The elements that an aggregate reads."""

    PRIOR = "..i-1"
    WHOLE = ""


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """``avg(a[..i-1].x)`` over the events selected before a[i]; ``avg(a[].x)`` over all of a.

    ``attribute`` is None only for ``count(a[])``.
    """

    function: str
    variable: str
    scope: Scope
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A built-in or registered scalar function."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Field(Node):
    """``a.s.f``: a field of a struct, in the expression of a computed attribute."""

    operand: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Item(Node):
    """``a.l[2]``: an element of a list attribute, from 1; null beyond its end."""

    operand: Expression
    number: int


@dataclass(frozen=True, slots=True)
class Case(Node):
    """``CASE WHEN condition THEN value … [ELSE value] END``; without ELSE it is NULL."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    @property
    def values(self) -> tuple[Expression, ...]:
        """The values of all branches."""
        return (*(value for _, value in self.branches), self.otherwise)


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """``-x``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """``x + y`` and the like; ``operator`` is one of + - * / %."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """``x < y`` and the like; ``operator`` is one of = != < <= > >=."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class In(Node):
    """``x IN (…)``."""

    operand: Expression
    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Between(Node):
    """``x BETWEEN low AND high``, both ends included."""

    operand: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class Like(Node):
    """``x LIKE 'a%_'``: % for any string, _ for any one character."""

    operand: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """``x IS NULL``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Not(Node):
    """Logical not; also part of ``IS NOT NULL``, ``NOT IN`` and ``NOT LIKE``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """Logical and of two or more operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Logical or of two or more operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """``[x]`` or ``[x = 'v']``: all events of a match agree on x (and have the value v)."""

    attribute: str
    value: Literal | None = None


@dataclass(frozen=True, slots=True)
class EventReference(Node):
    """``a`` as an item of RETURN: the event, or all events of a Kleene variable (``a[]``)."""

    variable: str


@dataclass(frozen=True, slots=True)
class Elements(Node):
    """``a[].x`` as an item of RETURN: the list of x over all of a."""

    variable: str
    attribute: str


Expression = (
    Literal
    | Duration
    | Parameter
    | Attribute
    | Element
    | Length
    | Aggregate
    | Call
    | Field
    | Item
    | Case
    | Negative
    | Arithmetic
    | Comparison
    | In
    | Between
    | Like
    | IsNull
    | Not
    | And
    | Or
    | Equivalence
    | EventReference
    | Elements
)


# --- Queries ------------------------------------------------------------------------------


class SelectionStrategy(Enum):
    """How a run selects events from the stream [Agrawal08 §2]."""

    STRICT_CONTIGUITY = "strict_contiguity"
    PARTITION_CONTIGUITY = "partition_contiguity"
    SKIP_TILL_NEXT_MATCH = "skip_till_next_match"
    SKIP_TILL_ANY_MATCH = "skip_till_any_match"

    @property
    def skips(self) -> bool:
        """Whether a run skips events that fit no component."""
        return self in (self.SKIP_TILL_NEXT_MATCH, self.SKIP_TILL_ANY_MATCH)


class WindowMeasure(Enum):
    """The unit of the extent of a window."""

    TIME = "time"
    EVENTS = "EVENTS"
    EVENTS_PER_PARTITION = "EVENTS PER PARTITION"


@dataclass(frozen=True, slots=True)
class Window(Node):
    """``WITHIN 12 hours``, ``WITHIN 500 EVENTS PER PARTITION``, ``WITHIN 10``, ``WITHIN T``.

    ``unit`` is canonical for a time with a unit, None for a number in the unit of the time column.
    ``extent`` is a Parameter until its value is given.
    """

    extent: Fraction | Parameter
    measure: WindowMeasure = WindowMeasure.TIME
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Confidence(Node):
    """``WITH CONFIDENCE > 0.8``: the least confidence of a match if times are uncertain.

    ``least`` is a Parameter until its value is given.
    """

    least: Fraction | Parameter
    is_strict: bool = True


@dataclass(frozen=True, slots=True)
class ReturnItem(Node):
    """One item of RETURN, with its name, if any."""

    expression: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Return(Node):
    """``RETURN item, …`` or, with ``type_name``, the composite event ``Type(item, …)``."""

    items: tuple[ReturnItem, ...]
    type_name: str | None = None


@dataclass(frozen=True, slots=True)
class Output(Node):
    """``OUTPUT LONGEST AT MOST ONCE PER 1 hour``: which matches are reported.

    ``mode`` is None if the clause does not name one. With ``timed_out``, partial matches are
    reported too, when their window has passed.
    """

    mode: str | None = None
    at_most_once_per: Window | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A whole query. ``strategy_variables`` are the variables listed with the strategy, if any.

    ``strategy_span`` is the place of the strategy and its variables in the text.
    """

    pattern: Pattern
    strategy: SelectionStrategy = SelectionStrategy.SKIP_TILL_ANY_MATCH
    strategy_variables: tuple[str, ...] | None = None
    condition: Expression | None = None
    window: Window | None = None
    returns: Return | None = None
    stream: str | None = None
    strategy_span: Span | None = field(default=None, compare=False, repr=False)
    confidence: Confidence | None = None
    output: Output | None = None

    @property
    def measure(self) -> WindowMeasure:
        """What the window measures; time if there is none."""
        return WindowMeasure.TIME if self.window is None else self.window.measure


def joined(
    kind: type[And] | type[Or], parts: Iterable[Expression], span: Span | None = None
) -> Expression:
    """One node for all parts; ``x AND (y AND z)`` is the same as ``x AND y AND z``."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    flat: list[Expression] = []
    for part in parts:
        flat.extend(part.operands if isinstance(part, kind) else (part,))
    return kind(tuple(flat), span=span)


def rewrite(node: N, change: Callable[[Node], Node]) -> N:
    """The tree with ``change`` applied to every node, children before their parent."""
    changes: dict[str, Any] = {}
    for item in fields(node):
        old = getattr(node, item.name)
        new = _rewritten(old, change)
        if new is not old:
            changes[item.name] = new
    return cast("N", change(replace(node, **changes) if changes else node))


def _rewritten(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return rewrite(value, change)
    if isinstance(value, tuple):
        new = tuple(_rewritten(item, change) for item in value)
        return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
    return value
