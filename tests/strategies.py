"""Random queries for Hypothesis: syntax trees such as the parser makes, and texts near to queries.

A tree that the parser cannot make is not generated: AND directly inside AND, a minus before a
number, a bare name in a query of one component (where it is an attribute). Everything else is,
with names that need backticks, and variables that mean nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from cepheid.aggregates import AGGREGATES
from cepheid.functions import function_names
from cepheid.language import syntax as ast
from cepheid.language.naming import default_variable
from cepheid.language.parser import KEYWORDS, OUTPUT_MODES, STRATEGIES
from cepheid.language.printer import print_query
from cepheid.language.units import CANONICAL_UNIT, NANOSECONDS_PER

# --- Names --------------------------------------------------------------------------------

ODD_NAMES = (
    *KEYWORDS, *(word.lower() for word in KEYWORDS), *STRATEGIES, *CANONICAL_UNIT, *AGGREGATES,
    "i", "LEN", "len", "Skip", "skip-till-any-match", "SHELF-READING", "A-1", "1a", "_", "a b",
    "it's", '"', "--", "/*", "é", "ſeq", "ıs", "名前", "a.b", "80%", " ", "\n",
)  # fmt: skip

plain_names = st.sampled_from(["a", "b", "c", "x", "y", "price", "tag_id", "A", "B", "Stock"])
names = st.one_of(
    plain_names,
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1, max_size=6),
)
"""Names of types, variables and attributes, most of them ordinary."""


# --- Patterns -----------------------------------------------------------------------------

_types = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)
_bounds = st.tuples(st.integers(0, 3), st.none() | st.integers(1, 6)).map(
    lambda pair: ast.Bounds(pair[0], None if pair[1] is None else pair[0] + pair[1])
)


def _component(
    types: tuple[str, ...], variable: str | None, bounds: ast.Bounds | None
) -> ast.Component:
    return ast.Component(types, variable or default_variable(types), bounds)


single_components = st.builds(_component, _types, st.none() | names, st.none())
components = st.builds(_component, _types, st.none() | names, st.none() | _bounds)
_composite = st.sampled_from([ast.Sequence, ast.Conjunction, ast.Disjunction])


lists = st.builds(
    lambda component, bounds, without: replace(component, bounds=bounds, without=without),
    components,
    _bounds,
    st.lists(single_components, min_size=1, max_size=2).map(tuple),
)
"""Lists WITHOUT other events."""


def _composites(parts: st.SearchStrategy[ast.Pattern]) -> st.SearchStrategy[ast.Pattern]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(lambda kind, parts: kind(parts), _composite, several)


_parameters = st.builds(ast.Parameter, names)
windows = st.deferred(lambda: time_windows | event_windows)
patterns = st.recursive(
    st.one_of(
        components,
        lists,
        st.builds(ast.Negation, single_components, st.none() | windows),
    ),
    _composites,
    max_leaves=5,
)
"""Patterns of all operators, nested."""


# --- Expressions --------------------------------------------------------------------------

whole_numbers = st.integers(-(2**63) + 1, 2**63 - 1)
finite_numbers = st.floats(allow_nan=False, allow_infinity=False)
literals = st.builds(
    ast.Literal,
    st.one_of(st.none(), st.booleans(), whole_numbers, finite_numbers, st.text(max_size=8)),
)
amounts = st.one_of(
    st.integers(0, 2**63 - 1).map(Fraction),
    st.floats(0, 1e18).map(lambda number: Fraction(repr(number))),
)
"""Amounts of time as a text can write them: decimal fractions."""

_units = st.sampled_from(list(NANOSECONDS_PER))
_comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
_functions = st.sampled_from(function_names()) | names.filter(
    lambda name: name.lower() not in (*function_names(), *AGGREGATES)
)
_indices = st.integers(1, 9) | st.sampled_from(ast.Index)
_short_strings = st.text(max_size=5)
_LEAVES = (
    "literal", "attribute", "element", "aggregate", "count", "elements", "equivalence",
    "duration", "length", "parameter", "event",
)  # fmt: skip
_OPERATIONS = (
    "comparison", "arithmetic", "and", "or", "not", "negative", "in", "between", "like", "null",
    "call", "case",
)  # fmt: skip


class _Expressions:
    """Draws expressions over the variables of a pattern, and over some that it does not have."""

    def __init__(self, draw: st.DrawFn, pattern: ast.Pattern, *, in_return: bool) -> None:
        declared = [component for component, _ in ast.components(pattern)]
        self._draw = draw
        self._declared = sorted({component.variable for component in declared})
        self._kleene = [component.variable for component in declared if component.is_kleene]
        self._is_one_component = isinstance(pattern, ast.Component)
        self._in_return = in_return

    def expression(self, depth: int = 3) -> ast.Expression:
        """An expression of at most this depth."""
        if depth == 0 or self._draw(st.integers(0, 3)) == 0:
            return self._leaf(self._draw(st.sampled_from(_LEAVES)))
        return self._operation(self._draw(st.sampled_from(_OPERATIONS)), depth - 1)

    def _variable(self) -> str:
        return self._draw(st.sampled_from(self._declared) | names)

    def _leaf(self, kind: str) -> ast.Expression:
        draw = self._draw
        match kind:
            case "attribute":
                variable, attribute = self._variable(), draw(names)
                if variable in self._kleene and attribute.upper() == "LEN":
                    return ast.Length(variable)
                return ast.Attribute(variable, attribute)
            case "element":
                return ast.Element(self._variable(), draw(_indices), draw(names))
            case "aggregate":
                function, scope = (
                    draw(st.sampled_from(list(AGGREGATES))),
                    draw(st.sampled_from(ast.Scope)),
                )
                return ast.Aggregate(function, self._variable(), scope, draw(names))
            case "count":
                scope = draw(st.sampled_from(ast.Scope))
                return ast.Aggregate("count", self._variable(), scope, None)
            case "elements":
                return ast.Elements(self._variable(), draw(names))
            case "equivalence":
                return ast.Equivalence(draw(names), draw(st.none() | literals))
            case "duration":
                return ast.Duration(draw(amounts), draw(_units))
            case "length" if self._kleene:
                return ast.Length(draw(st.sampled_from(self._kleene)))
            case "parameter" if not self._is_one_component:
                name = draw(names)
                if name not in self._declared:
                    return ast.Parameter(name)
            case "event" if self._in_return:
                return ast.EventReference(draw(st.sampled_from(self._declared)))
        return draw(literals)

    def _operation(self, kind: str, depth: int) -> ast.Expression:
        draw = self._draw
        first = self.expression(depth)
        match kind:
            case "comparison":
                return ast.Comparison(draw(_comparisons), first, self.expression(depth))
            case "arithmetic":
                operator = draw(st.sampled_from("+-*/%"))
                return ast.Arithmetic(operator, first, self.expression(depth))
            case "and":
                return self._joined(ast.And, first, depth)
            case "or":
                return self._joined(ast.Or, first, depth)
            case "negative" if not _is_number(first):
                return ast.Negative(first)
            case "in":
                return ast.In(first, self._several(depth, least=1))
            case "between":
                return ast.Between(first, self.expression(depth), self.expression(depth))
            case "like":
                return ast.Like(first, draw(_short_strings))
            case "null":
                return ast.IsNull(first)
            case "case":
                count = draw(st.integers(1, 2))
                branches = [(self.expression(depth), self.expression(depth)) for _ in range(count)]
                return ast.Case(tuple(branches), first)
            case "call":
                return ast.Call(draw(_functions), self._several(depth, least=0))
        return ast.Not(first)

    def _several(self, depth: int, least: int) -> tuple[ast.Expression, ...]:
        return tuple(self.expression(depth) for _ in range(self._draw(st.integers(least, 3))))

    def _joined(
        self, kind: type[ast.And] | type[ast.Or], first: ast.Expression, depth: int
    ) -> ast.Expression:
        flat: list[ast.Expression] = []
        for part in (first, *self._several(depth, least=1)):
            flat.extend(part.operands if isinstance(part, kind) else (part,))
        return kind(tuple(flat))


def _is_number(node: ast.Expression) -> bool:
    return isinstance(node, ast.Literal) and type(node.value) in (int, float)


@st.composite
def conditions(draw: st.DrawFn, pattern: ast.Pattern) -> ast.Expression:
    """A condition on the variables of a pattern."""
    return _Expressions(draw, pattern, in_return=False).expression()


# --- Queries ------------------------------------------------------------------------------

time_windows = st.builds(
    ast.Window, amounts | _parameters, st.just(ast.WindowMeasure.TIME), st.none() | _units
)
event_windows = st.builds(
    ast.Window,
    st.integers(0, 2**63 - 1).map(Fraction) | _parameters,
    st.sampled_from([ast.WindowMeasure.EVENTS, ast.WindowMeasure.EVENTS_PER_PARTITION]),
)
outputs = st.builds(
    ast.Output,
    st.none() | st.sampled_from([mode.lower() for mode in OUTPUT_MODES]),
    st.none() | windows.filter(lambda window: window.measure is ast.WindowMeasure.TIME),
    st.booleans(),
).filter(lambda output: output != ast.Output())
_composite_types = names.filter(lambda name: name.lower() not in (*function_names(), *AGGREGATES))


@st.composite
def returns(draw: st.DrawFn, pattern: ast.Pattern) -> ast.Return:
    """A list of items, or a composite event."""
    expressions = _Expressions(draw, pattern, in_return=True)
    type_name = draw(st.none() | _composite_types)
    number = draw(st.integers(0 if type_name else 1, 3))
    items = [
        ast.ReturnItem(expressions.expression(depth=2), draw(st.none() | names))
        for _ in range(number)
    ]
    return ast.Return(tuple(items), type_name)


@st.composite
def queries(draw: st.DrawFn) -> ast.Query:
    """A whole query, as the parser could have made it."""
    pattern = draw(patterns)
    listed = st.lists(names, min_size=1, max_size=3).map(tuple)
    return ast.Query(
        pattern,
        draw(st.sampled_from(ast.SelectionStrategy)),
        draw(st.none() | listed),
        draw(st.none() | conditions(pattern)),
        draw(st.none() | windows),
        draw(st.none() | returns(pattern)),
        draw(st.none() | names),
        output=draw(st.none() | outputs),
    )


# --- Texts --------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_FRAGMENTS = (
    *KEYWORDS, *STRATEGIES, *OUTPUT_MODES, "AT MOST ONCE PER", "WITH TIMED OUT",
    "skip till", "hours", "a", "i", "i-1", "..i-1", "LEN", "µs", "ſ",
    "(", ")", "[", "]", "{", "}", "[]", ",", ".", "..", ";", "'", '"', "`", "‘", "’", "“", "/*",
    "*/", "--", "%", "80%", "5 %", "=", "=>", "<", "~", "!", "¬", "∧", "&", "&&", "|", "+", "-",
    "−", "*", "/", "0", "1", ".5", "1e999", "9" * 5000, "٣",
    "\0", "\r", "\x0c", "\u2028", "\ud800", "\ufeff",
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text in which some tokens were deleted, doubled, swapped, or put in from elsewhere."""
    tokens = _TOKEN.findall(draw(texts))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(tokens)))
        other = draw(st.integers(0, max(0, len(tokens) - 1)))
        change = draw(st.sampled_from(["delete", "insert", "double", "swap", "cut"]))
        if change == "insert" or place >= len(tokens):
            tokens.insert(place, draw(st.sampled_from(_FRAGMENTS)))
        elif change == "delete":
            del tokens[place]
        elif change == "double":
            tokens.insert(place, tokens[place])
        elif change == "swap":
            tokens[place], tokens[other] = tokens[other], tokens[place]
        else:
            del tokens[place:]
    return "".join(tokens)


fragments = st.lists(st.sampled_from(_FRAGMENTS), max_size=20).map(" ".join)
"""Words and signs of the language in no order at all."""

query_texts = queries().map(print_query)
