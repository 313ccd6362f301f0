"""The shape of a rule: what is left of its query without types, constants and tests of one event.

Rules of the same shape run as one session over copies of their events. A copy has as its type the
*roles* that the event can play in the rule, and as attributes the number of the rule, its constants
and the end of its window. The query of the session partitions events by rule.

A *role* is a component, with the conditions that name nothing but one event of it. An event that no
role accepts changes nothing for the rule, and is not copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.normal_form import conjuncts
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_query
from cepheid.rule_sets.splitting import types_read
from cepheid.schema import Kind, sources_of

SLOT, TICK, UNTIL, CONSTANT = "cepheid.slot", "cepheid.tick", "cepheid.until", "cepheid.constant"
"""The attributes of a copy: the number of its rule, its time, the end of the window that begins
with it, and the beginning of the names of the constants."""
_MOST_ROLES = 4
"""The most roles that events of one type can play in a rule; each subset of them is a type."""
_INEXACT = ("/", "%")
"""What a division by a constant gives depends on the constant: it is part of the shape."""
_ANY_UNIT = "days"
"""In every clock, a day is an integer number of ticks."""
_WIDER = 16
"""Windows of rules that share a session are at most this many times as long as one another."""


@dataclass(frozen=True, slots=True)
class Role:
    """What an event must be to play a part in a match.

    One that is ``free`` need not come after the first event of a match.
    """

    types: tuple[str, ...]
    tests: tuple[ast.Expression, ...]
    is_free: bool


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a rule has in common with others, and what is its own.

    ``query`` and ``window`` are common, and ``key`` says all about them. The first of ``roles`` is
    that of the first event of a match, and an event of another role matters less than ``reach``
    after one. ``extent`` is the window of the rule.
    """

    query: ast.Query
    window: int | None
    key: str
    roles: tuple[Role, ...]
    attributes: tuple[str, ...]
    constants: tuple[int | float, ...]
    extent: int
    reach: int
    masks: tuple[int, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the events that can matter."""
        return tuple(dict.fromkeys(name for role in self.roles for name in role.types))


def shape_of(query: AnalysedQuery, extent: int | None) -> Shape | None:
    """The shape of a rule with this window; None if it cannot share a session.

    It can if all of this holds:

    - it reads only events of its types, which one table has, and knows the kinds of their columns;
    - its pattern is a sequence without WITHOUT, in which a type has few roles;
    - its tests in brackets name no value.
    """
    tree = query.query
    if query.is_rewritten or not _reads_plainly(query) or not _is_plain_sequence(query):
        return None
    if extent is not None and extent < 1:
        return None
    (alternative,) = query.alternatives
    single = {each.variable: not each.is_kleene for each in alternative.components}
    singles = single | {
        each.component.variable: not each.component.is_kleene for each in alternative.negations
    }
    own, rest = _separated(tree)
    free = {each.component.variable for each in alternative.negations if not each.after}
    first = alternative.components[0]
    parts = [*alternative.components, *(each.component for each in alternative.negations)]
    roles = tuple(
        Role(
            part.types,
            tuple(own.get(part.variable, ())),
            part is first or part.variable in free,
        )
        for part in parts
    )
    masks = _masks(roles)
    if masks is None:
        return None
    constants: list[int | float] = []
    conditions: list[ast.Expression] = [ast.Equivalence(SLOT), *query.equivalences]
    conditions += [_with_constants(each, singles, constants) for each in rest]
    window = extent
    if extent is not None and single[first.variable]:
        if len(parts) == 1:
            window = 1
        elif query.equivalences and not free and not alternative.waits:
            # Which window it is decides nothing but whether a match is short enough.
            window = _rounded(extent)
            until = ast.Attribute(first.variable, UNTIL)
            conditions += [
                ast.Comparison("<", _current(each.variable, single[each.variable], TICK), until)
                for each in alternative.components[1:]
            ]
    accepted = {
        part.variable: tuple(str(mask) for mask in masks if mask >> bit & 1)
        for bit, part in enumerate(parts)
    }

    def typed(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Component):
            return node
        return replace(node, types=accepted[node.variable])

    made = ast.Query(
        ast.rewrite(tree.pattern, typed),
        tree.strategy,
        tree.strategy_variables,
        ast.joined(ast.And, conditions),
        None if tree.window is None else _any_window(tree.window),
    )
    longest = max(query.own_windows.values(), default=0)
    ticks = MAX_TICKS if extent is None else extent
    return Shape(
        made,
        window,
        f"{print_query(made)}\n{window}",
        roles,
        tuple(dict.fromkeys(test.attribute for test in query.equivalences)),
        tuple(constants),
        ticks,
        min(ticks + longest, MAX_TICKS),
        masks,
    )


def _reads_plainly(query: AnalysedQuery) -> bool:
    """Whether the rule reads events of its types from one table whose columns are known."""
    schema, tree = query.schema, query.query
    if schema is None or schema.types is not None or types_read(tree) is None:
        return False
    nodes = () if tree.condition is None else tree.condition.walk()
    named = (getattr(node, "attribute", None) for node in nodes)
    sources = {each for name in named if name is not None for each in sources_of(name)}
    return all(schema.kind(each) is not Kind.UNKNOWN for each in sources) and not any(
        name.startswith("cepheid.") for name in schema.attributes
    )


def _is_plain_sequence(query: AnalysedQuery) -> bool:
    if len(query.alternatives) != 1 or any(test.value is not None for test in query.equivalences):
        return False
    (alternative,) = query.alternatives
    order = combinations(range(len(alternative.components)), 2)
    is_sequence = all(pair in alternative.before for pair in order)
    return is_sequence and not any(each.is_inside for each in alternative.negations)


def _separated(
    tree: ast.Query,
) -> tuple[dict[str, list[ast.Expression]], list[ast.Expression]]:
    """The conditions on one event of each variable, and those across events."""
    own: dict[str, list[ast.Expression]] = {}
    rest: list[ast.Expression] = []
    for condition in conjuncts(tree.condition):
        if isinstance(condition, ast.Equivalence):
            continue
        named = [*variables_in(condition)]
        if len(named) == 1 and all(_is_of_event(node) for node in condition.walk()):
            own.setdefault(named[0], []).append(condition)
        else:
            rest.append(condition)
    return own, rest


def _is_of_event(node: ast.Node) -> bool:
    """Whether an expression names no other event of its variable."""
    if isinstance(node, ast.Element):
        return node.index is ast.Index.CURRENT
    return not isinstance(node, ast.Length | ast.Aggregate)


def _masks(roles: Sequence[Role]) -> tuple[int, ...] | None:
    """The sets of roles that an event can have, as bits; None if there are too many."""
    found: set[int] = set()
    for name in {name for role in roles for name in role.types}:
        bits = [1 << bit for bit, role in enumerate(roles) if name in role.types]
        if len(bits) > _MOST_ROLES:
            return None
        found.update(
            sum(chosen) for size in range(1, len(bits) + 1) for chosen in combinations(bits, size)
        )
    return tuple(sorted(found))


def _any_window(window: ast.Window) -> ast.Window:
    """A window that stands for all: its extent is that of the shape, and not what it says."""
    return ast.Window(Fraction(1), unit=None if window.unit is None else _ANY_UNIT)


def _rounded(extent: int) -> int:
    """The window of a session for rules with windows of about this extent."""
    window = 1
    while window < extent:
        window *= _WIDER
    return min(window, MAX_TICKS)


def _current(variable: str, is_single: bool, attribute: str) -> ast.Attribute | ast.Element:
    if is_single:
        return ast.Attribute(variable, attribute)
    return ast.Element(variable, ast.Index.CURRENT, attribute)


def _with_constants(
    condition: ast.Expression, singles: dict[str, bool], constants: list[int | float]
) -> ast.Expression:
    """The condition, with attributes of one of its events for numbers, which are appended.

    Only numbers that are added, multiplied or compared.
    """
    at = next(_places(condition, singles), None)
    if at is None:
        return condition

    def attribute(operand: ast.Expression) -> ast.Expression:
        if not isinstance(operand, ast.Literal) or type(operand.value) not in (int, float):
            return operand
        assert isinstance(operand.value, int | float)
        if isinstance(operand.value, int) and not -MAX_TICKS <= operand.value <= MAX_TICKS:
            return operand
        constants.append(operand.value)
        kind = type(operand.value).__name__
        return _current(*at, f"{CONSTANT}.{len(constants) - 1}.{kind}")

    def change(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Arithmetic | ast.Comparison) or node.operator in _INEXACT:
            return node
        return replace(node, left=attribute(node.left), right=attribute(node.right))

    return ast.rewrite(condition, change)


def _places(condition: ast.Expression, singles: dict[str, bool]) -> Iterator[tuple[str, bool]]:
    """The variables of the condition that have one event where it is tested."""
    for node in condition.walk():
        if isinstance(node, ast.Attribute) and singles.get(node.variable, False):
            yield node.variable, True
    for node in condition.walk():
        if isinstance(node, ast.Element) and node.index is ast.Index.CURRENT:
            yield node.variable, False
