"""Hints at probable mistakes: absent types, values that are never equal, windows too short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import closest, list_words
from cepheid.explain.diagnosis.counting import Counting
from cepheid.explain.diagnosis.failures import literal
from cepheid.explain.diagnosis.prefixes import conditions_of, equivalences_of, positives
from cepheid.explain.diagnosis.stream import Stream
from cepheid.language import syntax as ast
from cepheid.language.printer import print_attribute, print_expression, print_window
from cepheid.reference.interpreter import compare

MOST_VALUES = 100_000
"""The largest number of distinct values of an attribute that are compared."""
MOST_LISTED = 8
MOST_WINDOWS = 12
"""The number of longer windows that are tried, each four times as long as the one before."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """An attribute of the events of a component."""

    component: ast.Component
    attribute: str

    @property
    def types(self) -> str:
        return list_words(self.component.types, "or")

    @property
    def text(self) -> str:
        return f"{self.component.variable}.{self.shown}"

    @property
    def shown(self) -> str:
        return print_attribute(self.attribute)


def find_hints(stream: Stream, branches: Sequence[ast.Query]) -> list[str]:
    """All hints about the events, each once, for all alternatives."""
    found: dict[str, None] = {}
    if not len(stream.events):
        return ["There are no events."]
    for branch in branches:
        for find in (
            _absent_types,
            _null_attributes,
            _absent_values,
            _values_out_of_range,
            _disjoint_values,
        ):
            found.update(dict.fromkeys(find(stream, branch)))
    return list(found)


def window_hint(
    stream: Stream, counting: Counting, query: ast.Query, has_negations: bool
) -> str | None:
    """The window that the shortest match needs, if a longer window has a match.

    ``query`` has no OR, star or negation, and no match.
    """
    if query.window is None or stream.window is None or not len(stream.events):
        return None
    span = int(stream.axis.max()) - int(stream.axis.min()) + 1
    window = stream.window
    for _ in range(MOST_WINDOWS):
        if window >= span:
            return None
        window = min(4 * window, span)
        found = counting.partials(query, window)
        if found.number and found.least_extent is not None:
            which = "the shortest match" if found.is_exact else "a match"
            aside = " (ignoring negations)" if has_negations else ""
            return (
                f"The window is too short: {which}{aside} spans "
                f"{stream.length(found.least_extent)} from first to last event, and must span "
                f"less than {print_window(query.window)}."
            )
    return None


def _absent_types(stream: Stream, branch: ast.Query) -> Iterator[str]:
    there = list(stream.events.type_names)
    for component, negated in ast.components(branch.pattern):
        for name in component.types:
            if len(stream.of_types([name])):
                continue
            near = _near(name, there)
            yield (
                f"No event has the type '{name}'"
                + (", so its negation removes nothing" if negated else "")
                + (f"; there are {_listed(there)}." if there else ".")
                + (f" Did you mean '{near}'?" if near else "")
            )


def _null_attributes(stream: Stream, branch: ast.Query) -> Iterator[str]:
    for operand in _operands(branch):
        values = _values(stream, operand)
        if values is not None and len(values) and not len(_known(values)):
            yield f"{operand.shown} is null in all {operand.types} events."


def _absent_values(stream: Stream, branch: ast.Query) -> Iterator[str]:
    """Equalities with a constant that no event has."""
    for text, here, operator, wanted in _with_constants(branch):
        if operator == "=":
            yield from _never_equal(stream, here, wanted, text)


def _never_equal(stream: Stream, here: _Operand, wanted: Sequence[Any], text: str) -> Iterator[str]:
    there = _texts_of(_values(stream, here))
    if not there or any(value is None or value in there for value in wanted):
        return
    similar = next((pair for value in wanted for pair in _similar([value], there)), None)
    said = f"{text} is never true: no {here.types} event has this {here.shown}"
    if similar is not None:
        _, other, how = similar
        yield f"{said}, but some have {literal(other)}, which differs only by {how}."
        return
    near = next((_near(v, list(there)) for v in wanted if isinstance(v, str)), None)
    listed = _listed([literal(value) for value in sorted(there, key=_sort_key)])
    yield f"{said}; they have {listed}." + (f" Did you mean {literal(near)}?" if near else "")


def _values_out_of_range(stream: Stream, branch: ast.Query) -> Iterator[str]:
    """Comparisons with a number that no event satisfies."""
    for text, here, operator, constants in _with_constants(branch):
        if operator not in _MIRRORED or not isinstance(bound := constants[0], int | float):
            continue
        values = _values(stream, here)
        known = None if values is None else _known(values)
        if not known or not (arrow.is_integer(known.type) or arrow.is_floating(known.type)):
            continue
        which, end = ("largest", "max") if operator in (">", ">=") else ("smallest", "min")
        value = pc.min_max(known).as_py()[end]
        if not compare(operator, value, bound):
            yield (
                f"{text} is never true: the {which} {here.shown} of {here.types} events is "
                f"{literal(value)}."
            )


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _with_constants(branch: ast.Query) -> Iterator[tuple[str, _Operand, str, list[Any]]]:
    """The comparisons of an attribute with constants: as text, and the attribute on the left."""
    by_name = _components(branch)
    for condition in conditions_of(branch):
        sides: list[tuple[ast.Expression, str, tuple[ast.Expression, ...]]] = []
        match condition:
            case ast.Comparison(operator, left, right):
                mirrored = _MIRRORED.get(operator, operator)
                sides = [(left, operator, (right,)), (right, mirrored, (left,))]
            case ast.In(operand, options):
                sides = [(operand, "=", options)]
        for side, operator, others in sides:
            here = _operand(side, by_name)
            constants = [other.value for other in others if isinstance(other, ast.Literal)]
            if here is not None and len(constants) == len(others):
                yield print_expression(condition, branch), here, operator, constants
    for test in equivalences_of(branch):
        if test.value is not None:
            for component in positives(branch.pattern):
                here = _Operand(component, test.attribute)
                yield print_expression(test, branch), here, "=", [test.value.value]


def _disjoint_values(stream: Stream, branch: ast.Query) -> Iterator[str]:
    """Equalities of attributes that have no value in common."""
    by_name = _components(branch)
    pairs: list[tuple[_Operand, _Operand, str]] = []
    for condition in conditions_of(branch):
        if isinstance(condition, ast.Comparison) and condition.operator == "=":
            left, right = _operand(condition.left, by_name), _operand(condition.right, by_name)
            if left is not None and right is not None and left.component != right.component:
                pairs.append((left, right, print_expression(condition, branch)))
    for test in equivalences_of(branch):
        operands = [_Operand(component, test.attribute) for component in positives(branch.pattern)]
        text = print_expression(test, branch)
        pairs += [(left, right, text) for left, right in combinations(operands, 2)]
    for left, right, text in pairs:
        types = set(left.component.types) & set(right.component.types)
        if left.attribute == right.attribute and types:
            continue
        here, there = _texts_of(_values(stream, left)), _texts_of(_values(stream, right))
        if not here or not there or here & there:
            continue
        said = (
            f"{text} never holds between {left.types} and {right.types} events: "
            f"{left.text} and {right.text} have no value in common"
        )
        similar = next(_similar(here, there), None)
        if similar is not None:
            one, other, how = similar
            yield f"{said}, but {literal(one)} and {literal(other)} differ only by {how}."
        else:
            one, other = min(here, key=_sort_key), min(there, key=_sort_key)
            yield f"{said} (for example {literal(one)} and {literal(other)})."


def _listed(words: Sequence[str]) -> str:
    return list_words([*words[:MOST_LISTED], *(["others"] if words[MOST_LISTED:] else [])])


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


_DIFFERENCES: dict[str, Callable[[str], Any]] = {
    "case": str.casefold,
    "white space": lambda text: "".join(text.split()),
    "case and white space": lambda text: "".join(text.split()).casefold(),
    "number format": _number,
}


def _similar(here: Any, there: set[Any]) -> Iterator[tuple[Any, Any, str]]:
    """Pairs of values that differ only in a detail, and that detail."""
    for how, change in _DIFFERENCES.items():

        def plain(value: Any, change: Callable[[str], Any] = change) -> Any:
            return change(value) if isinstance(value, str) else value

        by_plain = {plain(value): value for value in sorted(there, key=_sort_key, reverse=True)}
        for value in sorted(here, key=_sort_key):
            other = by_plain.get(plain(value), value)
            if other != value:
                yield value, other, how


def _near(word: str, known: Sequence[Any]) -> str | None:
    """The known word that is probably meant: one that differs in a detail, or a similar one."""
    words = [other for other in known if isinstance(other, str)]
    for _, other, _ in _similar([word], set(words)):
        return str(other)
    near = closest(word, words[:1_000])
    return near[0] if near else None


def _components(branch: ast.Query) -> dict[str, ast.Component]:
    return {each.variable: each for each, _ in ast.components(branch.pattern)}


def _operand(side: ast.Expression, by_name: dict[str, ast.Component]) -> _Operand | None:
    match side:
        case ast.Attribute(variable, attribute) | ast.Element(variable, _, attribute):
            return _Operand(by_name[variable], attribute)
    return None


def _operands(branch: ast.Query) -> Iterator[_Operand]:
    """The attributes that conditions name, with their components."""
    by_name = _components(branch)
    for condition in conditions_of(branch):
        for node in condition.walk():
            match node:
                case (
                    ast.Attribute(name, str(attribute))
                    | ast.Element(name, _, str(attribute))
                    | ast.Aggregate(_, name, _, str(attribute))
                ):
                    yield _Operand(by_name[name], attribute)
    for test in equivalences_of(branch):
        for component in positives(branch.pattern):
            yield _Operand(component, test.attribute)


def _values(stream: Stream, operand: _Operand) -> pa.ChunkedArray | None:
    """The attribute of all events of the component's types, or None if a type lacks it."""
    has = stream.events.schema.has_attribute
    if not all(has(name, operand.attribute) for name in operand.component.types):
        return None
    positions = stream.of_types(operand.component.types)
    return stream.events.column(operand.attribute).take(pa.array(positions))


def _known(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if arrow.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values.fill_null(float("nan")))))
    return values.drop_null()


_COMPARED = (
    arrow.is_integer,
    arrow.is_floating,
    arrow.is_boolean,
    arrow.is_string,
    arrow.is_large_string,
    arrow.is_dictionary,
)


def _texts_of(values: pa.ChunkedArray | None) -> set[Any] | None:
    """The distinct values of a column of strings, numbers or Booleans, if there are few enough."""
    if values is None or not any(is_one(values.type) for is_one in _COMPARED):
        return None
    unique = pc.unique(_known(values))
    return set(unique.to_pylist()) if len(unique) <= MOST_VALUES else None


def _sort_key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value
